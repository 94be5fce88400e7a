"""NumPy's functions that are made of others: the same values as NumPy's, and gradients."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from helpers import device_has, tensor

RNG = np.random.default_rng(7)
V = RNG.standard_normal(9).astype("float32")
W = RNG.standard_normal(4).astype("float32")
M = RNG.standard_normal((4, 5)).astype("float32")
T = RNG.standard_normal((3, 4, 5)).astype("float32")
I = RNG.integers(-9, 9, (4, 5)).astype("int32")  # noqa: E741
B = RNG.random((4, 5)) < 0.5
UP = np.sort(RNG.random(6)).astype("float32")
N = M.copy()
N[0], N[1, 2], N[3, :4] = np.nan, np.nan, np.nan
NI = N.copy()
NI[1:, 4] = -np.inf


def on_device(x: Any) -> Any:
    if isinstance(x, np.ndarray):
        return tensor(x)
    return [on_device(i) for i in x] if isinstance(x, list) else x


def flat(x: Any) -> list[Any]:
    return [v for i in x for v in flat(i)] if isinstance(x, (tuple, list)) else [x]


def case(name: str, *args: Any, numpy: Callable[..., Any] | None = None, **options: Any) -> Any:
    shown = ",".join(f"{k}={v}" for k, v in options.items() if not isinstance(v, np.ndarray))
    return pytest.param(
        name, args, options, numpy or getattr(np, name, None), id=f"{name}({shown})"
    )


def each(name: str, *values: Any, **options: Any) -> list[Any]:
    return [case(name, *v, **options) if isinstance(v, tuple) else case(name, v) for v in values]


AXES = (None, 0, 1, -1)
NAN = ("nansum", "nanprod", "nanmax", "nanmin", "nanmean", "nanvar", "nanstd")
CASES = [
    *(case(n, x, axis=a) for n in NAN for x in (N, NI, M) for a in (*AXES, (0, 1))),
    *(case(n, N, axis=1, keepdims=True) for n in NAN),
    *(case(n, x, axis=a, where=w) for n in ("nansum", "nanprod", "nanmean", "nanvar", "nanstd")
      for x in (N, I) for a in (None, 0) for w in (B, B[:1])),
    *(case(n, x, axis=a, **{word: 1}) for n in ("nanvar", "nanstd") for x in (N, M)
      for a in (None, 0) for word in ("ddof", "correction")),
    *(case(n, I, axis=0) for n in ("nansum", "nanmax", "nanmin", "nanmean", "nanvar")),
    *(case(n, x[1:, 2:], axis=a) for n in ("nanargmax", "nanargmin") for x in (N, M, I)
      for a in AXES),
    *(case(n, x, axis=a) for n in ("cumsum", "cumprod") for x in (M, T, I) for a in AXES),
    *(case(n, N, axis=a) for n in ("nancumsum", "nancumprod") for a in AXES),
    *(case("diff", x, n=n, axis=a) for x in (M, I, B) for n in (0, 1, 2, 5) for a in (0, 1)),
    case("diff", M, prepend=0, append=M[:, :2]),
    case("diff", M, axis=0, prepend=M[:1]),
    case("ediff1d", M), case("ediff1d", I, to_begin=-9, to_end=[8, 9]),
    *(case("ptp", x, axis=a) for x in (M, I) for a in AXES),
    *(case("average", x, axis=a) for x in (M, I) for a in AXES),
    case("average", M, axis=1, weights=np.abs(V[:5])), case("average", M, weights=np.abs(M)),
    case("average", M, axis=0, weights=np.abs(W), returned=True),
    case("average", M, axis=0, weights=np.abs(W), keepdims=True),
    case("average", T, axis=1, weights=np.abs(W)), case("average", M, returned=True),
    *(case("cov", x, **o) for x in (M, V, I) for o in ({}, {"bias": True}, {"ddof": 0})),
    case("cov", M, rowvar=False), case("cov", V, V[::-1].copy()),
    case("cov", M, fweights=np.array([1, 2, 0, 3, 1], np.int32)),
    case("cov", M, aweights=np.abs(V[:5])),
    case("cov", M, fweights=np.array([1, 2, 1, 3, 1], np.int32), aweights=np.abs(V[:5]), ddof=2),
    case("corrcoef", M), case("corrcoef", M, rowvar=False), case("corrcoef", V, V[::-1].copy()),
    case("trapezoid", M), case("trapezoid", M, axis=0, dx=0.5), case("trapezoid", V[:6], UP),
    case("trapezoid", M, np.cumsum(np.abs(M), axis=0), axis=0),
    *(case("unwrap", 3 * x, axis=a) for x in (M, T) for a in (0, -1)),
    case("unwrap", 9 * M, discont=5.0), case("unwrap", 9 * M, period=4.0),
    case("unwrap", I, period=7), case("unwrap", I, period=8), case("unwrap", I),
    *(case("gradient", x, edge_order=e) for x in (V, M, T) for e in (1, 2)),
    case("gradient", M, 0.5), case("gradient", M, 0.5, 2.0), case("gradient", M, axis=1),
    case("gradient", I.astype("float32"), axis=(1, 0)),
    *(case("gradient", V[:6], UP, edge_order=e) for e in (1, 2)),
    case("gradient", M, np.cumsum(np.abs(W)), 2.0, edge_order=2),
    case("gradient", M[:, :2], axis=1),
    *(case("interp", x, UP, V[:6], **o) for x in (M, np.float32(0.5), UP)
      for o in ({}, {"left": -3.0}, {"right": 7.0})),
    case("interp", N, UP, V[:6]), case("interp", M, UP[:1], V[:1]),
    case("interp", 9 * M, V[:6], UP, period=1.0), case("interp", M, UP, V[:6], period=-0.75),
    case("interp", M, [0.0, 0.5, 0.5, 1.0], [1.0, 2.0, 3.0, 4.0]),
    case("interp", [0, 1, 2], [0, 1], [3, 4]),
    *(case("digitize", M, b, right=r) for b in (UP, UP[::-1].copy(), [0.0], [0, 0, 1], [2, 1, 1])
      for r in (False, True)),
    case("digitize", I, [-3, 0, 5]),
    *(case(n, *p, mode=m) for n in ("convolve", "correlate") for m in ("full", "same", "valid")
      for p in ((V, W), (W, V), (V, V), (V, W[:1]), (V[:1], W), (V, W[:3]), (I[0], I[1][:2]))),
    case("hsplit", M, [1, 3]), case("hsplit", V, 3), case("vsplit", M, 2), case("dsplit", T, [2]),
    case("column_stack", [V[:4], W, M]), case("append", M, W), case("append", M, M, axis=0),
    case("block", [[M, M[:, :1]], [M[:1], M[:1, :1]]]), case("block", [V, W]), case("block", M),
    case("block", [[[V]], [[V]]]),
    *(case("insert", V, o, v) for o, v in ((2, 7.0), ([1, 3], 7.0), ([3, 1], [7.0, 8.0]),
      (slice(0, 4, 2), 5.0), (-1, [1.0, 2.0]), (9, 1.0), ([2, 2], [3.0, 4.0]))),
    case("insert", M, 1, W[:4], axis=1), case("insert", M, 1, V[:5], axis=0),
    case("insert", M, [0, 4], V[:5], axis=0), case("insert", M, 2, 9.0),
    *(case("delete", V, o) for o in (2, [1, 3], slice(None, None, 2), -1, [], V > 0)),
    case("delete", M, [0, -1], axis=1), case("resize", M, (3, 3)), case("resize", V, (5, 7)),
    case("resize", V, 4), case("resize", V[:0], (2, 2)),
    *(case("trim_zeros", np.array([0, 0, 1, 0, 2, 0], "float32"), trim=t)
      for t in ("fb", "f", "b")),
    case("trim_zeros", np.zeros(3, "float32")),
    case("transpose", T), case("transpose", T, (1, 2, 0)), case("rollaxis", T, 2),
    case("rollaxis", T, 0, 3), case("rollaxis", T, 1, -1),
    case("indices", (2, 3)), case("indices", (4,)), case("indices", ()),
    case("fromfunction", lambda i, j: i * 10 + j, (3, 4)),
    case("tril_indices_from", M, k=1), case("triu_indices_from", M),
    case("diag_indices_from", M[:, :4]),
    case("diagflat", M), case("diagflat", W, k=-1),
    *(case("vander", x, **o) for x in (V, I[0])
      for o in ({}, {"N": 3}, {"increasing": True}, {"N": 0})),
    case("polyval", W, M), case("polyval", [1, -2, 3], I), case("polyval", W[:0], M),
    *(case(n, m) for n in ("bartlett", "blackman", "hamming", "hanning")
      for m in (0, 1, 2, 9, 100)),
    case("kaiser", 12, 8.6),
    case("piecewise", V, [V < 0, V >= 1], [-1, lambda x: x * 2, lambda x: x + 10]),
    case("piecewise", V, V < 0, [lambda x: -x, lambda x: x]), case("piecewise", V, [V < 0], [5]),
    case("amax", M, axis=1), case("amin", M, axis=(0, 1)), case("around", M, 2), case("copy", M),
    case("ndim", T), case("shape", T), case("size", T), case("size", T, 1), case("array", M),
    case("array_equiv", M, M[:1]), case("array_equiv", M, W),
    case("array_equiv", np.ones((2, 3)), 1),
    case("histogram_bin_edges", M, 4), case("histogram_bin_edges", I, 3, (0, 2)),
    *(case("fabs", x) for x in (M, I)), *(case("fix", x) for x in (3 * M, np.float32(-0.5))),
    case("float_power", np.abs(M), 2), case("float_power", I, 2), case("modf", 3 * M),
    case("modf", I),
    case("modf", np.array([np.inf, -np.inf, np.nan, -0.0, -2.5], "float32")),
    case("vdot", M, M), case("matvec", T, V[:5]), case("vecmat", W, T), case("vdot", I, I),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(("name", "args", "options", "reference"), CASES)
def test_as_numpy(name: str, args: Any, options: Any, reference: Any) -> None:
    if reference is None:
        pytest.skip("not in this NumPy")
    made = getattr(wt, name)(*map(on_device, args), **{k: on_device(v) for k, v in options.items()})
    expected = reference(*args, **options)
    if not isinstance(expected, (tuple, list, np.ndarray, np.generic)):
        assert made == expected
        return
    pairs = list(zip(flat(made), flat(expected), strict=True))
    for got, want in pairs:
        a, want = np.asarray(got), np.asarray(want)
        assert a.shape == want.shape
        if a.dtype.kind in "iub":
            np.testing.assert_array_equal(a, want.astype(a.dtype))  # wraps
        else:
            scale = np.abs(want[np.isfinite(want)]).max(initial=1.0)
            np.testing.assert_allclose(a, want, rtol=2e-5, atol=2e-6 * scale)


def test_what_is_not_there_is_told() -> None:
    """Every function of NumPy's main namespace is one of ours or named in the docs."""
    text = (Path(__file__).parent.parent / "docs" / "coming_from_numpy.md").read_text("utf-8")
    told = set(re.findall(r"[A-Za-z_0-9]+", text[text.index("## Names") :]))
    missing = {
        name
        for name in dir(np)
        if callable(getattr(np, name)) and not isinstance(getattr(np, name), type)
        if name[0] != "_" and not hasattr(wt, name)
    }
    assert not missing - told


