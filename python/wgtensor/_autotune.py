"""Choices of kernels between runs: one small JSON file for each adapter, driver and version.

The core measures and chooses; here its choices are read once, when the first device of an adapter
is made, and written when there are new ones. A file is data only: names that the core does not
know are ignored there, and what cannot be read is as if it were not there.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from wgtensor import _core
from wgtensor._arrays import DeviceLike

__all__ = ["autotune_info"]

_FORMAT = 1
_MOST_BYTES = 4 << 20  # of a file that is read
_MOST_CHOICES = 10_000
_INFO, _WARNING = 20, 30  # levels of logging, which is imported when it is needed
_TRIES, _PAUSE = 20, 0.01  # to get a file's lock, in seconds; then it is written without
_lock = threading.RLock()  # of loading and storing; the core's locks are never held around it
_owner = 0  # the process that loaded: a fork of it stores nothing
_saving = False
replacing = False  # whether new choices replace stored ones


def _log(level: int, text: str, *values: object) -> None:
    import logging

    logging.getLogger("wgtensor.autotune").log(level, text, *values)


def folder() -> Path:
    """Where the files are: the setting `cache_folder`, or the user's cache folder."""
    if chosen := _core.get_setting("cache_folder"):
        return Path(chosen)
    import platformdirs

    return platformdirs.user_cache_path("wgtensor", appauthor=False)


def path_of(key: str) -> Path:
    import hashlib

    return folder() / f"autotune-{hashlib.sha256(key.encode()).hexdigest()[:16]}.json"


def _is_choice(name: object, value: object) -> bool:
    return (
        isinstance(name, str)
        and isinstance(value, dict)
        and isinstance(value.get("kernel"), str)
        and len(name) + len(value["kernel"]) < 400
    )


def read(path: Path, key: str) -> dict[str, dict[str, Any]]:
    """The choices of a file, by class; none where it is missing, broken or of another key."""
    import json

    try:
        with path.open("rb") as f:
            data = f.read(_MOST_BYTES + 1)
        content = json.loads(data) if len(data) <= _MOST_BYTES else None
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        return {}
    choices = content.get("choices")
    if content.get("key") != key or not isinstance(choices, dict):
        return {}
    good = {name: value for name, value in choices.items() if _is_choice(name, value)}
    return good if len(good) <= _MOST_CHOICES else {}


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    """No other process is in such a block of the same path, where the system has locks.

    Of two that write without, as on Windows, the last one wins: what is lost is measured again.
    """
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError, ImportError):
            import fcntl

            file = stack.enter_context(path.with_suffix(".lock").open("a"))
            for _ in range(_TRIES):
                with contextlib.suppress(BlockingIOError):
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                time.sleep(_PAUSE)
        yield


def write(path: Path, key: str, fresh: Mapping[str, Mapping[str, Any]], replace: bool) -> None:
    """Adds choices to a file, as one step; those that are there stay unless `replace` says so.

    Raises OSError.
    """
    import json
    import tempfile

    path.parent.mkdir(parents=True, exist_ok=True)
    with _alone(path):
        before = read(path, key)
        merged = {**before, **fresh} if replace else {**fresh, **before}
        text = json.dumps({"format": _FORMAT, "key": key, "choices": merged}, indent=1)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.stem, suffix=".tmp")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as f:
                f.write(text)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


def prepare(key: str) -> None:
    """Called by the core before an adapter's first device is made: hands it the stored choices."""
    global _owner
    with _lock:
        try:
            stored = read(path_of(key), key)
        except Exception as error:  # no home folder, no platformdirs: go on without
            _log(_INFO, "no stored choices of kernels: %s", error)
            stored = {}
        _core.tuning_load(key, [(name, value["kernel"]) for name, value in stored.items()])
        if not _owner:
            atexit.register(save)
        _owner = os.getpid()


def save() -> None:
    """Stores what was measured since the last call, and logs what was found wrong.

    The core asks for it between any two steps of the main thread, also while it runs.
    """
    global _saving
    with _lock:
        if _saving:
            return
        _saving = True
        try:
            while news := _core.tuning_news():
                for key, measured, reports in news:
                    for report in reports:
                        _log(_WARNING, "%s", report)
                    if measured and _owner == os.getpid():
                        _store(key, measured)
        finally:
            _saving = False


def _store(key: str, measured: list[tuple[str, str, str, dict[str, float]]]) -> None:
    fresh = {name: {"kernel": kernel, "ms": ms} for name, kernel, _, ms in measured}
    try:
        write(path_of(key), key, fresh, replacing)
    except Exception as error:  # a folder that cannot be written is no reason to fail
        _log(_INFO, "choices of kernels are not stored: %s", error)


def clear() -> list[Path]:
    """Deletes the files of all adapters; those that were there."""
    gone = []
    for path in sorted(folder().glob("autotune-*")):
        if path.suffix in {".json", ".lock", ".tmp"}:
            path.unlink(missing_ok=True)
            gone.append(path)
    return [path for path in gone if path.suffix == ".json"]


def autotune_info(device: DeviceLike = None) -> dict[str, Any]:
    """How kernels that compute the same are chosen on a device, and which were.

    A dict: 'mode', the setting `autotune` ('0', 'stored' or '1'); 'key', what choices depend on:
    versions, adapter, driver; None where all are made by estimates; 'file', where they are stored;
    'hash', of all choices in use that were measured, now or before, which two runs share if and
    only if they choose alike; 'choices', for each class of shapes met or stored a dict of
    'kernel', 'origin' ('estimate', 'stored' or 'measured') and 'ms', milliseconds by kernel.
    """
    import hashlib
    import json

    key = _core.tuning_key(device)
    rows = _core.tuning_choices(key) if key is not None else []
    used = [[key, name, kernel] for name, kernel, origin, _ in rows if origin != "estimate"]
    return {
        "mode": _core.get_setting("autotune"),
        "key": key,
        "file": None if key is None else str(path_of(key)),
        "hash": hashlib.sha256(json.dumps(used).encode()).hexdigest(),
        "choices": {
            name: {"kernel": kernel, "origin": origin, "ms": ms}
            for name, kernel, origin, ms in rows
        },
    }
