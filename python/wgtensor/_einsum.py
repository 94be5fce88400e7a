"""einsum: views for diagonals and transposes, sums, and a matrix product for each pair."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from wgtensor._arrays import ArrayLike, into
from wgtensor._core import ShapeError, Tensor
from wgtensor._dtypes import result_type
from wgtensor._functions import astype
from wgtensor._generated import multiply
from wgtensor._manipulation import as_tensors
from wgtensor._naming import public
from wgtensor._products import contract, copied

__all__ = ["einsum"]

#: a letter, a number of the form with lists, or (number,) for an axis that '...' stands for,
#: counted from the last
Label = str | int | tuple[int]
Term = tuple[Tensor, list[Label]]


@public
def einsum(*operands: Any, out: Tensor | None = None, optimize: Any = True) -> Tensor:
    """Einstein's sum, as in ``einsum('bij,bjk->bik', x, y)``, or with lists of axis numbers behind
    each operand.

    All of NumPy's notation: '...', repeated letters for diagonals, results left out, axes of size
    1 that broadcast. What can be is a view; each pair of operands is one batched matrix product,
    or one product where nothing is summed, whose order follows sizes (`optimize` is NumPy's and
    changes nothing). int32 and uint32 wrap; of bools it is any of all. Raises ValueError for
    subscripts that make no sense, ShapeError where shapes do not fit them.
    """
    inputs, result, arrays = _parse(operands)
    tensors = as_tensors("einsum", arrays)
    dtype = result_type(*tensors)
    work = "int32" if dtype.kind == "b" else dtype
    if dtype.kind == "f" and dtype.itemsize == 2 and len(tensors) > 1:
        work = "float32"  # products of 16-bit floats are summed as they are, not rounded
    tensors = [astype(t, work, copy=False) for t in tensors]
    text = ",".join(map(_text, inputs))
    if len(inputs) != len(tensors):
        raise ValueError(f"[einsum] {len(inputs)} terms in '{text}' for {len(tensors)} operands")
    labels = [_expanded(term, t) for term, t in zip(inputs, tensors, strict=True)]
    output = _output(result, labels)
    terms = [_without_repeats(t, names) for t, names in zip(tensors, labels, strict=True)]
    made = _evaluate(_without_ones(terms, text), output)
    made = made if dtype == made.dtype else astype(made, dtype)
    return into("einsum", out, made)


# ---- notation -----------------------------------------------------------------------------------


def _parse(operands: Sequence[Any]) -> tuple[list[list[Any]], list[Any] | None, list[ArrayLike]]:
    """Labels of each operand and of the result (None: to be found), with Ellipsis, and arrays."""
    if not operands:
        raise ValueError("[einsum] needs subscripts and operands")
    if isinstance(operands[0], str):
        left, arrow, right = operands[0].replace(" ", "").partition("->")
        inputs = [_letters(part) for part in left.split(",")]
        return inputs, _letters(right) if arrow else None, list(operands[1:])
    pairs = len(operands) // 2
    lists = [list(operands[2 * i + 1]) for i in range(pairs)]
    result = list(operands[-1]) if len(operands) % 2 else None
    for label in itertools.chain(*lists, result or ()):
        if label is not Ellipsis and (not isinstance(label, int) or label < 0):
            raise ValueError(f"[einsum] axes are named by numbers of 0 or more, not {label!r}")
    return lists, result, list(operands[: 2 * pairs : 2])


def _letters(part: str) -> list[Any]:
    found: list[Any] = []
    head, dots, tail = part.partition("...")
    for piece in (head, tail) if dots else (head,):
        for c in piece:
            if not (c.isascii() and c.isalpha()):
                raise ValueError(f"[einsum] {c!r} in subscripts '{part}': letters name axes")
        found += [*piece, Ellipsis]
    return found[:-1]


def _text(labels: Sequence[Any]) -> str:
    return "".join("..." if x is Ellipsis else str(x) for x in labels)


def _expanded(term: list[Any], t: Tensor) -> list[Label]:
    """A label for each axis."""
    dots = term.count(Ellipsis)
    named = len(term) - dots
    if dots > 1 or named > t.ndim or (not dots and named < t.ndim):
        raise ShapeError(f"[einsum] subscripts '{_text(term)}' for an operand of shape {t.shape}")
    rest = [(i,) for i in range(t.ndim - named, 0, -1)]
    where = term.index(Ellipsis) if dots else named
    return [*term[:where], *rest, *term[where + dots :]]


def _output(result: list[Any] | None, labels: list[list[Label]]) -> list[Label]:
    """Labels of the result: '...' first and then letters that occur once where none are given."""
    every = list(itertools.chain(*labels))
    dots: list[Label] = sorted({x for x in every if isinstance(x, tuple)}, reverse=True)
    if result is None:
        once: list[Any] = [x for x in every if not isinstance(x, tuple) and every.count(x) == 1]
        return [*dots, *sorted(once)]
    if dots and Ellipsis not in result:
        raise ValueError(f"[einsum] the result '{_text(result)}' leaves out the axes of '...'")
    found: list[Label] = []
    for x in result:
        found += dots if x is Ellipsis else [x]
    for x in found:
        if x not in every or found.count(x) > 1:
            raise ValueError(f"[einsum] {x!r} in the result is in no operand, or there twice")
    return found


# ---- operands -----------------------------------------------------------------------------------


def _without_repeats(t: Tensor, labels: list[Label]) -> Term:
    """A label that names two axes stands for their diagonal: a view."""
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            i = labels.index(label)
            j = labels.index(label, i + 1)
            if t.shape[i] != t.shape[j]:
                raise ShapeError(
                    f"[einsum] axes {i} and {j}, both {label!r}, of an operand of shape {t.shape}"
                )
            t = t.diagonal(0, i, j)
            labels = [x for at, x in enumerate(labels) if at not in (i, j)] + [label]
    return t, labels


def _without_ones(terms: list[Term], text: str) -> list[Term]:
    """Operands without the axes of size 1 that broadcast against others."""
    sizes: dict[Label, int] = {}
    for t, labels in terms:
        for label, n in zip(labels, t.shape, strict=True):
            known = sizes.get(label, 1)
            if known != 1 and n not in (1, known):
                shapes = " and ".join(str(u.shape) for u, _ in terms)
                raise ShapeError(
                    f"[einsum] sizes {known} and {n} of {label!r} in '{text}': {shapes}"
                )
            sizes[label] = n if known == 1 else known
    found = []
    for t, labels in terms:
        ones = [i for i, x in enumerate(labels) if t.shape[i] == 1 != sizes[x]]
        kept = [x for i, x in enumerate(labels) if i not in ones]
        found.append((t.squeeze(ones) if ones else t, kept))
    return found


# ---- evaluation ---------------------------------------------------------------------------------


def _evaluate(terms: list[Term], output: list[Label]) -> Tensor:
    while len(terms) > 1:
        i, j = _next_pair(terms, output)
        rest = [x for k, x in enumerate(terms) if k not in (i, j)]
        wanted = set(output).union(*(labels for _, labels in rest))
        terms = [*rest, _product(terms[i], terms[j], wanted, output)]
    t, labels = _summed(terms[0], set(output))
    return t.permute([labels.index(x) for x in output])


def _next_pair(terms: list[Term], output: list[Label]) -> tuple[int, int]:
    """The pair whose product is smallest against its operands; of equal ones the cheapest."""

    def cost(at: tuple[int, int]) -> tuple[int, int]:
        pair = [terms[k] for k in at]
        sizes = {x: n for t, labels in pair for x, n in zip(labels, t.shape, strict=True)}
        rest = (labels for k, (_, labels) in enumerate(terms) if k not in at)
        wanted = set(output).union(*rest)
        made = math.prod(n for x, n in sizes.items() if x in wanted)
        return made - sum(t.size for t, _ in pair), math.prod(sizes.values())

    return min(itertools.combinations(range(len(terms)), 2), key=cost)


def _summed(term: Term, wanted: set[Label]) -> Term:
    """Without the axes that nobody else has."""
    t, labels = term
    axes = tuple(i for i, x in enumerate(labels) if x not in wanted)
    if not axes:
        return term
    return t.sum(axis=axes), [x for x in labels if x in wanted]


def _product(first: Term, second: Term, wanted: set[Label], output: list[Label]) -> Term:
    """Two operands' product, summed over what only they have."""
    first = _summed(first, wanted | set(second[1]))
    second = _summed(second, wanted | set(first[1]))
    order = {x: i for i, x in enumerate(output)}

    def place(label: Label) -> float:
        return order.get(label, math.inf)

    # The operand with the first axis of the result gives the rows: then no transpose follows.
    fronts = [
        min((place(x) for x in mine if x not in other), default=math.inf)
        for (_, mine), (_, other) in ((first, second), (second, first))
    ]
    if fronts[1] < fronts[0]:
        first, second = second, first
    (a, in_a), (b, in_b) = first, second
    both = [x for x in in_a if x in in_b]
    batch = sorted((x for x in both if x in wanted), key=place)
    left = sorted((x for x in in_a if x not in in_b), key=place)
    right = sorted((x for x in in_b if x not in in_a), key=place)
    shared = [x for x in both if x not in wanted]
    if not shared or not left or not right:
        return _elementwise(first, second, [*batch, *left, *right], shared)
    forms = [
        (rows, columns, over)
        for rows in (left, [x for x in in_a if x in left])
        for columns in (right, [x for x in in_b if x in right])
        for over in (shared, [x for x in in_b if x in shared])
    ]

    def axes(labels: list[Label], names: list[Label]) -> list[int]:
        return [labels.index(x) for x in names]

    def copies(form: tuple[list[Label], list[Label], list[Label]]) -> int:
        rows, columns, over = form
        return copied(a, axes(in_a, batch), axes(in_a, rows), axes(in_a, over)) + copied(
            b, axes(in_b, batch), axes(in_b, over), axes(in_b, columns)
        )

    left, right, shared = min(forms, key=copies)
    kept = axes(in_a, left), axes(in_b, right)
    over = axes(in_a, shared), axes(in_b, shared)
    made = contract(a, b, axes(in_a, batch), axes(in_b, batch), kept, over)
    return made, [*batch, *left, *right]


def _elementwise(first: Term, second: Term, labels: list[Label], shared: list[Label]) -> Term:
    """A product that broadcasts, and its sum: one kernel, as of matrices with one row or column."""
    every = [*labels, *shared]
    views = []
    for t, mine in (first, second):
        t = t.permute([mine.index(x) for x in every if x in mine])
        views.append(t[tuple(slice(None) if x in mine else None for x in every)])
    made = multiply(*views)
    return made.sum(axis=tuple(range(len(labels), len(every)))) if shared else made, labels