def test_nan_reductions_keep_the_dtype() -> None:
    for name in ("float16", "float32", "bfloat16"):
        t = wt.asarray([[1.0, float("nan")], [2.0, 4.0]], dtype=name)
        for f in (wt.nansum, wt.nanmean, wt.nanvar, wt.nanstd, wt.nanmax, wt.ptp, wt.average):
            assert f(t).dtype == name, f
    big = wt.full(4, 60000.0, dtype="float16")
    assert wt.nanmean(big).item() == 60000


def test_all_nan_has_no_place() -> None:
    with pytest.raises(ValueError, match=r"^\[nanargmax\] there is no number in a row"):
        wt.nanargmax(tensor(N), axis=1).numpy()
    with pytest.raises(ValueError, match=r"^\[nanargmin\] there is no number"):
        wt.nanargmin(tensor(N[0])).numpy()
    x = tensor(np.array([np.nan, -np.inf, -np.inf], np.float32))
    assert wt.nanargmax(x).item() == 1  # the first that is a number
    assert wt.nanargmin(-x).item() == 1


def test_cumulative_out() -> None:
    out = wt.empty((4, 5))
    assert wt.cumsum(tensor(M), 0, out=out) is out
    np.testing.assert_allclose(out.numpy(), np.cumsum(M, 0), rtol=1e-6)
    assert wt.cumsum([1, 2, 3], dtype="float32").dtype == wt.float32


