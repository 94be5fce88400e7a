"""Objects of chance for asarray, from_dlpack and keys: right results or typed errors."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import wgtensor as wt

EXAMPLES = int(os.environ.get("WGTENSOR_INDEX_EXAMPLES", "300"))
TYPED = (wt.WgtensorError, TypeError, ValueError, IndexError, OverflowError, BufferError)
chance = settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
atoms = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.sampled_from([2**31, 2**63, 2**64, -(2**70), 1e300, float("nan"), -0.0, 1j]),
    st.floats(width=16),
    st.text(max_size=2),
    st.binary(max_size=3),
    st.sampled_from([..., slice(None), slice(1, None, -1), slice(0, 9, 2), slice("a"), object()]),
    st.sampled_from([np.float16(2), np.int64(1), np.array(1), np.array([True, False, True])]),
    st.sampled_from([np.zeros((2, 0)), np.array([0, -1]), np.array("a"), np.array([None, 1])]),
    st.just(1).map(lambda _: wt.asarray([0, 1])),
    st.just(1).map(lambda _: wt.ones((2, 3)) > 0),
)
objects = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.text(max_size=1), inner, max_size=1),
    ),
    max_leaves=8,
)


def outcome(call: Any) -> Any:
    try:
        return call()
    except Exception as error:
        if not isinstance(error, TYPED) or "Internal" in str(error):
            raise
        return error


@pytest.mark.filterwarnings("ignore")
@chance
@given(objects)
def test_asarray(obj: Any) -> None:
    r = outcome(lambda: wt.asarray(obj))
    if isinstance(r, Exception):
        return
    try:
        expected = np.asarray(obj)
    except Exception:
        return  # sequences of tensors
    if expected.dtype.kind in "biuf":
        assert r.shape == expected.shape
        np.testing.assert_allclose(
            r.numpy().astype("float64"), expected.astype("float64"), rtol=1e-6
        )


@pytest.mark.filterwarnings("ignore")
@chance
@given(objects)
def test_keys(key: Any) -> None:
    x = np.arange(24.0, dtype="float32").reshape(2, 3, 4)
    t = wt.asarray(x)
    r = outcome(lambda: t[key].numpy())
    outcome(lambda: t.copy().__setitem__(key, 0))
    if isinstance(r, Exception):
        return
    try:
        expected = x[key]
    except Exception:
        return  # keys of tensors
    np.testing.assert_array_equal(r, expected)


@st.composite
def interfaces(draw: st.DrawFn) -> Any:
    """Array interfaces over eight bytes each; NumPy refuses what reaches beyond them."""
    shape = draw(st.lists(st.integers(-1, 4), max_size=3).map(tuple))
    d: dict[str, Any] = {
        "version": draw(st.sampled_from([3, 3, 3, 2, "3"])),
        "typestr": draw(st.sampled_from(["<f4", ">i2", "|u1", "|b1", "<f8", "<c8", "<M8[s]", "x"])),
        "shape": draw(st.sampled_from([shape, list(shape), None])),
        "data": draw(st.sampled_from([bytes(range(8)), bytearray(64), b"", memoryview(b"abcd")])),
    }
    if draw(st.booleans()):
        d["strides"] = draw(st.lists(st.integers(-8, 8), max_size=3).map(tuple))
    if draw(st.booleans()):
        d["offset"] = draw(st.integers(-4, 16))
    return d


@pytest.mark.filterwarnings("ignore")
@chance
@given(interfaces())
def test_array_interfaces(interface: dict[str, Any]) -> None:
    class Foreign:
        __array_interface__ = interface

    r = outcome(lambda: wt.asarray(Foreign()).numpy())
    if not isinstance(r, Exception):
        np.testing.assert_array_equal(r, np.asarray(Foreign()).astype(r.dtype))


@pytest.mark.filterwarnings("ignore")
@chance
@given(
    st.sampled_from(["float32", "int8", "bool", "uint16", "float16", "complex64", "float64"]),
    st.lists(st.integers(0, 4), max_size=4),
    st.lists(st.sampled_from([1, 2, -1, -2, 3]), min_size=4, max_size=4),
    st.booleans(),
)
def test_dlpack_of_any_layout(dtype: str, shape: list[int], steps: list[int], turn: bool) -> None:
    a = np.arange(max(int(np.prod(shape)), 1) * 81).astype(dtype)
    a = np.resize(a, [n * abs(s) for n, s in zip(shape, steps, strict=False)])
    a = a[tuple(slice(None, None, s) for s in steps[: a.ndim])]
    a = np.asarray(a.T if turn else a)

    class Only:
        def __dlpack__(self, **options: Any) -> Any:
            return a.__dlpack__(**options)

        def __dlpack_device__(self) -> Any:
            return a.__dlpack_device__()

    for make in (wt.from_dlpack, wt.asarray):
        r = outcome(lambda make=make: make(Only()).numpy())
        if isinstance(r, Exception):
            assert dtype in {"complex64", "float64"}, r
        else:
            np.testing.assert_array_equal(r, a)


@pytest.mark.parametrize(
    "bad", [None, 1, "dltensor", b"", object(), np.zeros(2)], ids=lambda bad: type(bad).__name__
)
def test_what_is_no_capsule(bad: Any) -> None:
    class Liar:
        def __init__(self, device: Any) -> None:
            self.device = device

        def __dlpack__(self, **_: Any) -> Any:
            return bad

        def __dlpack_device__(self) -> Any:
            return self.device

    for device in ((1, 0), (2, 0), (99, 0), None, "cpu", (1,)):
        for make in (wt.from_dlpack, wt.asarray):
            r = outcome(lambda make=make, device=device: make(Liar(device)))
            assert isinstance(r, Exception)


def test_a_capsule_is_used_once() -> None:
    capsule = np.ones(3, "float32").__dlpack__()

    class Twice:
        def __dlpack__(self, **_: Any) -> Any:
            return capsule

        def __dlpack_device__(self) -> tuple[int, int]:
            return (1, 0)

    assert wt.from_dlpack(Twice()).tolist() == [1, 1, 1]
    assert isinstance(outcome(lambda: wt.from_dlpack(Twice())), Exception)
