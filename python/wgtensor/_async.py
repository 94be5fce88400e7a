"""Waiting without blocking an event loop: on threads of the library's own."""

from __future__ import annotations

import contextvars
import os
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from wgtensor._core import Event, Tensor

R = TypeVar("R")

#: waits at once; more of them queue. Threads that wait cost next to nothing.
_WAITS = 16

_lock = threading.Lock()
_pool: ThreadPoolExecutor | None = None


def _forget() -> None:
    """A forked child has none of the threads."""
    global _pool, _lock
    _pool, _lock = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def _threads() -> ThreadPoolExecutor:
    global _pool
    with _lock:
        if _pool is None:
            _pool = ThreadPoolExecutor(_WAITS, thread_name_prefix="wgtensor")
        return _pool


def on_a_thread(function: Callable[..., R], *args: Any) -> Awaitable[R]:
    """What the function gives, which runs on one of the library's threads, in this context."""
    import asyncio

    call = partial(contextvars.copy_context().run, function, *args)
    return asyncio.get_running_loop().run_in_executor(_threads(), call)


async def _numpy(t: Tensor) -> Any:
    return await on_a_thread(t.numpy)


def numpy_async(self: Tensor) -> Awaitable[Any]:
    """numpy() without blocking the event loop, of the value at the time of the call."""
    return _numpy(self.__copy__())


async def wait_async(self: Event, timeout: float | None = None) -> bool:
    """wait() without blocking the event loop: False where `timeout` seconds were not enough."""
    return await on_a_thread(self.wait, timeout)


def install() -> None:
    """Puts the above on the core's class; the stub lists it."""
    setattr(Event, "wait_async", wait_async)  # noqa: B010
    Event.__module__ = "wgtensor"
