"""Promotion, weak scalars, the default float, and what is known of each dtype."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from helpers import ALL_DTYPES, device_has, takes

pytestmark = pytest.mark.short

SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "bfloat16", "float32", "float64")


@pytest.fixture
def _float32_again() -> Iterator[None]:
    yield
    wt.set_default_dtype("float32")


def expected_promotion(a: str, b: str) -> str | None:
    """The standard's table, with floats over integers and what bfloat16 adds; None: there is none.

    NumPy is the reference where it has the dtypes and agrees with the standard.
    """
    if "bool" in (a, b):
        return b if a == "bool" else a
    floats = [d for d in (a, b) if d in FLOATS]
    if len(floats) == 1:
        return floats[0]
    if set(floats) == {"float16", "bfloat16"}:
        return "float32"
    if "bfloat16" in floats:
        return b if a == "bfloat16" else a
    common = np.promote_types(a, b).name
    return None if common == "float64" and not floats else common


@pytest.mark.parametrize("a", ALL_DTYPES)
@pytest.mark.parametrize("b", ALL_DTYPES)
def test_promotion(a: str, b: str) -> None:
    expected = expected_promotion(a, b)
    if expected is None:
        with pytest.raises(wt.DTypeError, match=rf"\[result_type\] {a} and {b}.*astype"):
            wt.result_type(a, b)
        return
    assert wt.result_type(a, b) == expected
    assert wt.can_cast(a, b) == (expected == b)
    if not all(device_has(d) for d in (a, b, expected)):
        return
    x, y = wt.ones(2, dtype=a), wt.ones(2, dtype=b)
    assert wt.maximum(x, y).dtype == wt.concat([x, y]).dtype == expected
    assert wt.where(True, x, y).dtype == expected
    assert (x == y).tolist() == [True, True]
    if expected != "bool":
        assert wt.matmul(x, y).dtype == expected


@pytest.mark.parametrize("values", [("int8", -128, "uint8", 255), ("int32", -1, "uint32", 2**31)])
def test_mixed_signs_keep_every_value(values: tuple[str, int, str, int]) -> None:
    a, x, b, y = values
    if not device_has(wt.result_type(a, b).name):
        pytest.skip("the device has no dtype for both")
    s, u = wt.asarray([x], dtype=a), wt.asarray([y], dtype=b)
    assert (s + u).tolist() == [x + y]
    assert (s < u).tolist() == [True]
    assert wt.concat([s, u]).tolist() == [x, y]


@pytest.mark.parametrize("dtype", [d for d in ALL_DTYPES if d != "bool"])
def test_scalars_only_lift_the_kind(dtype: str) -> None:
    lifted = dtype if dtype in FLOATS else "float32"
    for scalar in (True, 2, np.int64(2), np.uint8(2)):
        assert wt.result_type(dtype, scalar) == dtype
        assert wt.result_type(scalar, dtype, scalar) == dtype
    for scalar in (2.5, np.float64(2.5), np.float16(2.5)):
        assert wt.result_type(dtype, scalar) == lifted
    if not device_has(dtype):
        return
    t = wt.ones(3, dtype=dtype)
    assert (t + 2).dtype == (2 - t).dtype == (t * True).dtype == dtype
    assert (t + 2.5).dtype == (2.5 * t).dtype == lifted
    assert (t + 2.5).tolist() == [3.5] * 3


@pytest.mark.parametrize("dtype", [*SIGNED, *UNSIGNED])
def test_integers_fit_or_raise(dtype: str) -> None:
    limits = np.iinfo(dtype)
    if not device_has(dtype):
        pytest.skip("not on this device")
    t = wt.zeros(2, dtype=dtype)
    for value in (int(limits.min), int(limits.max)):
        assert (t + value).tolist() == [value] * 2
        assert wt.full(2, value, dtype=dtype).tolist() == [value] * 2
        assert wt.asarray([value], dtype=dtype).tolist() == [value]
    for value in (int(limits.min) - 1, int(limits.max) + 1, 2**70, -(2**70)):
        with pytest.raises(OverflowError, match=rf"\[add\].*{dtype}"):
            t + value
        with pytest.raises(OverflowError, match=rf"\[full\].*{dtype}"):
            wt.full(2, value, dtype=dtype)
        with pytest.raises(OverflowError, match=r"\[asarray\]"):
            wt.asarray([value], dtype=dtype)
        with pytest.raises(OverflowError, match=r"\[setitem\]"):
            t[0] = value


def test_in_place_keeps_the_kind() -> None:
    t = wt.asarray([1, 2], dtype="int8")
    t += wt.asarray([1, 1], dtype="int16")
    assert t.dtype == wt.int8
    assert t.tolist() == [2, 3]
    u = wt.asarray([1, 2], dtype="uint8")
    t += u
    assert t.tolist() == [3, 5]
    with pytest.raises(wt.DTypeError, match=r"\[add\].*int16.*uint8"):
        u += t
    with pytest.raises(wt.DTypeError, match=r"\[add\].*float16.*int8"):
        t += wt.ones(2, dtype="float16")


@pytest.mark.parametrize("dtype", FLOATS)
def test_finfo(dtype: str) -> None:
    if dtype == "bfloat16":
        expected: Any = pytest.importorskip("ml_dtypes").finfo("bfloat16")
    else:
        expected = np.finfo(dtype)
    f = wt.finfo(dtype)
    assert f.dtype == dtype
    for name in ("bits", "eps", "max", "min", "smallest_normal", "smallest_subnormal", "tiny"):
        assert getattr(f, name) == getattr(expected, name), name
    for name in ("eps", "max", "min", "smallest_normal"):
        assert type(getattr(f, name)) is float
    if device_has(dtype):
        assert wt.finfo(wt.ones(1, dtype=dtype)) == f


@pytest.mark.parametrize("dtype", [*SIGNED, *UNSIGNED])
def test_iinfo(dtype: str) -> None:
    i, expected = wt.iinfo(dtype), np.iinfo(dtype)
    assert (i.dtype, i.bits, i.max, i.min) == (dtype, expected.bits, expected.max, expected.min)


def test_isdtype() -> None:
    kinds: dict[str, tuple[str, ...]] = {
        "bool": ("bool",),
        "signed integer": SIGNED,
        "unsigned integer": UNSIGNED,
        "integral": SIGNED + UNSIGNED,
        "real floating": FLOATS,
        "complex floating": (),
        "numeric": SIGNED + UNSIGNED + FLOATS,
    }
    for kind, members in kinds.items():
        assert tuple(d for d in ALL_DTYPES if wt.isdtype(d, kind)) == tuple(
            d for d in ALL_DTYPES if d in members
        )
    assert wt.isdtype(wt.int8, (wt.int16, wt.int8))
    assert not wt.isdtype(wt.float16, (wt.bfloat16, "integral"))


@pytest.mark.usefixtures("_float32_again")
@pytest.mark.parametrize("dtype", FLOATS)
def test_the_default_float(dtype: str) -> None:
    assert wt.get_default_dtype() == wt.float32
    wt.set_default_dtype(dtype)
    assert wt.get_default_dtype() == wt.result_type(1.5) == wt.result_type("int32", 1.5) == dtype
    if not device_has(dtype):
        with pytest.raises(wt.DTypeError, match=rf"\[zeros\].*{dtype}"):
            wt.zeros(2)
        return
    i, half = wt.asarray([1, 2]), wt.ones(2, dtype="float16")
    made = {
        "creation": [wt.zeros(2), wt.ones(2), wt.empty(2), wt.full(2, 0.5), wt.eye(2), wt.tri(2)],
        "grids": [wt.arange(2.0), wt.linspace(0, 1, 2), wt.identity(2), wt.geomspace(1, 2, 2)],
        "numbers": [wt.asarray(1.5), wt.asarray([1, 2.5]), wt.asarray(np.float64(2))],
        "scalars": [i + 0.5, 0.5 * i, wt.asarray(True) * 0.5],
        "reductions": [i.mean(), wt.var(i)],
        "asked for": [i.astype(float), wt.asarray([1], dtype=float)],
        "quotients": [i / i, wt.divide(1, 2)],
    }
    if takes("sqrt", dtype):
        made["roots"] = [wt.sqrt(2), wt.std(i), wt.linalg.vector_norm(i)]
    if takes("exp", dtype):
        made["exponentials"] = [i.exp(), wt.logsumexp(i), wt.softmax(i), wt.log_softmax(i)]
    for what, tensors in made.items():
        assert {t.dtype.name for t in tensors} == {dtype}, what
    assert (i / 4).tolist() == [0.25, 0.5]
    assert i.mean().item() == 1.5
    assert (half * 0.5).dtype == half.mean().dtype == wt.float16
    assert wt.asarray(np.ones(2, np.float32)).dtype == wt.float32
    assert wt.asarray([1, 2]).dtype == i.sum().dtype == wt.int32


def test_only_floats_are_a_default() -> None:
    for dtype in ("int32", "bool"):
        with pytest.raises(wt.DTypeError, match=rf"\[set_default_dtype\] {dtype}"):
            wt.set_default_dtype(dtype)
    assert wt.get_default_dtype() == wt.float32


@pytest.mark.parametrize("dtype", ["bool", *SIGNED, *UNSIGNED])
@pytest.mark.parametrize("name", ["sum", "prod", "cumulative_sum"])
def test_sums_of_integers_have_32_bits_or_more(name: str, dtype: str) -> None:
    if not device_has(dtype):
        pytest.skip("not on this device")
    a = np.array([1, 1, 1] if dtype == "bool" else [100, 90, 3], dtype)
    t = wt.asarray(a)
    r = getattr(wt, name)(t)
    wide = dtype if dtype.endswith("64") else "uint32" if dtype in UNSIGNED else "int32"
    assert r.dtype == wide
    reference = {"sum": np.sum, "prod": np.prod, "cumulative_sum": np.cumsum}[name]
    assert r.tolist() == reference(a.astype(wide), dtype=wide).tolist()
    for other in ("int8", "uint16", "float16", "float32"):
        r = getattr(wt, name)(t, dtype=other)
        assert r.dtype == other
        assert r.tolist() == reference(a, dtype=other).tolist()


def test_64_bit_sums_where_asked_for() -> None:
    if not device_has("int64"):
        pytest.skip("not on this device")
    t = wt.full(10, 2**31 - 1)
    assert wt.sum(t, dtype="int64").item() == 10 * (2**31 - 1)
    assert wt.cumulative_sum(t, dtype=wt.int64).tolist()[-1] == 10 * (2**31 - 1)


# ---- functions made of several rows --------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["int8", "int16", "uint8", "uint16", "int64", "uint64"])
def test_round_to_tens(dtype: str, rng: np.random.Generator) -> None:
    if not takes("floor_divide", dtype):
        pytest.skip("not on this device")
    limits = np.iinfo(dtype)
    a = rng.integers(limits.min // 4, limits.max // 4, 50, dtype=dtype)
    for zeros in (1, 2, 3):
        power = 10**zeros
        exact = [int(round(int(v), -zeros)) for v in a]
        expected = [0] * 50 if power > limits.max else exact
        assert wt.round(wt.asarray(a), -zeros).tolist() == expected
        assert wt.round(wt.asarray(a), zeros).tolist() == a.tolist()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_round_floats(dtype: str) -> None:
    if not device_has(dtype):
        pytest.skip("not on this device")
    t = wt.asarray([1.25, -2.75, 12345.0, 0.5, 60000.0], dtype=dtype)
    assert wt.round(t).dtype == dtype
    assert wt.round(t, -5).tolist() == [0, 0, 0, 0, wt.asarray(1e5, dtype=dtype).item()]
    one = wt.round(t, 1)
    expected = wt.asarray([1.2, -2.8], dtype=dtype)
    assert one[:2].tolist() == expected.tolist()


def test_close_in_every_dtype() -> None:
    for dtype in ALL_DTYPES:
        if not device_has(dtype) or dtype == "bool":
            continue
        x = wt.asarray([0, 100, 50], dtype=dtype)
        assert wt.isclose(x, x, rtol=0, atol=0).tolist() == [True] * 3
        assert wt.isclose(x, x + 1, rtol=0.015, atol=0).tolist() == [False, True, False]
        assert wt.isclose(x, x + 1, rtol=0, atol=1).tolist() == [True] * 3
    low, high = (wt.asarray([v], dtype="int8") for v in (-128, 127))
    assert not wt.allclose(low, high, atol=254)
    assert wt.allclose(low, high, rtol=0, atol=255)


def test_nan_to_num_of_16_bits() -> None:
    for dtype in ("float16", "bfloat16"):
        t = wt.asarray([float("nan"), float("inf"), -float("inf"), 1], dtype=dtype)
        m = wt.finfo(dtype).max
        assert wt.nan_to_num(t).tolist() == [0, m, -m, 1]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "float16"])
def test_vecdot_has_the_dtype_of_its_operands(dtype: str) -> None:
    a = np.arange(1, 13).reshape(3, 4).astype(dtype)
    r = wt.vecdot(wt.asarray(a), wt.asarray(a))
    assert r.dtype == dtype
    assert r.tolist() == (a * a).sum(axis=1, dtype=dtype).tolist()
