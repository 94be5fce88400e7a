"""The package's surface: names, devices, dtypes, methods, and errors that say what was wrong."""

from __future__ import annotations

import inspect
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from children import fresh

# ---- names -------------------------------------------------------------------------------------


def test_everything_public_exists_and_is_documented() -> None:
    for name in wt.__all__:
        value = getattr(wt, name)
        if callable(value):
            assert inspect.getdoc(value), name
            if inspect.isfunction(value):
                inspect.signature(value)


def test_methods_are_documented() -> None:
    for name, member in vars(wt.Tensor).items():
        if not name.startswith("_") and callable(member):
            assert inspect.getdoc(member), name


def test_constants() -> None:
    assert (wt.pi, wt.e, wt.inf) == (np.pi, np.e, np.inf)
    assert wt.nan != wt.nan
    assert wt.newaxis is None
    assert wt.ones(3)[:, wt.newaxis].shape == (3, 1)
    assert wt.ones(1).__array_namespace__() is wt
    with pytest.raises(ValueError, match=r"1999\.12"):
        wt.ones(1).__array_namespace__(api_version="1999.12")


def test_importing_does_no_work() -> None:
    code = """
import sys, threading
import wgtensor
assert threading.active_count() == 1
assert not {"matplotlib", "sklearn", "tqdm", "asyncio"} & set(sys.modules)
print(open("/proc/self/maps").read().count("libvulkan") if sys.platform == "linux" else 0)
"""
    done = fresh(code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "0"


# ---- dtypes ------------------------------------------------------------------------------------


def test_dtypes_compare_with_names_and_numpy() -> None:
    for d, name in ((wt.float32, "float32"), (wt.int32, "int32"), (wt.bool, "bool")):
        assert d == name == str(d)
        assert d == np.dtype(name)
        assert np.dtype(name) == d.numpy
        assert d != "float64"
        assert d != np.float64
        assert (d == None) is False  # noqa: E711
        assert d != 3
        assert len({d, name}) == 2 or hash(d) == hash(name)
        assert repr(d) == f"wgtensor.{name}"
    with pytest.raises(wt.DTypeError, match="None"):
        wt.ones(3).astype(None)
    with pytest.raises(wt.DTypeError, match="'float63'"):
        wt.zeros(3, dtype="float63")


def test_dtype_functions() -> None:
    assert wt.result_type(wt.int32, wt.float32) == wt.float32
    assert wt.result_type(wt.ones(1, dtype="int32"), 2) == wt.int32
    assert wt.result_type(wt.int32, 2.5) == wt.float32
    assert wt.result_type(wt.bool, True) == wt.bool
    assert wt.result_type(wt.bool, 1) == wt.int32
    assert wt.result_type(np.float64(2), wt.int32) == wt.float32
    with pytest.raises(wt.DTypeError, match=r"\[result_type\].*int32.*uint64"):
        wt.result_type(wt.int32, wt.uint64)
    with pytest.raises(TypeError, match=r"\[result_type\]"):
        wt.result_type()
    assert wt.can_cast(wt.int32, wt.float32)
    assert not wt.can_cast(wt.float32, wt.int32)
    assert not wt.can_cast(wt.int32, wt.uint32)
    assert wt.isdtype(wt.float32, "real floating")
    assert wt.isdtype(wt.uint32, ("bool", "integral"))
    assert not wt.isdtype(wt.bool, "numeric")
    with pytest.raises(ValueError, match=r"\[isdtype\].*'number'"):
        wt.isdtype(wt.bool, "number")
    assert wt.finfo(wt.float32).max == np.finfo(np.float32).max
    assert wt.iinfo(wt.ones(1, dtype="uint32")).max == 2**32 - 1
    with pytest.raises(wt.DTypeError, match=r"\[finfo\].*int32"):
        wt.finfo(wt.int32)


def test_results_agree_with_result_type() -> None:
    tensors = [wt.ones(2, dtype=d) for d in (wt.bool, wt.int32, wt.float32)]
    for x in tensors:
        for y in (*tensors, True, 2, 2.5):
            assert (x + y).dtype == wt.result_type(x, y)


# ---- tensors -----------------------------------------------------------------------------------


def test_attributes() -> None:
    t = wt.zeros((2, 3, 4), dtype="int32")
    assert (t.shape, t.ndim, t.size, t.itemsize, t.nbytes) == ((2, 3, 4), 3, 24, 4, 96)
    assert len(t) == 2
    assert t.T.shape == (4, 3, 2)
    assert t.mT.shape == (2, 4, 3)
    assert t.flatten().shape == t.ravel().shape == (24,)
    assert t.transpose(1, 0, 2).shape == t.transpose((1, 0, 2)).shape == (3, 2, 4)
    assert wt.zeros(3, dtype=bool).nbytes == 3


def test_hash_is_identity() -> None:
    x, y = wt.ones(3), wt.ones(3)
    assert hash(x) == hash(x)
    assert {x: 1, y: 2}[y] == 2


def test_iteration_and_membership() -> None:
    t = wt.asarray([[1, 2], [3, 4]])
    assert [row.tolist() for row in t] == [[1, 2], [3, 4]]
    (a, b), _ = t
    assert (a.item(), b.item()) == (1, 2)
    assert 3 in t
    assert 5 not in t
    assert 1 not in wt.zeros(0)
    with pytest.raises(TypeError, match="0-d"):
        iter(wt.asarray(1))


def test_dim_is_axis_where_pytorch_agrees() -> None:
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    t = wt.asarray(a)
    assert t.sum(dim=1).tolist() == a.sum(axis=1).tolist()
    assert t.mean(dim=(0, 1)).item() == a.mean()
    assert t.softmax(dim=0).tolist() == t.softmax(axis=0).tolist()
    for name in ("max", "min"):
        with pytest.raises(TypeError, match=rf"\[{name}\].*axis=.*arg{name}"):
            getattr(t, name)(dim=1)
    with pytest.raises(TypeError, match=r"\[sum\].*not both"):
        t.sum(0, dim=1)


def test_reduction_methods_take_numpys_arguments() -> None:
    t = wt.asarray([[1, 2], [3, 4]])
    assert t.sum(dtype=wt.float32).dtype == wt.float32
    assert t.sum(1, None, None, True).shape == (2, 1)
    out = wt.empty(2, dtype="int32")
    assert t.max(axis=0, out=out) is out
    assert out.tolist() == [3, 4]
    assert wt.sum([[1, 2], [3, 4]], axis=0).tolist() == [4, 6]
    assert wt.mean(np.ones((2, 2), np.float32)).item() == 1


def test_functions_take_what_numpy_takes() -> None:
    ones = np.ones((2, 3), np.float32)
    assert wt.zeros_like(ones).shape == (2, 3)
    assert wt.matmul(ones, ones.T).tolist() == [[3, 3], [3, 3]]
    assert wt.reshape(ones, 6).shape == (6,)
    assert wt.add(1, 2).item() == 3
    assert wt.softmax([0.0, 0.0]).tolist() == [0.5, 0.5]
    assert wt.broadcast_shapes((2, 1), (3,), 1) == (2, 3)
    for shape in (np.array([2, 3]), [2, 3], wt.asarray([2, 3]), (np.int64(2), np.array(3))):
        assert wt.zeros(shape).shape == (2, 3)
        assert wt.reshape(ones, shape).shape == (2, 3)
    assert wt.zeros(np.int64(2)).shape == wt.zeros(np.array(2)).shape == (2,)
    assert wt.asarray(ones)[np.int64(1), np.array(2)].shape == ()


def test_tensors_have_no_constructor() -> None:
    with pytest.raises(TypeError, match="asarray"):
        wt.Tensor([1, 2])


def test_settings() -> None:
    before = wt.config.max_plans
    assert isinstance(before, int)
    try:
        wt.config.max_plans = 7
        assert wt.config.max_plans == 7
    finally:
        wt.config.max_plans = before
    assert wt.config.debug in (True, False)
    assert "WGTENSOR_MAX_FUSION" in repr(wt.config)
    assert "max_fusion" in dir(wt.config)
    with pytest.raises(AttributeError, match="'no_such'"):
        wt.config.no_such = 1
    for name, value in (("max_plans", "many"), ("log", "loud"), ("limits", "tight")):
        before = getattr(wt.config, name)
        with pytest.raises(ValueError, match=f"(?i){name}='{value}'"):
            setattr(wt.config, name, value)
        assert getattr(wt.config, name) == before


def test_settings_take_effect() -> None:
    first = wt.default_device()
    last = wt.devices()[-1]
    chosen = wt.config.device
    try:
        wt.config.device = f"gpu:{last.index}"
        assert wt.default_device() == last
        wt.config.device = "voodoo"
        with pytest.raises(wt.DeviceNotFoundError, match="voodoo"):
            wt.ones(3)
    finally:
        wt.config.device = chosen
    assert wt.default_device() == first
    try:
        wt.config.log = "error"
    finally:
        wt.config.log = "warning"


def test_eval_and_stats() -> None:
    x = wt.ones(3) + 1
    assert x.eval() is x
    wt.eval(x, x * 2)
    wt.synchronize()
    assert wt.stats()["dispatches"] >= 1
    assert wt.stats(0).keys() == wt.stats("gpu:0").keys()
    assert isinstance(wt.explain(x + 1), str)


# ---- errors ------------------------------------------------------------------------------------

X = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: x + wt.ones(4), wt.ShapeError, ["[add]", "(2, 3)", "(4,)"]),
        (lambda x: x @ x, wt.ShapeError, ["[matmul]", "(2, 3)", "3", "2"]),
        (lambda x: wt.matmul(x, 1), wt.ShapeError, ["[matmul]", "(2, 3)", "()"]),
        (lambda x: x.reshape(4), wt.ShapeError, ["[reshape]", "(2, 3)", "(4,)"]),
        (lambda x: wt.broadcast_to(x, 5), wt.ShapeError, ["[broadcast_to]", "(2, 3)", "(5,)"]),
        (
            lambda x: wt.broadcast_shapes(2, 3),
            wt.ShapeError,
            ["[broadcast_shapes]", "(2,)", "(3,)"],
        ),
        (lambda x: x.__setitem__(0, wt.ones(2)), wt.ShapeError, ["[setitem]", "(2,)", "(3,)"]),
        (lambda x: x.__iadd__(wt.ones((4, 2, 3))), wt.ShapeError, ["[add]", "(4, 2, 3)"]),
        (lambda x: x & 1, wt.DTypeError, ["[bitwise_and]", "float32"]),
        (lambda x: -(x > 1), wt.DTypeError, ["[negative]", "bool"]),
        (lambda x: (x > 1) @ (x > 1).T, wt.DTypeError, ["[matmul]", "bool"]),
        (
            lambda x: x.astype("int32").__imul__(1.5),
            wt.DTypeError,
            ["[multiply]", "float32", "int32"],
        ),
        (lambda x: x.sum(axis=2), IndexError, ["[sum]", "2", "2 dimensions"]),
        (lambda x: x.max(axis=(0, 0)), ValueError, ["[max]", "0", "repeated"]),
        (lambda x: x.mean(axis="a"), TypeError, ["[mean]", "'a'"]),
        (lambda x: x.softmax(axis=-3), IndexError, ["[softmax]", "-3"]),
        (lambda x: x[:0].max(), ValueError, ["[max]", "(0, 3)"]),
        (lambda x: x.squeeze(0), ValueError, ["[squeeze]", "0", "(2, 3)"]),
        (lambda x: x.expand_dims(5), IndexError, ["[expand_dims]", "5"]),
        (lambda x: x.permute(0), ValueError, ["[permute]", "1 axes", "2"]),
        (lambda x: x[0].mT, ValueError, ["[mT]", "(3,)"]),
        (lambda x: x[2], IndexError, ["[getitem]", "2", "axis 0"]),
        (lambda x: x[0, 0, 0], IndexError, ["[getitem]", "3 indices", "(2, 3)"]),
        (lambda x: x[1.5], IndexError, ["[getitem]", "float"]),
        (lambda x: x[[0, 99]], IndexError, ["[getitem]", "99", "axis 0"]),
        (lambda x: x[np.array([0.5])], IndexError, ["[getitem]", "float64"]),
        (lambda x: x[x], IndexError, ["[getitem]", "float32"]),
        (lambda x: x.__setitem__(5, 1), IndexError, ["[setitem]", "5"]),
        (lambda x: x.__setitem__(0, "a"), TypeError, ["[setitem]", "str"]),
        (lambda x: wt.zeros((2, -1)), ValueError, ["[zeros]", "(2, -1)"]),
        (lambda x: wt.ones("ab"), TypeError, ["[ones]", "'ab'"]),
        (lambda x: wt.empty((1.5,)), TypeError, ["[empty]", "1.5"]),
        (lambda x: wt.full(3, "a"), wt.DTypeError, ["[full]", "'a'"]),
        (lambda x: wt.full(3, -1, dtype="uint32"), OverflowError, ["[full]", "-1", "uint32"]),
        (lambda x: wt.zeros(2**40), wt.UnsupportedError, ["[zeros]", str(2**40), "2^32"]),
        (lambda x: wt.ones((2**40, 2**40)), wt.UnsupportedError, ["[ones]", str(2**40)]),
        (
            lambda x: wt.arange(2**20) * wt.ones((2**20, 1)),
            wt.UnsupportedError,
            ["[multiply]", "(1048576, 1048576)"],
        ),
        (lambda x: wt.zeros((1,) * 13), wt.ShapeError, ["[zeros]", "12"]),
        (lambda x: x.reshape((1,) * 11 + (2, 3)), wt.ShapeError, ["[reshape]", "12"]),
        (lambda x: x[(None,) * 11], wt.ShapeError, ["[getitem]", "13", "12"]),
        (lambda x: x.expand_dims(tuple(range(11))), wt.ShapeError, ["[expand_dims]", "13"]),
        (lambda x: wt.arange(0, 5, 0), ValueError, ["[arange]", "step"]),
        (lambda x: wt.arange(float("inf")), ValueError, ["[arange]", "inf"]),
        (lambda x: wt.arange(2**31 + 5), OverflowError, ["[arange]", str(2**31 + 4), "int32"]),
        (lambda x: wt.arange("a"), TypeError, ["[arange]", "'a'"]),
        (lambda x: wt.arange(0, -3, dtype="uint32", step=-1), OverflowError, ["-2", "uint32"]),
        (lambda x: wt.eye(2.5), TypeError, ["[eye]", "2.5"]),
        (lambda x: wt.eye(-1), ValueError, ["[eye]", "-1"]),
        (lambda x: bool(x), ValueError, ["[bool]", "(2, 3)"]),
        (lambda x: x.item(), ValueError, ["[item]", "(2, 3)"]),
        (lambda x: [1][x[0, 0]], TypeError, ["[index]", "float32"]),
        (lambda x: len(x.sum()), TypeError, ["[len]", "0-d"]),
        (lambda x: wt.eval([x]), TypeError, ["[eval]", "list"]),
        (lambda x: wt.explain(3), TypeError, ["[explain]", "int"]),
        (lambda x: wt.exp(x, out=3), TypeError, ["[exp]", "int"]),
        (lambda x: x.add(), TypeError, ["[add]", "2", "1"]),
        (lambda x: wt.exp(object()), TypeError, ["[exp]", "object"]),
        (lambda x: wt.sum(None), wt.DTypeError, ["[sum]", "NoneType"]),
        (lambda x: x + None, TypeError, ["+", "Tensor", "NoneType"]),
        (lambda x: x < "a", TypeError, ["<", "str"]),
        (lambda x: x + np.ones(3, "c8"), wt.DTypeError, ["[add]", "complex64"]),
    ],
)
def test_errors_name_operation_and_values(
    call: Any, error: type[Exception], words: list[str]
) -> None:
    x = wt.asarray(X)
    with pytest.raises(error) as caught:
        call(x)
    for word in words:
        assert word in str(caught.value)
    assert (x + 1).tolist() == [[2, 3, 4], [5, 6, 7]]  # and the next operation works


