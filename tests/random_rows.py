"""What rows of the elementwise table make of values with errors, by the rows' own references.

How an error of operands reaches the result is seen by moving the operands by their errors, each in
both directions; the error of the row itself is its bound in tests/ulps.py. Where moved operands
give something else altogether, the line is Unsuitable. So a new row needs nothing here.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence

import numpy as np

from random_values import (
    EPS,
    SHARE,
    TINY,
    Array,
    Unsuitable,
    Value,
    bounded,
    cast,
    computed_in,
    is_float,
    meet,
    meeting,
)
from references import ROWS, Row
from ulps import BOUNDS, DEFAULT_BOUND, SIZES, operands

ROW = {row.name: row for row in ROWS}
#: rows that begin anew at each multiple of the divisor, which may be small beside its error
PERIODIC = ("remainder", "fmod")
#: rows whose results are float32 numbers, but next to others
SLACK = {"nextafter": 2.0}


@functools.cache
def bound(row: Row) -> float:
    """In units of the last place; 0 for rows whose every result is a float32."""
    if row.name in SLACK or row.name in BOUNDS:
        return SLACK.get(row.name, 0.0) + BOUNDS.get(row.name, 0.0)
    true = row.reference(operands(row, 1 << 10))
    true = true[np.isfinite(true) & (np.abs(true) >= 2.0**-126) & (np.abs(true) < 2.0**128)]
    exact = np.array_equal(true.astype(np.float32).astype(np.float64), true)
    return 0.0 if exact else DEFAULT_BOUND


def spread(function: Callable[[Sequence[Array]], Array], values: Sequence[Value]) -> Array:
    """How far results are from those of `values` when each operand is off by its error."""
    data = [v.data for v in values]
    true = function(data)
    off = np.zeros(true.shape)
    moved = [i for i, v in enumerate(values) if not v.exact]
    # Larger errors may hide a period or a pole between their ends.
    if any(v.error.max(initial=0) > SHARE[v.dtype] for v in values if not v.exact):
        raise Unsuitable
    for signs in itertools.product((-1, 1), repeat=len(moved)):
        other = list(data)
        for i, sign in zip(moved, signs, strict=True):
            other[i] = data[i] + sign * values[i].error
        if moved:
            result = function(other).astype(np.float64)
            if not np.isfinite(result).all():
                raise Unsuitable
            off = np.maximum(off, np.abs(result - true))
    # The sign of a zero is a matter of the order of operations.
    for i, v in enumerate(values):
        if is_float(v.dtype) and (v.data == 0).any():
            other = [*data[:i], np.where(v.data == 0, -v.data, v.data), *data[i + 1 :]]
            if not np.array_equal(function(other), true):
                raise Unsuitable
    return off


def integer_power(x: Array, y: Array) -> Array:
    """Wraps; NumPy refuses the negative exponents, which give 0 but for bases 1 and -1."""
    result = np.power(x, np.maximum(y, 0))
    one = np.where(x == 1, 1, np.where(x == -1, 1 - 2 * (y & 1), 0)).astype(x.dtype)
    return np.where(y < 0, one, result)


def compared(row: Row, values: Sequence[Value]) -> Value:
    a, b = values
    doubt = a.error + b.error
    if ((np.abs(np.subtract(a.data, b.data)) <= doubt) & (doubt > 0)).any():
        raise Unsuitable
    return Value(row.reference([a.data, b.data]))


def chosen(values: Sequence[Value]) -> Value:
    """where"""
    c = cast(values[0], "bool")
    a, b = meet(*values[1:])
    return Value(np.where(c.data, a.data, b.data), np.where(c.data, a.error, b.error), a.dtype)


def apply(name: str, *given: Value) -> Value:
    """The result of the row of that name."""
    row, values = ROW[name], list(given)
    if row.rule == "select":
        return chosen(values)
    if row.rule == "logical":
        return Value(row.reference([cast(v, "bool").data for v in values]))
    dtype = meeting(values)
    if not row.takes(dtype) or (name in SLACK and dtype != "float32"):
        raise Unsuitable
    values = [cast(v, row.computes_in(dtype)) for v in values]
    dtype = values[0].dtype
    if row.rule == "predicate" and dtype == "bool":
        return Value(row.reference([values[0].data.astype(np.uint32)]))
    if row.rule == "compare":
        if is_float(dtype):
            return compared(row, values)
        return Value(row.reference([v.data for v in values]))
    if not is_float(dtype):
        if name == "pow":
            return Value(integer_power(values[0].data, values[1].data))
        return Value(row.reference([v.data for v in values]).astype(row.result(dtype)))
    true = row.reference([v.data for v in values])
    off = spread(row.reference, values)
    if name in PERIODIC and spread(lambda v: np.floor(v[0] / v[1]), values).any():
        raise Unsuitable
    if row.result(dtype) == "bool":
        if off.any():
            raise Unsuitable
        return Value(true)
    size = np.abs(true) + off
    if row.name in SIZES:
        size = np.maximum(size, SIZES[row.name](*(v.data for v in values)))
    tiny = TINY[dtype]
    own = np.zeros(true.shape)
    if bound(row):
        last = EPS[dtype] if computed_in(dtype) != dtype else 0.0
        own = (bound(row) * EPS[computed_in(dtype)] / 1.6 + last) * size
    if own.any() or not all(v.exact for v in values):
        own = own + tiny  # results and operands that are denormal may be flushed
    return bounded(true, off + own + np.where((true != 0) & (size < tiny), tiny, 0), dtype)
