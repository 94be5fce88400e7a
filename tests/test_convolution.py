"""Convolution against sums over NumPy's sliding windows in float64."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wgtensor as wt
from helpers import LAYOUTS, device_has, dispatches, random_array, setting
from tolerances import check, near_sum
from wgtensor.nn import functional as F

Array = np.ndarray[Any, Any]
Pairs = tuple[tuple[int, int], ...]

CONV = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}


def windows(
    x: Array, kernel: tuple[int, ...], stride: tuple[int, ...], dilation: tuple[int, ...]
) -> Array:
    """[.., windows.., place in the window..]"""
    n = len(kernel)
    spans = tuple(d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True))
    v = np.lib.stride_tricks.sliding_window_view(x, spans, axis=tuple(range(x.ndim - n, x.ndim)))
    cut = [slice(None, None, s) for s in stride] + [slice(None, None, d) for d in dilation]
    return v[(..., *cut)]


def reference(
    x: Array,
    w: Array,
    stride: tuple[int, ...],
    padding: Pairs,
    dilation: tuple[int, ...],
    groups: int,
) -> Array:
    """x as (N, C, ...)."""
    n = len(stride)
    wide: Any = np.float64 if x.dtype.kind == "f" else np.int64
    x, w = x.astype(wide), w.astype(wide)
    x = np.pad(x, ((0, 0), (0, 0), *padding))
    v = windows(x, w.shape[2:], stride, dilation)
    v = v.reshape((x.shape[0], groups, -1, *v.shape[2:]))
    w = w.reshape((groups, -1, *w.shape[1:]))
    space, place = "xyz"[:n], "ijk"[:n]
    y = np.einsum(f"ngc{space}{place},goc{place}->ngo{space}", v, w)
    return np.asarray(y.reshape((x.shape[0], -1, *y.shape[3:])))


def verify(
    made: wt.Tensor,
    x: Array,
    w: Array,
    b: Array | None = None,
    *,
    stride: tuple[int, ...] | None = None,
    padding: Pairs | None = None,
    dilation: tuple[int, ...] | None = None,
    groups: int = 1,
    relu: bool = False,
    name: str = "",
) -> None:
    n = w.ndim - 2
    stride, dilation = stride or (1,) * n, dilation or (1,) * n
    padding = padding or ((0, 0),) * n
    batch = x if x.ndim == n + 2 else x[None]

    def of(u: Array, v: Array) -> Array:
        y = reference(u, v, stride, padding, dilation, groups)
        return y if x.ndim == n + 2 else y[0]

    expected = of(batch, w)
    if b is not None:
        expected = expected + b.reshape((-1, *(1,) * n))
    if relu:
        expected = np.maximum(expected, 0)
    if x.dtype.kind != "f":
        check(made, expected.astype(x.dtype), name=name)
        return
    magnitude = of(np.abs(batch), np.abs(w))
    if b is not None:
        magnitude = magnitude + np.abs(b).reshape((-1, *(1,) * n))
    terms = math.prod(w.shape[1:])
    near_sum(made, expected, magnitude, terms=terms, name=name)


def inputs(
    rng: np.random.Generator,
    x: tuple[int, ...],
    w: tuple[int, ...],
    dtype: str = "float32",
) -> tuple[Array, Array, Array]:
    return (random_array(rng, s, dtype) for s in (x, w, w[:1]))  # type: ignore[return-value]


CASES: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "3x3": ((2, 5, 13, 17), (7, 5, 3, 3), {}),
    "vec4 rows": ((2, 8, 16, 20), (16, 8, 1, 1), {}),
    "1x1 of one row": ((1, 33, 1, 9), (17, 33, 1, 1), {}),
    "stride": ((2, 4, 15, 18), (6, 4, 3, 3), {"stride": (2, 3)}),
    "1x1 stride": ((2, 4, 15, 16), (6, 4, 1, 1), {"stride": (2, 2)}),
    "dilation": ((1, 4, 17, 21), (5, 4, 3, 3), {"dilation": (2, 4)}),
    "padding": ((2, 3, 9, 8), (4, 3, 5, 3), {"padding": ((2, 2), (1, 1))}),
    "asymmetric": ((2, 3, 9, 8), (4, 3, 3, 4), {"padding": ((0, 2), (3, 1))}),
    "groups": ((2, 12, 10, 11), (9, 4, 3, 3), {"groups": 3}),
    "depthwise": ((2, 10, 12, 13), (10, 1, 3, 3), {"groups": 10}),
    "depthwise, two each": ((2, 6, 9, 10), (12, 1, 3, 3), {"groups": 6}),
    "groups of one window": ((3, 8, 4, 5), (6, 4, 4, 5), {"groups": 2}),
    "as large as the input": ((5, 3, 6, 7), (8, 3, 6, 7), {}),
    "as large, of one": ((1, 3, 6, 7), (8, 3, 6, 7), {}),
    "one row of results": ((2, 3, 4, 70), (40, 3, 4, 3), {}),
    "one channel out": ((2, 9, 12, 12), (1, 9, 3, 3), {}),
    "one channel in": ((2, 1, 30, 31), (33, 1, 3, 3), {}),
    "many channels": ((1, 70, 9, 9), (66, 70, 3, 3), {}),
    "all": (
        (3, 8, 19, 23),
        (12, 4, 3, 2),
        {"stride": (2, 1), "padding": ((1, 2), (0, 3)), "dilation": (2, 3), "groups": 2},
    ),
    "1-D": ((2, 5, 50), (7, 5, 4), {"stride": (3,), "padding": ((1, 0),)}),
    "3-D": ((2, 3, 7, 8, 9), (5, 3, 2, 3, 2), {"stride": (1, 2, 2), "padding": ((1, 1),) * 3}),
}


@pytest.mark.short
@pytest.mark.parametrize("case", CASES)
def test_cases(case: str, rng: np.random.Generator) -> None:
    shape, kernel, options = CASES[case]
    conv = CONV[len(shape) - 2]
    for dtype in ("int32", "uint32") if case == "all" else ("int32",):
        x, w, b = inputs(rng, shape, kernel, dtype)
        made = conv(wt.asarray(x), wt.asarray(w), wt.asarray(b), **options)
        assert made.dtype == dtype
        verify(made, x, w, b, **options, name=f"{case} {dtype}")
    x, w, b = inputs(rng, shape, kernel)
    fused = wt.relu(conv(wt.asarray(x), wt.asarray(w), wt.asarray(b), **options))
    verify(fused, x, w, b, **options, relu=True, name=f"{case} relu")
    one = conv(x[0], w, **options)
    verify(one, x[0], w, **options, name=f"{case}, not batched")


@pytest.mark.parametrize("dtype", ["int8", "uint16", "float16", "int64", "float64"])
def test_dtypes(dtype: str, rng: np.random.Generator) -> None:
    if not device_has(dtype):
        pytest.skip("the adapter has no such numbers")
    x, w, b = (rng.integers(-3, 4, s).astype(dtype) for s in [(2, 4, 9, 10), (6, 2, 3, 3), (6,)])
    for groups, v in [(2, w), (4, w[:4, :1])]:
        made = F.conv2d(x, v, b[: len(v)], stride=(1, 2), padding=1, groups=groups)
        assert made.dtype == dtype
        expected = reference(x, v, (1, 2), ((1, 1), (1, 1)), (1, 1), groups)
        check(made, (expected + b[: len(v), None, None]).astype(dtype), name=dtype)


def test_forms_of_arguments(rng: np.random.Generator) -> None:
    x, w, b = inputs(rng, (2, 4, 9, 10), (6, 4, 3, 4))
    both = {"padding": ((1, 1), (1, 2))}
    verify(F.conv2d(x, w, b, padding="same"), x, w, b, **both)
    verify(F.conv2d(x, w, b, padding="valid"), x, w, b)
    verify(
        F.conv2d(x, w, b, 2, 1, 2), x, w, b, stride=(2, 2), padding=((1, 1),) * 2, dilation=(2, 2)
    )
    verify(F.conv2d(x, w, b, padding=[1, 2]), x, w, b, padding=((1, 1), (2, 2)))
    verify(F.conv2d(x, w, b, stride=[2]), x, w, b, stride=(2, 2))
    wide = F.conv2d(x, w, padding="same", dilation=(2, 1))
    verify(wide, x, w, padding=((2, 2), (1, 2)), dilation=(2, 1))
    assert F.conv2d(x, w.astype(np.int32)).dtype == "float32"
    assert wt.nn.functional.conv2d is F.conv2d


@pytest.mark.parametrize("left", LAYOUTS)
@pytest.mark.parametrize("right", LAYOUTS)
def test_layouts(left: str, right: str, rng: np.random.Generator) -> None:
    for shape, kernel, groups in [
        ((2, 4, 9, 12), (8, 4, 3, 3), 1),
        ((2, 4, 8, 8), (6, 2, 2, 1), 2),
    ]:
        x, w, _ = inputs(rng, shape, kernel)
        made = F.conv2d(LAYOUTS[left](x), LAYOUTS[right](w), groups=groups)
        verify(made, x, w, groups=groups, name=f"{left} {right}")


def test_dense_channels_last(rng: np.random.Generator) -> None:
    x, w, b = inputs(rng, (2, 8, 10, 12), (16, 8, 3, 3))
    last = wt.asarray(np.ascontiguousarray(x.transpose(0, 2, 3, 1))).permute((0, 3, 1, 2))
    weight = wt.asarray(np.ascontiguousarray(w.transpose(2, 3, 1, 0))).permute((3, 2, 0, 1))
    assert dispatches(lambda: F.conv2d(last, weight, b)) == 1
    verify(F.conv2d(last, weight, b), x, w, b)
    assert F.conv2d(last, weight).numpy().flags.c_contiguous


# ---- what is fused ------------------------------------------------------------------------------


def test_dispatches(rng: np.random.Generator) -> None:
    x, w, b = (wt.asarray(v) for v in inputs(rng, (2, 8, 12, 13), (8, 8, 3, 3)))
    residual = wt.asarray(random_array(rng, (2, 8, 10, 11)))
    half, single = wt.asarray(w.numpy()[:, :4]), wt.asarray(w.numpy()[:, :1])
    pads = dispatches(lambda: wt.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1))))
    assert dispatches(lambda: F.conv2d(x, w)) == 1
    assert dispatches(lambda: wt.relu(F.conv2d(x, w, b))) == 1
    assert dispatches(lambda: wt.relu(F.conv2d(x, w, b) + residual)) == 1
    assert dispatches(lambda: wt.relu(F.conv2d(x, half, b, groups=2))) == 1
    assert dispatches(lambda: wt.relu(F.conv2d(x, half, b, groups=2) * 2 + residual)) == 1
    assert dispatches(lambda: wt.relu(F.conv2d(x, single, b, groups=8))) == 1
    assert dispatches(lambda: wt.relu(F.conv2d(x[:, :, :3, :3], w, b))) == 1
    assert dispatches(lambda: wt.relu(F.conv2d(x[0], w, b))) == 1
    assert dispatches(lambda: wt.relu(F.conv2d(wt.relu(x) * 2, w, b, padding=1))) == pads + 1
    assert dispatches(lambda: F.conv2d(wt.relu(x), w)) == 2
    assert dispatches(lambda: wt.relu(F.max_pool2d(wt.relu(x), 2))) == 1


def test_before_and_after(rng: np.random.Generator) -> None:
    x, w, b = inputs(rng, (2, 6, 11, 10), (8, 6, 3, 3))
    residual = random_array(rng, (2, 8, 9, 8))
    X, W, B, R = (wt.asarray(v) for v in (x, w, b, residual))
    positive = np.maximum(x, 0)
    verify(F.conv2d(wt.relu(X), W, B), positive, w, b)
    verify(F.conv2d(wt.relu(X), W, B, padding=1), positive, w, b, padding=((1, 1), (1, 1)))
    plain = reference(x, w, (1, 1), ((0, 0), (0, 0)), (1, 1), 1)
    magnitude = reference(np.abs(x), np.abs(w), (1, 1), ((0, 0), (0, 0)), (1, 1), 1)
    bias = b[:, None, None]
    allowed = magnitude + np.abs(bias) + np.abs(residual)
    for name, made, expected in [
        ("residual", wt.relu(F.conv2d(X, W, B) + R), np.maximum(plain + bias + residual, 0)),
        ("scaled", F.conv2d(X, W) * 0.5 - R, plain * 0.5 - residual),
        ("transposed", F.conv2d(X, W).permute((0, 2, 3, 1)) + R.permute((0, 2, 3, 1)), None),
        ("flat", F.conv2d(X, W, B).reshape((2, -1)) * 1, (plain + bias).reshape((2, -1))),
    ]:
        if expected is None:
            expected, limit = (
                (plain + residual).transpose(0, 2, 3, 1),
                allowed.transpose(0, 2, 3, 1),
            )
        else:
            limit = allowed.reshape(expected.shape)
        near_sum(made, expected, limit, terms=54, name=name)


def test_grouped_product_fuses_through_the_merge(rng: np.random.Generator) -> None:
    """The channels of all groups are one axis of the result, two of the product."""
    x, w, b = inputs(rng, (2, 8, 9, 9), (12, 2, 3, 3))
    X, W, B = (wt.asarray(v) for v in (x, w, b))
    scale = wt.asarray(random_array(rng, (2, 12, 1, 1)))
    wide = wt.asarray(random_array(rng, (7, 2, 12, 7))).permute((1, 2, 0, 3))
    made = wt.relu(F.conv2d(X, W, B, groups=4) * scale + wide)
    plain = reference(x, w, (1, 1), ((0, 0),) * 2, (1, 1), 4) + b[:, None, None]
    expected = np.maximum(plain * scale.numpy() + wide.numpy(), 0)
    near_sum(made, expected, np.full(expected.shape, 60.0), terms=18)


def test_one_kernel_for_many_sizes(rng: np.random.Generator) -> None:
    """Sizes are parameters: of the windows and of the input."""

    def run(size: int, kernel: int) -> None:
        x, w, _ = inputs(rng, (2, 4, size, size + 1), (40, 4, kernel, kernel))
        verify(F.conv2d(x, w), x, w)

    run(21, 3)
    before = wt.stats()["pipelines"]
    for size, kernel in [(25, 3), (33, 3), (35, 5)]:
        run(size, kernel)
    assert wt.stats()["pipelines"] == before


# ---- sampled ------------------------------------------------------------------------------------


def sample(rng: np.random.Generator) -> tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]:
    n = int(rng.choice([1, 2, 2, 2, 3]))
    groups = int(rng.choice([1, 1, 1, 2, 3]))
    own = int(rng.choice([1, 2, 3, 8]))
    out = groups * int(rng.choice([1, 2, 5, 16, 33]))
    kernel = tuple(int(k) for k in rng.integers(1, 4, n))
    stride = tuple(int(s) for s in rng.choice([1, 1, 2, 3], n))
    dilation = tuple(int(d) for d in rng.choice([1, 1, 2], n))
    padding = tuple((int(a), int(b)) for a, b in rng.choice([0, 0, 1, 2], (n, 2)))
    most = {1: 60, 2: 18, 3: 8}[n]
    shape = []
    for k, d, (before, after) in zip(kernel, dilation, padding, strict=True):
        least = max(d * (k - 1) + 1 - before - after, 1)
        shape.append(int(rng.integers(least, least + most)))
    options = {"stride": stride, "dilation": dilation, "padding": padding, "groups": groups}
    batch = int(rng.choice([1, 2, 3]))
    return (batch, groups * own, *shape), (out, own, *kernel), options


@pytest.mark.parametrize("part", range(4))
def test_sampled(part: int) -> None:
    """Each sample at three sizes of the input: compiling kernels takes longest."""
    rng = np.random.default_rng(part)
    for _ in range(17):
        shape, kernel, options = sample(rng)
        dtype = str(rng.choice(["float32", "float32", "int32"]))
        relu, bias, alone = (bool(v) for v in rng.integers(0, 2, 3))
        layout = LAYOUTS[str(rng.choice(["contiguous", "shifted", "transposed"]))]
        conv = CONV[len(kernel) - 2]
        for grow in range(3):
            steps = zip(shape[2:], options["stride"], strict=True)
            grown = (*shape[:2], *(n + 4 * grow * step for n, step in steps))
            x, w, b = inputs(rng, grown, kernel, dtype)
            x = x[0] if alone else x
            made = conv(layout(x), wt.asarray(w), wt.asarray(b) if bias else None, **options)
            made = wt.maximum(made, 0) if relu else made
            name = f"{dtype} {x.shape} {w.shape} {options}"
            verify(made, x, w, b if bias else None, **options, relu=relu, name=name)


@given(
    st.integers(1, 30),
    st.integers(1, 5),
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(0, 3),
    st.integers(0, 3),
)
def test_integers_are_exact(n: int, k: int, s: int, d: int, before: int, after: int) -> None:
    """The convolution of a ramp with places tells each element that every window sees."""
    if n + before + after < d * (k - 1) + 1:
        return
    x, w = np.arange(1, n + 1, dtype=np.int32), 100 ** np.arange(k, dtype=np.int32) % 7919
    made = F.conv1d(x[None], w[None, None], stride=s, padding=((before, after),), dilation=d)
    x, w = x[None], w[None, None]
    verify(made, x, w, stride=(s,), padding=((before, after),), dilation=(d,))


# ---- limits -------------------------------------------------------------------------------------


def test_nothing_to_convolve() -> None:
    for shape, kernel, result in [
        ((0, 3, 5, 6), (4, 3, 2, 2), (0, 4, 4, 5)),
        ((2, 3, 5, 6), (0, 3, 2, 2), (2, 0, 4, 5)),
        ((2, 0, 5, 6), (4, 0, 2, 2), (2, 4, 4, 5)),
    ]:
        made = F.conv2d(np.ones(shape, np.float32), np.ones(kernel, np.float32))
        check(made, np.zeros(result, np.float32))
        bias = np.arange(kernel[0], dtype=np.float32)
        made = F.conv2d(np.ones(shape, np.float32), np.ones(kernel, np.float32), bias)
        check(made, np.broadcast_to(bias[:, None, None], result))


def test_nan_and_infinity() -> None:
    x, w = np.ones((1, 4, 8, 8), np.float32), np.ones((8, 4, 3, 3), np.float32)
    x[0, 1, 2, 3], x[0, 2, 7, 7] = np.nan, np.inf
    check(F.conv2d(x, w), reference(x, w, (1, 1), ((0, 0),) * 2, (1, 1), 1))


def test_long_sums(rng: np.random.Generator) -> None:
    """More summed elements than one loop takes on a software driver."""
    x, w, _ = inputs(rng, (1, 3, 450, 450), (2, 3, 448, 449))
    verify(F.conv2d(x, w), x, w)


ERRORS: list[tuple[type[Exception], str, dict[str, Any]]] = [
    (wt.ShapeError, r"\[conv2d\].*not an input of shape \(4,\)", {"input": np.ones(4, np.float32)}),
    (wt.ShapeError, r"4 dimensions.*\(3, 2\)", {"weight": np.ones((3, 2), np.float32)}),
    (wt.ShapeError, r"4 channels.*\(6, 3, 3, 3\)", {"weight": np.ones((6, 3, 3, 3), np.float32)}),
    (wt.ShapeError, r"4 channels.*groups=3 takes 12", {"groups": 3}),
    (wt.ShapeError, r"bias of shape \(5,\), not \(6,\)", {"bias": np.ones(5, np.float32)}),
    (wt.ShapeError, r"does not fit.*\(8, 9\).*padding", {"dilation": 4}),
    (wt.ShapeError, r"kernel.*empty", {"weight": np.ones((6, 4, 0, 3), np.float32)}),
    (
        wt.ShapeError,
        r"groups=2 do not divide the 3",
        {"weight": np.ones((3, 2, 1, 1), np.float32), "groups": 2},
    ),
    (ValueError, "stride must be 1 or more", {"stride": 0}),
    (ValueError, "stride is one integer or 2", {"stride": (1, 2, 3)}),
    (TypeError, "dilation must be of integers", {"dilation": 1.5}),
    (ValueError, "padding must be 0 or more", {"padding": -1}),
    (ValueError, "2 pairs", {"padding": ((1, 2), (1, 2), (0, 0))}),
    (ValueError, "'same', 'valid'", {"padding": "full"}),
    (ValueError, "'same' takes a stride of 1", {"padding": "same", "stride": 2}),
    (ValueError, "groups must be 1 or more", {"groups": 0}),
    (wt.DTypeError, "not defined for bool", {"input": np.ones((1, 4, 8, 9), np.bool_)}),
    (wt.DTypeError, "not defined for bool", {"weight": np.ones((6, 4, 3, 3), np.bool_)}),
]


@pytest.mark.parametrize(("error", "message", "options"), ERRORS)
def test_errors(error: type[Exception], message: str, options: dict[str, Any]) -> None:
    arguments: dict[str, Any] = {
        "input": np.ones((1, 4, 8, 9), np.float32),
        "weight": np.ones((6, 4, 3, 3), np.float32),
    }
    with pytest.raises(error, match=message):
        F.conv2d(**{**arguments, **options})


# ---- large tensors ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "kernel", "options"),
    [
        ((9, 4, 40, 44), (6, 4, 3, 3), {}),
        ((3, 16, 60, 62), (8, 16, 3, 3), {"padding": ((1, 1), (1, 1))}),
        ((1, 3, 150, 149), (5, 3, 3, 2), {"stride": (2, 1)}),
        ((1, 2, 300, 202), (4, 2, 2, 2), {"dilation": (3, 1)}),
        ((2, 40, 20, 20), (300, 40, 2, 2), {}),
        ((2, 6, 70, 70), (12, 2, 3, 3), {"groups": 3}),
        ((2, 8, 80, 80), (8, 1, 3, 3), {"groups": 8}),
        ((1, 64, 33, 35), (20, 64, 1, 1), {}),
        ((1, 3, 40000), (5, 3, 4), {}),
        ((1, 2, 40000), (3, 2, 3), {"stride": (3,)}),
    ],
)
def test_above_the_largest_binding(
    shape: tuple[int, ...],
    kernel: tuple[int, ...],
    options: dict[str, Any],
    rng: np.random.Generator,
) -> None:
    with setting(max_binding=65536, debug=True):
        device = wt.Device()
        device.synchronize()
    for dtype in ("float32", "int32"):
        x, w, b = inputs(rng, shape, kernel, dtype)
        t = wt.asarray(x, device=device)
        made = wt.maximum(CONV[len(shape) - 2](t, w, b, **options), 0)
        assert " parts" in wt.explain(made)
        verify(made, x, w, b, **options, relu=True)
