"""Products of tensors above matmul: dot products, outer products, tensordot, kron, cross."""

from __future__ import annotations

import math
from collections.abc import Sequence

from wgtensor._arrays import ArrayLike
from wgtensor._core import DTypeError, ShapeError, Tensor
from wgtensor._dtypes import float32, result_type
from wgtensor._functions import matmul
from wgtensor._generated import multiply
from wgtensor._manipulation import as_int, as_tensors, axis_of, moveaxis, stack, unstack
from wgtensor._naming import public

__all__ = ["cross", "dot", "inner", "kron", "outer", "tensordot", "vecdot"]


def pair(op: str, x1: ArrayLike, x2: ArrayLike) -> tuple[Tensor, Tensor]:
    """Both operands, numeric, on one device."""
    a, b = as_tensors(op, (x1, x2))
    if result_type(a, b).kind == "b":
        raise DTypeError(f"[{op}] is not defined for bool: cast with astype()")
    return a, b


@public
def vecdot(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> Tensor:
    """Sums of products along an axis; the others broadcast. One kernel.

    The result has the dtype that the operands promote to, in which integers wrap.
    Raises ShapeError where the sizes along the axis differ.
    """
    a, b = pair("vecdot", x1, x2)
    if a.ndim == 0 or b.ndim == 0:
        raise ShapeError(f"[vecdot] takes no 0-d operands: shapes {a.shape} and {b.shape}")
    a, b = (moveaxis(t, axis_of("vecdot", axis, t.ndim), -1) for t in (a, b))
    if a.shape[-1] != b.shape[-1]:
        raise ShapeError(
            f"[vecdot] {a.shape[-1]} and {b.shape[-1]} elements along axis {axis} do not match"
        )
    dtype = result_type(a, b)
    # Products of 16-bit floats are summed as they are, not rounded.
    wide = float32 if dtype.kind == "f" and dtype.itemsize == 2 else dtype
    return multiply(a._astype(wide), b._astype(wide)).sum(axis=-1, dtype=wide)._astype(dtype)


@public
def outer(x1: ArrayLike, x2: ArrayLike, /) -> Tensor:
    """Each element of the first times each of the second, both flattened: (m,), (n,) to (m, n)."""
    a, b = as_tensors("outer", (x1, x2))
    return multiply(a.reshape(-1, 1), b.reshape(-1))


@public
def tensordot(
    x1: ArrayLike, x2: ArrayLike, /, *, axes: int | Sequence[int | Sequence[int]] = 2
) -> Tensor:
    """Sums of products over several axes: the last `axes` ones of `x1` with the first of `x2`, or
    those in a pair of sequences.

    One matrix product. Raises ShapeError where the sizes of paired axes differ.
    """
    a, b = pair("tensordot", x1, x2)
    if isinstance(axes, (tuple, list)):
        if len(axes) != 2:
            raise ValueError(f"[tensordot] axes is an int or a pair of sequences, not {axes!r}")
        first, second = ([x] if isinstance(x, int) else list(x) for x in axes)
    else:
        n = as_int("tensordot", "axes", axes)
        if not 0 <= n <= min(a.ndim, b.ndim):
            raise ShapeError(f"[tensordot] {n} axes of shapes {a.shape} and {b.shape}")
        first, second = list(range(a.ndim - n, a.ndim)), list(range(n))
    first = [axis_of("tensordot", x, a.ndim) for x in first]
    second = [axis_of("tensordot", x, b.ndim) for x in second]
    sizes = [[t.shape[i] for i in at] for t, at in ((a, first), (b, second))]
    if sizes[0] != sizes[1]:
        raise ShapeError(
            f"[tensordot] axes {first} of {a.shape} and {second} of {b.shape} do not match"
        )
    if len(set(first)) < len(first) or len(set(second)) < len(second):
        raise ValueError(f"[tensordot] repeated axes in {axes!r}")
    left = [i for i in range(a.ndim) if i not in first]
    right = [i for i in range(b.ndim) if i not in second]
    return contract(a, b, [], [], (left, right), (first, second))


def contract(
    a: Tensor,
    b: Tensor,
    batch_a: Sequence[int],
    batch_b: Sequence[int],
    kept: tuple[Sequence[int], Sequence[int]],
    summed: tuple[Sequence[int], Sequence[int]],
) -> Tensor:
    """Sums of products as one batched matrix product: axes are batch, kept, kept of b.

    Each operand becomes a stack of matrices by views; it is copied where strides force it.
    """
    left = [a.shape[i] for i in kept[0]]
    right = [b.shape[i] for i in kept[1]]
    batch = [a.shape[i] for i in batch_a]
    x, rows = _matrices(a, batch_a, kept[0], summed[0])
    y, columns = _matrices(b, batch_b, summed[1], kept[1])
    return matmul(x.reshape(rows), y.reshape(columns)).reshape((*batch, *left, *right))


def _matrices(
    t: Tensor, batch: Sequence[int], rows: Sequence[int], columns: Sequence[int]
) -> tuple[Tensor, tuple[int, ...]]:
    """A view with these axes in this order, and its shape as a stack of matrices."""
    sizes = [math.prod(t.shape[i] for i in axes) for axes in (rows, columns)]
    return t.permute((*batch, *rows, *columns)), (*(t.shape[i] for i in batch), *sizes)


def copied(t: Tensor, batch: Sequence[int], rows: Sequence[int], columns: Sequence[int]) -> int:
    """Elements that are copied to make `t` a stack of matrices."""
    view, shape = _matrices(t, batch, rows, columns)
    return t.size if view._reshape_copies(shape) else 0


@public
def inner(x1: ArrayLike, x2: ArrayLike, /) -> Tensor:
    """Sums of products over the last axes of both; a product where one is 0-d."""
    a, b = pair("inner", x1, x2)
    return multiply(a, b) if not a.ndim or not b.ndim else tensordot(a, b, axes=(-1, -1))


@public
def dot(x1: ArrayLike, x2: ArrayLike, /) -> Tensor:
    """As NumPy's: over the last axis of `x1` and the second to last of `x2` (the only one of 1-D);
    a product where one is 0-d.
    """
    a, b = pair("dot", x1, x2)
    if not a.ndim or not b.ndim:
        return multiply(a, b)
    if a.ndim <= 2 and b.ndim <= 2:
        return matmul(a, b)
    return tensordot(a, b, axes=(-1, -1 if b.ndim == 1 else -2))


@public
def kron(x1: ArrayLike, x2: ArrayLike, /) -> Tensor:
    """Kronecker product: blocks of `x2`, one times each element of `x1`. One kernel."""
    a, b = as_tensors("kron", (x1, x2))
    ndim = max(a.ndim, b.ndim)
    big, small = ((*(1,) * (ndim - t.ndim), *t.shape) for t in (a, b))
    a = a.reshape([n for size in big for n in (size, 1)])
    b = b.reshape([n for size in small for n in (1, size)])
    return multiply(a, b).reshape([m * n for m, n in zip(big, small, strict=True)])


@public
def cross(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> Tensor:
    """Cross products of vectors of 3 elements, or of 2, along an axis; other axes broadcast.

    Of 2 elements each the third component alone, without the axis; 2 beside 3 have 0 for a third.
    Raises ShapeError where an operand has another number of elements there.
    """
    a, b = pair("cross", x1, x2)
    if any(t.ndim == 0 or t.shape[axis_of("cross", axis, t.ndim)] not in (2, 3) for t in (a, b)):
        raise ShapeError(
            f"[cross] takes 2 or 3 elements along axis {axis}, not shapes {a.shape} and {b.shape}"
        )
    p, q = (unstack(t, axis=axis) for t in (a, b))

    def part(i: int, j: int) -> Tensor:
        """p[i] q[j] - p[j] q[i], without the products that a missing third component makes 0."""
        left = p[i] * q[j] if i < len(p) and j < len(q) else None
        right = p[j] * q[i] if j < len(p) and i < len(q) else None
        if left is None:
            assert right is not None
            return -right
        return left if right is None else left - right

    if len(p) == len(q) == 2:
        return part(0, 1)
    parts = [part(1, 2), part(2, 0), part(0, 1)]
    return stack(parts, axis=axis_of("cross", axis, parts[0].ndim + 1))
