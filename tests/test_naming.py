"""Errors name the function that was called: every public one, also where a kernel finds out."""

from __future__ import annotations

import inspect
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import wgtensor as wt
import wgtensor.nn.functional as F
from helpers import tensor
from wgtensor import _generated

MODULES = (
    *(wt, wt.nn, wt.nn.functional, wt.nn.init, wt.nn.utils, wt.optim, wt.optim.lr_scheduler),
    *(wt.random, wt.linalg, wt.autograd),
)
#: what names itself: functions that hand their own name to the core, or check by themselves
OWN = {
    "creation": """asarray from_dlpack arange empty empty_like eye full full_like ones ones_like
        zeros zeros_like""",
    "views": """astype bitcast broadcast_shapes broadcast_to expand_dims
        reshape squeeze""",
    "one kernel": """all any argmax argmin argsort count_nonzero cumulative_max cumulative_min
        cumulative_prod cumulative_sum log_softmax logsumexp matmul max mean min prod softmax sort
        std sum take take_along_axis var""",
    "dtypes": "can_cast finfo get_default_dtype iinfo isdtype result_type set_default_dtype",
    "devices": """default_device devices get_device is_available set_default_device stats
        synchronize empty_cache memory_snapshot memory_stats reset_peak_memory set_memory_limit""",
    "execution": "eval explain jit persist is_grad_enabled autotune_info",
    "they call functions of the user's, whose errors are their own": """backward checkpoint grad
        gradcheck gradgradcheck jvp value_and_grad vjp""",
}
OWN_NAMES = {name for names in OWN.values() for name in names.split()}


def functions() -> Iterator[tuple[str, Any]]:
    for module in MODULES:
        for name in getattr(module, "__all__", dir(module)):
            value = getattr(module, name)
            if isinstance(value, types.FunctionType) and name[0] != "_":
                yield f"{module.__name__}.{name}", value


def test_every_public_function_is_named() -> None:
    unnamed = []
    used = set()
    for path, function in functions():
        name = function.__name__
        if getattr(_generated, name, None) is function:
            continue  # a row of the table, whose name the core knows
        if hasattr(function, "__wrapped__"):
            assert name == path.rpartition(".")[2] or name in path, (path, name)
        elif name in OWN_NAMES:
            used.add(name)
        else:
            unnamed.append(path)
    assert not unnamed, f"put @public on {unnamed}, or say here why not"
    assert used == OWN_NAMES


@pytest.mark.parametrize("module", [*MODULES, wt.optim.swa_utils], ids=lambda m: m.__name__)
def test_a_module_lists_what_it_is_for(module: types.ModuleType) -> None:
    listed = {name for name in dir(module) if not name.startswith("__")}
    assert listed == set(module.__all__) - {"__array_namespace_info__"}
    assert all(hasattr(module, name) for name in listed)
    if module is wt:  # completion may read names otherwise than by dir()
        there = {name for name in vars(module) if name[0] != "_"}
        assert there - listed <= {"annotations", "cli", "demo"}


