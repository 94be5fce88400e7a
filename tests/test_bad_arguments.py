"""Arguments of wrong kinds, in every public function: typed errors that name the function."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from helpers import tensor

# NumPy's, for odd dtypes
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

X = wt.ones((2, 3))
# What stands for a parameter while another one is bad; X for the others.
GOOD: dict[str, Any] = {
    "axis": 0,
    "k": 1,
    "n": 3,
    "n_rows": 3,
    "start": 0,
    "stop": 5,
    "q": 0.5,
    "shift": 1,
    "indices": [0, 1],
    "index": wt.asarray([[0, 1, 0]]),
    "ids": [0, 1],
    "num_segments": 2,
    "shape": (2, 3),
    "repeats": 2,
    "fill_value": 1.0,
    "subscripts": "ij->i",
    "num_classes": 3,
    "arrays": [X, X],
    "tensors": [X, X],
    "source": 0,
    "destination": 1,
    "kth": 1,
    "dtype": int,
    "weight": wt.ones((4, 3)),
    "normalized_shape": 3,
    "kernel_size": 1,
    "bins": 3,
    "axes": 0,
}
BAD = [
    *(None, "a", 1.5, -7, object(), [1, "a"], {}, b"x", wt.ones((5, 7)), np.array(["a"])),
    *((1.5, 2), [[1], [2, 3]], 2**70, True, float("nan"), slice(1)),
]
# Those that wait, change the process, or do as many things as they are told to.
LEFT_OUT = {
    "array_split",
    "split",
    "set_default_device",
    "synchronize",
    "set_default_dtype",
    "set_memory_limit",
}
NOT_METHODS = {"destroy", "recover", "create_async"}
# The parts of an argument that have names of their own in errors.
PARTS = {"index", "device", "bool", "requires_grad"}
# Functions that call their argument, whose errors are its own.
CALLERS = {"checkpoint", "jvp", "vjp", "grad", "jit", "value_and_grad"}


def public() -> Iterator[tuple[str, Callable[..., Any]]]:
    for module in (wt, wt.linalg, wt.random, wt.nn.functional, wt.nn.init, wt.nn.utils):
        for name in getattr(module, "__all__", dir(module)):
            f = getattr(module, name)
            if inspect.isroutine(f) and name[0] != "_" and name not in LEFT_OUT | CALLERS:
                yield f"{module.__name__}.{name}", f


FUNCTIONS = dict(public())


def said(call: Callable[[], Any]) -> Exception | None:
    """The error of a call: a typed one without pybind11's words, or else AssertionError."""
    try:
        call()
    except Exception as error:
        kinds = (wt.WgtensorError, TypeError, ValueError, IndexError, OverflowError, BufferError)
        ours = isinstance(error, (*kinds, RuntimeError))
        strange = re.search("incompatible function|_core|Internal error", str(error))
        return error if ours and not strange else AssertionError(repr(error))
    return None


def calls(f: Callable[..., Any]) -> Iterator[Callable[[], Any]]:
    """A call for each parameter and each bad argument for it."""
    parameters = list(inspect.signature(f).parameters.values())
    named = [p for p in parameters if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
    base = {p.name: GOOD.get(p.name, X) for p in named if p.default is p.empty}
    for p in parameters:
        for bad in BAD:
            if p.kind == p.VAR_POSITIONAL:
                yield lambda bad=bad: f(bad, bad)
            elif p.kind != p.VAR_KEYWORD:
                given = {**base, p.name: bad}
                only = [q.name for q in named if q.kind == q.POSITIONAL_ONLY and q.name in given]
                first = [given.pop(n) for n in only]
                yield lambda first=first, given=given: f(*first, **given)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str) -> None:
    f = FUNCTIONS[name]
    for error in filter(None, map(said, calls(f))):
        found = re.match(r"\[([\w.]+)\] ", str(error))
        if found:  # an alias has the name of the function that it is
            assert found[1] in {f.__name__, name.rpartition(".")[2], *PARTS}, repr(error)
        else:  # Python's and NumPy's own words on the call itself, and on devices
            assert isinstance(error, (TypeError, wt.DeviceNotFoundError, BufferError)), error


@pytest.mark.parametrize("make", [wt.ones((2, 3)).copy, wt.default_device, wt.random.Generator])
def test_methods(make: Callable[[], Any]) -> None:
    for name in dir(make()):
        if name[0] == "_" or name in NOT_METHODS or not callable(getattr(make(), name)):
            continue
        for bad in BAD:
            for arguments in ((bad,), (bad, bad), (0, bad), (0, 1, bad)):
                error = said(lambda name=name, a=arguments: getattr(make(), name)(*a))
                assert not isinstance(error, AssertionError), (name, error)
                found = re.match(r"\[([\w.]+)\] ", str(error))
                assert not found or found[1] in {name, *PARTS}, (name, error)


@pytest.mark.parametrize("bad", BAD, ids=lambda b: type(b).__name__)
def test_items_and_attributes(bad: Any) -> None:
    for use in (
        lambda t: t[bad],
        lambda t: t[0, bad],
        lambda t: t.__setitem__(bad, 0),
        lambda t: t.__setitem__(0, bad),
        lambda t: setattr(t, "requires_grad", bad),
        lambda t: setattr(t, "grad", bad),
        lambda t: t + bad,
        lambda t: bad @ t,
    ):
        error = said(lambda use=use: use(wt.ones((2, 3))))
        assert not isinstance(error, AssertionError), error


def test_a_wrong_number_of_arguments_prints_no_tensor() -> None:
    t = wt.full(3, 4321.0)
    for call in (lambda: t.sqrt(1), lambda: t.squeeze(1, 2), lambda: wt.default_device().stats(t)):
        with pytest.raises(TypeError, match=r"^\[\w+\] takes \(self: .*, not \((Tensor|Device), "):
            call()


def test_the_function_that_was_called_is_named() -> None:
    f = wt.nn.functional
    three, far = wt.ones((3, 4)), tensor(np.array([0, 2, 7]))
    later: dict[str, Callable[[], Any]] = {
        "embedding": lambda: f.embedding(far, three),
        "cross_entropy": lambda: f.cross_entropy(three, far),
        "nll_loss": lambda: f.nll_loss(three, far),
        "segment_mean": lambda: wt.segment_mean(three, far, 3),
        "choose": lambda: wt.choose(far, [three[:, 0], three[:, 1]]),
    }
    for name, make in later.items():
        with pytest.raises(IndexError, match=rf"^\[{name}\] "):
            make().numpy()
    at_once: dict[str, Callable[[], Any]] = {
        "bincount": lambda: wt.bincount([0, 1], weights=[1.0]),
        "cross_entropy": lambda: f.cross_entropy(three, far, weight=wt.ones(9)),
        "lexsort": lambda: wt.lexsort([three], axis=5),
        "pairwise_distance": lambda: f.pairwise_distance(three, wt.ones((2, 9))),
        "randn": lambda: wt.random.randn(-1),
    }
    for name, make in at_once.items():
        with pytest.raises((ValueError, IndexError), match=rf"^\[{name}\] "):
            make().numpy()
    with pytest.raises(IndexError, match=r"^\[take\] "):  # and it ends with the function
        wt.take(three, far, axis=1).numpy()


def test_axis_none_sorts_the_flattened_tensor(rng: np.random.Generator) -> None:
    x = rng.random((3, 4)).astype("float32")
    np.testing.assert_array_equal(wt.sort(tensor(x), axis=None).numpy(), np.sort(x, axis=None))
    np.testing.assert_array_equal(
        wt.argsort(tensor(x), axis=None).numpy(), np.argsort(x, axis=None)
    )
