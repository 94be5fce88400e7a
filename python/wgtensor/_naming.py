"""Errors name the function that was called, not one of those that it is made of."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from wgtensor._core import Tensor, _called, _returned

P = ParamSpec("P")
R = TypeVar("R")

_NAMED = re.compile(r"\[[^\]]*\] ")


def public(function: Callable[P, R]) -> Callable[P, R]:
    """A function that is made of others and whose name errors give instead of theirs: those that it
    raises, and those that its kernels find later. The outermost function is named.
    """
    return _called_as(function.__name__, function)


def as_method(name: str, function: Callable[P, R]) -> Callable[P, R]:
    """A function as the tensor's method of a name, which errors give."""
    function.__name__ = name
    function.__qualname__ = f"Tensor.{name}"
    return public(function)


class Named:
    """A base of the library's classes: errors of constructors give the name of the class."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.__module__.startswith("wgtensor."):
            setattr(cls, "__init__", _called_as(cls.__name__, cls.__init__))  # noqa: B010


def _called_as(name: str, function: Callable[P, R]) -> Callable[P, R]:
    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        outermost = _called(name)
        try:
            return function(*args, **kwargs)
        except AttributeError as error:
            if outermost:
                _check_tensors(error, name)
            raise
        except Exception as error:
            if outermost:
                _rename(error, name)
            raise
        finally:
            if outermost:
                _returned()

    return call


def _check_tensors(error: AttributeError, name: str) -> None:
    """Raises TypeError where an argument lacks what tensors have."""
    kind = type(error.obj)
    if hasattr(Tensor, error.name or "") and not kind.__module__.startswith("wgtensor"):
        raise TypeError(f"[{name}] takes tensors here, not {kind.__name__}") from None


def _rename(error: Exception, name: str) -> None:
    """Puts the name in front of a message, in place of another function's; of what a kernel has
    found the function is named that the kernel was of, not that which reads.
    """
    if getattr(error, "_late", False):
        return
    if len(error.args) != 1 or not isinstance(error.args[0], str):
        return
    text = error.args[0]
    found = _NAMED.match(text)
    if found is None and not isinstance(error, (TypeError, ValueError, OverflowError, IndexError)):
        return
    error.args = (f"[{name}] {text[found.end() if found else 0 :]}",)