def test_callables_are_functions_classes_or_the_core() -> None:
    kinds = (types.FunctionType, types.BuiltinFunctionType, type, types.ModuleType)
    for module in MODULES:
        for name in module.__all__ if hasattr(module, "__all__") else ():
            value = getattr(module, name)
            if callable(value) and not isinstance(value, kinds):
                assert isinstance(value, wt.DType), (module.__name__, name)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: x[::0], ValueError, r"^\[getitem\] the step of slice.* must not be 0$"),
        (
            lambda x: x["a":],
            TypeError,
            r"^\[getitem\] a slice has integers and None, not slice\('a",
        ),
        (lambda x: x[0.0:2], TypeError, r"^\[getitem\] a slice has integers"),
        (lambda x: x[2**100], IndexError, r"^\[getitem\] \d+ is out of bounds$"),
        (lambda x: x.__setitem__(slice(None, None, 0), 1), ValueError, r"^\[setitem\] the step of"),
        (lambda x: x.__setitem__(2**100, 1), IndexError, r"^\[setitem\] \d+ is out of bounds$"),
        (
            lambda x: wt.Event().wait("x"),
            TypeError,
            r"^\[wait\] timeout must be a number, not 'x'$",
        ),
        (
            lambda x: wt.set_memory_limit(1e6),
            TypeError,
            r"^\[set_memory_limit\] .*integer, not 1000",
        ),
        (lambda x: wt.quantile(x, "a"), TypeError, r"^\[quantile\] q is a number or a .* 'a'$"),
        (lambda x: wt.cov(x, ddof="a"), ValueError, r"^\[cov\] ddof must be an integer, not 'a'$"),
        (
            lambda x: wt.nn.utils.clip_grad_norm_("a", 1.0),
            TypeError,
            r"^\[clip_grad_norm_\] takes tensors, not str$",
        ),
        (lambda x: wt.grad(wt.sum)(wt.arange(3)), wt.DTypeError, r"^\[grad\] only floating-point"),
        (lambda x: wt.autograd.grad(x, x), RuntimeError, r"^\[grad\] "),
        (
            lambda x: wt.save("/no such folder/x.npy", x),
            FileNotFoundError,
            r"No such file or directory: '/no such folder/x.npy'$",
        ),
        (lambda x: wt.set_memory_limit(True), TypeError, r"^\[set_memory_limit\] .* not True$"),
        (
            lambda x: wt.set_memory_limit(2**70),
            OverflowError,
            r"^\[set_memory_limit\] .*out of bou",
        ),
    ],
)
def test_messages(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call(wt.ones(3))


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("cumsum", lambda x: x.cumsum(axis=9)),
        ("cumprod", lambda x: x.cumprod(axis=9)),
        ("index_select", lambda x: x.index_select(0, [99])),
        ("gather", lambda x: x.gather(0, [[99, 0, 0]])),
        ("unbind", lambda x: x.unbind(9)),
        ("chunk", lambda x: x.chunk(0)),
        ("unsqueeze", lambda x: x.unsqueeze(9)),
        ("view", lambda x: x.view(7)),
        ("view", lambda x: x.view("int8", "int8")),
        ("expand", lambda x: x.expand(7, 3)),
        ("masked_fill_", lambda x: x.masked_fill_([[1.0]], 0)),
        ("copy_", lambda x: x.copy_(wt.ones(7))),
        ("fill", lambda x: x.fill([1, 2])),
        ("transpose", lambda x: x.transpose(0, 2)),
        ("permute", lambda x: x.permute(0, 0)),
        ("flatten", lambda x: x.flatten(2)),
        ("flatten", lambda x: x.flatten(1, 0)),
        ("repeat", lambda x: x.repeat(2, 1, 1)),
        ("astype", lambda x: x.astype("zz")),
        ("sum", lambda x: x.sum(dtype="zz")),
        ("std", lambda x: x.std(dtype="zz")),
        ("item", lambda x: x.item(9, 9)),
        ("to", lambda x: x.to(1.5)),
        ("requires_grad_", lambda x: x.requires_grad_("x")),
        ("requires_grad", lambda x: setattr(x, "requires_grad", "x")),
        ("requires_grad", lambda x: wt.ones(3, requires_grad="x")),  # type: ignore[arg-type]
        ("backward", lambda x: x.backward(object())),
        ("backward", lambda x: x.backward("a")),
        ("to", lambda x: wt.nn.Linear(2, 2).to("zz")),
        ("Flatten", lambda x: wt.nn.Flatten(5)(x)),
        ("Unflatten", lambda x: wt.nn.Unflatten(5, (1, 3))(x)),
    ],
)
def test_methods_are_named(name: str, call: Any) -> None:
    kinds = (IndexError, ValueError, TypeError, wt.DeviceNotFoundError)
    with pytest.raises(kinds, match=rf"^\[{name}\] "):
        call(wt.ones((2, 3)))


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("GRU", lambda: wt.nn.GRU("a", 2)),
        ("LSTM", lambda: wt.nn.LSTM(3, None)),
        ("Linear", lambda: wt.nn.Linear(2.5, 2)),
        ("Conv2d", lambda: wt.nn.Conv2d(2, "a", 3)),
        ("Embedding", lambda: wt.nn.Embedding(3, (1.5,))),
        ("TransformerEncoderLayer", lambda: wt.nn.TransformerEncoderLayer("a", 2)),
        ("SGD", lambda: wt.optim.SGD(3, lr=0.1)),
        ("Adam", lambda: wt.optim.Adam([wt.nn.Parameter(wt.ones(1))], lr="a")),
        ("StepLR", lambda: wt.optim.lr_scheduler.StepLR(3, 2)),
    ],
)
def test_constructors_are_named(name: str, call: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=rf"^\[{name}\] "):
        call()


