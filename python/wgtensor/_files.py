"""Tensors in files: safetensors, and NumPy's npz and npy. None of them can hold code."""

from __future__ import annotations

import errno
import os
import secrets
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from wgtensor._arrays import ArrayLike, DeviceLike, as_tensor, asarray
from wgtensor._core import DTypeError, Tensor, UnsupportedError
from wgtensor._dtypes import bfloat16
from wgtensor._naming import public
from wgtensor._trees import pack, unpack

__all__ = ["load", "save"]

Array = np.ndarray[Any, Any]
_STRUCTURE = "wgtensor.structure"  # the name of what says how tensors are nested
_LONGEST = 60_000  # bytes of a name; a zip file takes 65,535
_SUFFIXES = (".safetensors", ".npz", ".npy")


def _path(op: str, file: Any) -> tuple[Path, str]:
    try:
        path = Path(os.fspath(file))
    except TypeError:
        raise TypeError(f"[{op}] takes the path of a file, not {type(file).__name__}") from None
    if path.suffix not in _SUFFIXES:
        raise ValueError(f"[{op}] the name of a file ends with {', '.join(_SUFFIXES)}, not {path}")
    return path, path.suffix


def _safetensors(op: str) -> Any:
    try:
        import safetensors
        import safetensors.numpy
    except ImportError:
        raise UnsupportedError(
            f"[{op}] files of safetensors take that package: pip install 'wgtensor[io]'"
        ) from None
    return safetensors


def _host(name: str, x: ArrayLike, suffix: str) -> Array:
    a: Array = x.detach().numpy() if isinstance(x, Tensor) else np.asarray(x)
    if suffix != ".safetensors" and a.dtype.kind not in "biuf":
        raise DTypeError(
            f"[save] NumPy's files hold no {a.dtype}, as {name} has: save it as .safetensors"
        )
    return np.ascontiguousarray(a).reshape(a.shape)


@public
def save(file: str | os.PathLike[str], tensors: Any, /) -> None:
    """Writes a dict of names and tensors, as of `state_dict()`, to a .safetensors or .npz file; or
    one tensor to an .npy file. Waits for their values.

    Dicts may be nested, and hold lists, tuples, numbers and texts: the state of an optimizer, too.
    An older file of the name stays whole until the new one is. .safetensors takes the package
    safetensors (`pip install wgtensor[io]`). Raises TypeError, ValueError for names that files keep
    for themselves and for what holds itself, DTypeError for bfloat16 in NumPy's files,
    UnsupportedError without the package, OSError.
    """
    path, suffix = _path("save", file)
    if suffix == ".npy":
        if isinstance(tensors, Mapping):
            raise TypeError("[save] an .npy file holds one tensor: save a dict as .safetensors")
        one = _host("the tensor", as_tensor("save", tensors), suffix)
        _replace(path, lambda part: _write_npy(part, one))
        return
    if not isinstance(tensors, Mapping):
        raise TypeError(
            f"[save] a {suffix} file holds a dict of names and tensors, not "
            f"{type(tensors).__name__}"
        )
    named, structure = pack(tensors)
    for name in named:
        if name in (_STRUCTURE, "__metadata__") or len(name.encode()) > _LONGEST:
            raise ValueError(f"[save] no tensor in a {suffix} file can be called {name[:40]!r}")
    arrays = {name: _host(name, value, suffix) for name, value in named.items()}
    if suffix == ".npz":
        if structure is not None:
            arrays[_STRUCTURE] = np.array(structure)
        _replace(path, lambda part: _write_npz(part, arrays))
        return
    library = _safetensors("save")
    told = None if structure is None else {_STRUCTURE: structure}
    _replace(path, lambda part: library.numpy.save_file(arrays, part, told))


def _replace(path: Path, write: Any) -> None:
    """Writes beside the file and moves the whole into its place."""
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        write(part)
        if path.exists():
            part.chmod(path.stat().st_mode)
        part.replace(path)
    except OSError as error:
        if error.errno is None or error.filename not in (part, str(part)):
            raise
        raise type(error)(error.errno, error.strerror, str(path)) from None
    finally:
        part.unlink(missing_ok=True)