def test_digitize_by_edges_on_the_device() -> None:
    for edges in (UP, UP[::-1].copy(), UP[:1]):
        for right in (False, True):
            got = wt.digitize(tensor(M), tensor(edges), right=right)
            np.testing.assert_array_equal(got.numpy(), np.digitize(M, edges, right))


@pytest.mark.parametrize("wrap", [False, True])
@pytest.mark.parametrize("shape", [(4, 4), (9, 3), (3, 9), (3, 3, 3)])
def test_fill_diagonal(shape: tuple[int, ...], wrap: bool) -> None:
    for value in (7.0, [1.0, 2.0]):
        a, t = np.zeros(shape, "float32"), wt.zeros(shape)
        np.fill_diagonal(a, value, wrap)
        wt.fill_diagonal(t, value, wrap)
        np.testing.assert_array_equal(t.numpy(), a)


def test_writes_by_masks() -> None:
    a, t = M.copy(), tensor(M)
    np.copyto(a, W[:1], where=B)
    wt.copyto(t, W[:1], where=tensor(B))
    np.testing.assert_array_equal(t.numpy(), a)
    np.putmask(a, a > 0, [1.0, 2.0, 3.0])
    wt.putmask(t, t > 0, [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(t.numpy(), a)
    wt.copyto(t, 5)
    assert (t.numpy() == 5).all()


def test_other_names() -> None:
    x = tensor(M)
    assert wt.tensor([1.0, 2.0]).tolist() == [1, 2]
    leaf = wt.tensor(x, requires_grad=True)
    assert leaf is not x
    assert leaf.is_leaf
    assert wt.array(x) is not x
    assert wt.array(x, copy=None) is x
    assert wt.cat([x, x], 1).shape == (4, 10)
    assert [p.shape for p in wt.chunk(x, 3, 1)] == [(4, 2), (4, 2), (4, 1)]
    assert wt.promote_types("int32", wt.float32) == wt.float32


G = {
    "nansum": lambda x: wt.nansum(wt.where(wt.asarray([[True], [False]]), x * x, float("nan"))),
    "nanmean": lambda x: wt.nanmean(x, 1),
    "nanvar": lambda x: wt.nanvar(x, 0),
    "nanstd": lambda x: wt.nanstd(x, 1, correction=1),
    "nanmax": lambda x: wt.nanmax(x, 1),
    "cumsum": lambda x: wt.cumsum(x, 1),
    "cumprod": lambda x: wt.cumprod(x, 1),
    "nancumsum": lambda x: wt.nancumsum(x),
    "diff": lambda x: wt.diff(x, 2),
    "ptp": lambda x: wt.ptp(x, 1),
    "average": lambda x: wt.average(x, 1, x[0] ** 2),
    "cov": lambda x: wt.cov(x),
    "corrcoef": lambda x: wt.corrcoef(x)[0, 1],
    "trapezoid": lambda x: wt.trapezoid(x, wt.cumsum(x**2, 1)),
    "gradient": lambda x: wt.gradient(x, axis=1, edge_order=2),
    "places": lambda x: wt.gradient(x[0], wt.cumsum(x[1] ** 2)),
    "unwrap": lambda x: wt.unwrap(9 * x),
    "interp": lambda x: wt.interp(x[0] / 9, wt.cumsum(x[1] ** 2), x[0]),
    "convolve": lambda x: wt.convolve(x[0], x[1, :3]),
    "correlate": lambda x: wt.correlate(x[0], x[1, :3], "full"),
    "insert": lambda x: wt.insert(x, 1, x[0], axis=0),
    "delete": lambda x: wt.delete(x, 1, axis=1),
    "resize": lambda x: wt.resize(x, 13),
    "vander": lambda x: wt.vander(x[0]),
    "polyval": lambda x: wt.polyval(x[0], x[1]),
    "piecewise": lambda x: wt.piecewise(x, [x < 0], [lambda t: t * t, lambda t: t * 3]),
    "masked_select": lambda x: x.masked_select(x[0] < 0) ** 2,
    "masked_fill": lambda x: x.masked_fill(x < 0, 2.0) * x,
    "clone": lambda x: x.clone() * x,
    "expand": lambda x: x.unsqueeze(0).expand(3, -1, -1) * x,
    "matvec": lambda x: wt.matvec(x, x[0]),
}


@pytest.mark.skipif(not device_has("float64"), reason="no float64")
@pytest.mark.parametrize("name", G)
def test_gradients(name: str) -> None:
    x = wt.asarray(np.random.default_rng(3).standard_normal((2, 5)), requires_grad=True)
    assert wt.autograd.gradcheck(G[name], [x])


def test_interp_has_finite_gradients_at_steps() -> None:
    xp = wt.asarray([0.0, 1.0, 1.0, 2.0], requires_grad=True)
    fp = wt.asarray([0.0, 1.0, 3.0, 4.0], requires_grad=True)
    x = wt.asarray([-1.0, 0.5, 1.0, 1.5, 3.0], requires_grad=True)
    wt.interp(x, xp, fp).sum().backward()
    for t in (x, xp, fp):
        assert t.grad is not None
        assert np.isfinite(t.grad.numpy()).all()


def test_ufuncs_of_several_functions() -> None:
    x = tensor(3 * M)
    rest, whole = np.modf(x)
    assert isinstance(rest, wt.Tensor)
    np.testing.assert_array_equal(whole.numpy(), np.trunc(3 * M))
    assert np.signbit(np.modf(tensor(np.array([-2.0], np.float32)))[0].numpy()).all()
    assert isinstance(np.fabs(x), wt.Tensor)
    assert np.float_power(tensor(I), 2).dtype == wt.float32
    assert x.tobytes() == (3 * M).tobytes()
    x.fill(2)
    assert (x.numpy() == 2).all()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: wt.diff(x, -1), ValueError, "n must not be negative"),
        (lambda x: wt.diff(x.sum()), wt.ShapeError, "0-d"),
        (lambda x: wt.interp(x, x, x), wt.ShapeError, "vectors"),
        (lambda x: wt.interp(x, [], []), ValueError, "one point"),
        (lambda x: wt.digitize(x, [0, 2, 1]), ValueError, "ascend or descend"),
        (lambda x: wt.convolve(x, x), wt.ShapeError, "two vectors"),
        (lambda x: wt.convolve(x[0], x[0], "most"), ValueError, "'most'"),
        (lambda x: wt.average(x, weights=[1, 2]), wt.ShapeError, "weights"),
        (lambda x: wt.gradient(x, 1, 2, 3), TypeError, "3 distances"),
        (lambda x: wt.gradient(x[:1]), wt.ShapeError, "2 elements"),
        (lambda x: wt.vander(x), wt.ShapeError, "vector"),
        (lambda x: wt.cov(x, fweights=[1]), wt.ShapeError, "fweights"),
        (lambda x: wt.cov(x, aweights=x[:1]), wt.ShapeError, "aweights"),
        (lambda x: wt.cov(x, fweights=[1, 1, 1, 1, 0.5]), TypeError, "fweights are integers"),
        (lambda x: wt.cov(x, fweights=[1, 1, 1, 1, -1]), ValueError, "fweights are not neg"),
        (lambda x: wt.cov(x, aweights=[*W.tolist(), -1]), ValueError, "aweights are not neg"),
        (lambda x: wt.cov(x, fweights=abs(x[0])).tolist(), ValueError, "integers and not neg"),
        (lambda x: wt.cov(x, fweights=wt.arange(-1, 4)).tolist(), ValueError, "integers and not"),
        (lambda x: wt.cov(x, aweights=-abs(x[0])).tolist(), ValueError, "aweights are not neg"),
        (lambda x: wt.nanvar(x, ddof=1, correction=1), TypeError, "not both"),
        (lambda x: wt.nanstd(x, ddof="a"), TypeError, "ddof must be a number"),
        (lambda x: wt.nansum(x, where=x), wt.DTypeError, "where is of bools"),
        (lambda x: wt.nanmean(x, where=[True, False]), wt.ShapeError, ""),
        (lambda x: wt.block([x, [x]]), ValueError, "one depth"),
        (lambda x: wt.piecewise(x, [x < 0], []), ValueError, "0 functions for 1"),
        (lambda x: wt.delete(x, 99), IndexError, "99"),
        (lambda x: wt.putmask(x, [True], 1), wt.ShapeError, "mask"),
        (lambda x: wt.hsplit(x.sum(), 2), wt.ShapeError, "dimensions"),
    ],
)
def test_errors_name_the_function(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=rf"^\[\w+\] .*{message}"):
        call(tensor(M))


def test_nan_stays_where_it_is() -> None:
    x = np.array([1.0, np.nan, np.inf, -2.0], np.float32)
    made = wt.piecewise(x, [x < 0], [5.0]).numpy()
    np.testing.assert_array_equal(made, np.piecewise(x, [x < 0], [5.0]))
    assert wt.average(x, returned=True)[1].item() == 4