def test_errors_derive_from_built_ins() -> None:
    pairs = {
        wt.ShapeError: ValueError,
        wt.DTypeError: TypeError,
        wt.DeviceNotFoundError: RuntimeError,
        wt.DeviceMismatchError: ValueError,
        wt.OutOfMemoryError: MemoryError,
        wt.DeviceLostError: RuntimeError,
        wt.ShaderError: ValueError,
        wt.InvalidWorkgroupSizeError: ValueError,
        wt.UnsupportedError: NotImplementedError,
    }
    for ours, built_in in pairs.items():
        assert issubclass(ours, wt.WgtensorError)
        assert issubclass(ours, built_in)
        assert ours.__module__ == "wgtensor"
    assert wt.OutOfMemoryError("x").available is None
    assert wt.ShaderError("x").line == 0


def test_equality_with_foreign_objects_is_pythons() -> None:
    x = wt.ones(3)
    assert (x == None) is False  # noqa: E711
    assert (x != "a") is True


def test_debug_mode_names_the_users_line() -> None:
    size = wt.default_device().limits["max_buffer"] // 4 + 1
    if size >= 2**32:
        pytest.skip("no tensor is too large for this adapter")
    code = f"""
import wgtensor as wt
x = wt.ones({size})
y = wt.exp(x)  # line 4
z = y * 2
for t in (z, y):
    try:
        t.eval()
    except wt.WgtensorError as error:
        print(error)
"""
    done = fresh(code, WGTENSOR_DEBUG="1")
    first, second = done.stdout.splitlines()
    assert "[made at <string>:5]" in first
    assert "[made at <string>:4]" in second


def test_what_is_imported_late() -> None:
    code = """
import sys
import wgtensor as wt
assert not {"wgtensor.nn", "wgtensor.optim"} & sys.modules.keys()
assert {"nn", "optim"} <= set(dir(wt))
assert wt.nn.Linear(2, 3)(wt.ones((1, 2))).shape == (1, 3)
from wgtensor import optim
assert wt.optim is optim
try:
    wt.nothing
except AttributeError as error:
    assert "nothing" in str(error)
"""
    subprocess.run([sys.executable, "-c", code], check=True)