def test_constructors_of_users_keep_their_errors() -> None:
    class Mine(wt.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            raise TypeError("of mine")

    class Other(wt.nn.Linear):
        pass

    with pytest.raises(TypeError, match=r"^of mine$"):
        Mine()
    with pytest.raises(TypeError, match=r"^\[Linear\] "):
        Other(None, 3)  # type: ignore[arg-type]
    assert list(inspect.signature(wt.nn.GRU).parameters)[:2] == ["input_size", "hidden_size"]


def test_a_strange_bound_keeps_its_error() -> None:
    class Strange:
        def __index__(self) -> int:
            raise RuntimeError("of mine")

    with pytest.raises(RuntimeError, match=r"^of mine$"):
        wt.ones(3)[Strange() :]


BAD = np.array([1, 9], np.int32)


@pytest.mark.parametrize(
    ("name", "loss"),
    [
        ("getitem", lambda w, i: w[i].sum()),
        ("take", lambda w, i: wt.take(w, i, axis=0).sum()),
        ("take_along_axis", lambda w, i: wt.take_along_axis(w, i.reshape(2, 1), 0).sum()),
        ("embedding", lambda w, i: F.embedding(i, w).sum()),
        ("segment_sum", lambda w, i: (wt.segment_sum(w[:2], i, 4) ** 2).sum()),
        ("segment_max", lambda w, i: (wt.segment_max(w[:2], i, 4) ** 2).sum()),
        ("setitem", lambda w, i: _assigned(w, i)),
    ],
)
@pytest.mark.parametrize("recorded", [False, True])
def test_gradients_of_indices_name_the_function(name: str, loss: Any, recorded: bool) -> None:
    def step(w: wt.Tensor, i: wt.Tensor) -> wt.Tensor:
        w.requires_grad = True
        (g,) = wt.autograd.grad(loss(w, i), [w])
        return g

    run = wt.jit(step) if recorded else step
    with pytest.raises(IndexError, match=rf"^\[{name}\] index 9 is out of bounds[^;]*$"):
        run(tensor(np.ones((4, 3), np.float32)), tensor(BAD)).numpy()


def _assigned(w: wt.Tensor, i: wt.Tensor) -> wt.Tensor:
    t = wt.zeros((4, 3))
    t[i] = w[:2] * 2
    return (t * t).sum()


def test_one_read_tells_all_that_is_out_of_range() -> None:
    x = wt.ones((4, 3))
    a, b = x[tensor(BAD)], wt.take(x, tensor(np.array([-7], np.int32)), axis=1)
    wt.eval(a, b)
    message = (
        r"^\[getitem\] index 9 is out of bounds for axis 0 with size 4; and \[take\] index -7 "
    )
    with pytest.raises(IndexError, match=message):
        wt.synchronize()
    many = [x.reshape(1, -1)[:, : n + 3][:, tensor(BAD + 50)] for n in range(7)]
    wt.eval(*many)
    with pytest.raises(IndexError, match=r"with size 6; and 3 more$"):
        wt.synchronize()
    wt.synchronize()


@pytest.mark.parametrize(
    "read",
    [
        wt.nonzero,
        wt.unique,
        wt.histogram,
        lambda x: wt.repeat([1, 2], x[0, :2]),
        lambda x: wt.bincount(x[0].int()),
        lambda x: x.item(0, 0),
        lambda x: x.to(np.float16).tolist(),
        lambda x: wt.save("x.npy", x),
    ],
)
def test_what_reads_is_not_named(read: Any) -> None:
    x = wt.ones((4, 3))[tensor(BAD)]
    with pytest.raises(IndexError, match=r"^\[getitem\] index 9 is out of bounds"):
        read(x)


def test_what_counts_from_no_end_tells_negative_indices() -> None:
    for dtype in ("int8", "int32", "uint8"):
        i = wt.asarray(np.array([1, 0, 1], dtype))
        assert wt.bincount(i, length=3).tolist() == [1, 2, 0]
        assert F.one_hot(i, 2).tolist() == [[0, 1], [1, 0], [0, 1]]
    for dtype in ("int8", "int32"):
        i = wt.asarray(np.array([1, -2, 1], dtype))
        with pytest.raises(IndexError, match=r"^\[bincount\] index -2 is .* with size 3$"):
            wt.bincount(i, length=3).numpy()
        with pytest.raises(IndexError, match=r"^\[one_hot\] index -2 is .* with size 2$"):
            F.one_hot(i, 2).numpy()
        with pytest.raises(IndexError, match=r"^\[cross_entropy\] index -2 is .* with size 4$"):
            F.cross_entropy(wt.ones((3, 4)), i).item()


def test_one_hot_of_no_class() -> None:
    for bad in ([0, 3], [-1], np.array([7], np.uint8)):
        with pytest.raises(IndexError, match=r"^\[one_hot\] index .* with size 3$"):
            F.one_hot(bad, 3)
    with pytest.raises(IndexError, match=r"^\[one_hot\] there are no classes for 1 integers"):
        F.one_hot([0], 0)
    assert F.one_hot(np.zeros((2, 0), np.int32), 3).shape == (2, 0, 3)


def test_cross_entropy_reads_a_list_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from wgtensor import _arrays

    reads = []
    read = _arrays.read_host
    monkeypatch.setattr(_arrays, "read_host", lambda op, obj: reads.append(op) or read(op, obj))
    x = wt.ones((2, 2))
    row = [[0.5, 0.5], [0.25, 0.75]]
    assert F.cross_entropy(x, row).item() == pytest.approx(np.log(2))
    assert F.cross_entropy(x, [1, 0]).item() == pytest.approx(np.log(2))
    assert reads == ["cross_entropy"] * 2
    assert F.cross_entropy(x, [wt.asarray(r) for r in row]).item() == pytest.approx(np.log(2))
    with pytest.raises(wt.ShapeError, match=r"^\[cross_entropy\]"):
        F.cross_entropy(x, [[0.5], [0.5, 0.5]])


def test_waiting_with_a_limit() -> None:
    import asyncio

    async def wait() -> bool:
        event = wt.Event().record()
        passed: bool = await event.wait_async(60)
        return passed and await event.wait_async() and event.query()

    assert asyncio.run(wait())
    assert list(inspect.signature(wt.Event.wait_async).parameters) == ["self", "timeout"]