def _write_npy(part: Path, array: Array) -> None:
    with part.open("wb") as f:
        np.lib.format.write_array(f, array, allow_pickle=False)


def _write_npz(part: Path, arrays: Mapping[str, Array]) -> None:
    """As np.savez, which does not take every name."""
    with zipfile.ZipFile(part, "w", zipfile.ZIP_STORED, allowZip64=True) as z:
        for name, array in arrays.items():
            with z.open(f"{name}.npy", "w", force_zip64=True) as f:
                np.lib.format.write_array(f, array, allow_pickle=False)


@public
def load(file: str | os.PathLike[str], /, *, device: DeviceLike = None) -> Any:
    """What a .safetensors or .npz file holds, as a dict of names and tensors, nested as it was
    saved; of an .npy file the tensor. `Module.load_state_dict()` takes such a dict.

    Nothing in a file is run. Raises ValueError for what is no such file, DTypeError for dtypes that
    no tensor has or the device lacks, UnsupportedError without the package safetensors, OSError.
    """
    path, suffix = _path("load", file)
    read = {".npy": _read_npy, ".npz": _read_npz, ".safetensors": _read_safetensors}[suffix]
    found = read(path)
    if not isinstance(found, dict):
        return _tensor(path, "the tensor", found, device)
    structure = found.pop(_STRUCTURE, None)
    tensors = {name: _tensor(path, repr(name), a, device) for name, a in found.items()}
    if structure is None:
        return tensors
    try:
        return unpack(str(structure), tensors)
    except ValueError as error:
        raise ValueError(f"[load] {path}: {error}") from None


def _tensor(path: Path, name: str, found: Any, device: DeviceLike) -> Tensor:
    try:
        return asarray(found, device=device)
    except DTypeError as error:
        raise DTypeError(f"[load] {name} of {path}: {str(error).partition('] ')[2]}") from None


def _array(file: IO[bytes]) -> Array:
    """An array in NumPy's format. Raises ValueError, in words of ours where NumPy's advise to run
    what is in a file."""
    try:
        made: Array = np.lib.format.read_array(file, allow_pickle=False)
    except ValueError as error:
        if "allow_pickle" in str(error):
            raise ValueError("it holds objects of Python, which are never run") from None
        raise
    return made


def _read_npy(path: Path) -> Array:
    try:
        with path.open("rb") as f:
            return _array(f)
    except (ValueError, EOFError, TypeError) as error:
        raise ValueError(f"[load] {path} is no .npy file of numbers: {error}") from None


# what zipfile raises for damaged, encrypted and strangely packed members is among them
_DAMAGE = (ValueError, EOFError, TypeError, RuntimeError, zipfile.BadZipFile, zlib.error)


def _read_npz(path: Path) -> dict[str, Array]:
    found = {}
    try:
        with zipfile.ZipFile(path) as z:
            for name in z.namelist():
                with z.open(name) as f:
                    found[name.removesuffix(".npy")] = _array(f)
    except _DAMAGE as error:
        raise ValueError(f"[load] {path} is no .npz file of numbers: {error}") from None
    return found


#: what NumPy makes arrays of; which of those a tensor has is told later
_SAFE = {"BOOL", "BF16", "C64", *(f"{k}{n}" for k in "UI" for n in (8, 16, 32, 64))}
_SAFE |= {"F16", "F32", "F64"}


def _read_safetensors(path: Path) -> dict[str, Any]:
    library = _safetensors("load")
    with path.open("rb"):
        pass  # whose errors say more than the library's
    try:
        with library.safe_open(path, framework="np") as f:
            for name in f.keys():  # noqa: SIM118 - no mapping
                dtype = f.get_slice(name).get_dtype()
                if dtype not in _SAFE:
                    raise DTypeError(f"[load] {name!r} of {path} has dtype {dtype}: no tensor has")
                if dtype == "BF16":
                    bfloat16.numpy  # noqa: B018 - NumPy knows it from then on
            found = {name: f.get_tensor(name) for name in f.keys()}  # noqa: SIM118
            told = (f.metadata() or {}).get(_STRUCTURE)
    except (library.SafetensorError, KeyError) as error:
        raise ValueError(f"[load] {path} cannot be read as .safetensors: {error}") from None
    return found if told is None else {**found, _STRUCTURE: told}
