"""Tensors for Python on any GPU: NumPy's words, WebGPU underneath."""

from __future__ import annotations

import atexit as _atexit
import importlib as _importlib
from math import e, inf, nan, pi
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from wgtensor import _core
from wgtensor._arrays import as_operand as _as_operand
from wgtensor._arrays import as_values as _as_values
from wgtensor._arrays import asarray, from_dlpack
from wgtensor._core import (
    Device,
    DeviceLostError,
    DeviceMismatchError,
    DeviceNotFoundError,
    DTypeError,
    Event,
    InvalidWorkgroupSizeError,
    OutOfMemoryError,
    ShaderError,
    ShapeError,
    Tensor,
    UnsupportedError,
    WgtensorError,
)
from wgtensor._dtypes import DTYPES as _DTYPES
from wgtensor._dtypes import (
    DType,
    bfloat16,
    can_cast,
    finfo,
    float16,
    float32,
    float64,
    get_default_dtype,
    iinfo,
    int8,
    int16,
    int32,
    int64,
    isdtype,
    result_type,
    set_default_dtype,
    uint8,
    uint16,
    uint32,
    uint64,
)
from wgtensor._dtypes import bool_ as bool

_core._register(_DTYPES, _as_operand, _as_values)
_atexit.register(_core._close)

from wgtensor import _async, _devices, _parameter, _tensor  # noqa: E402

_async.install()
_tensor.install()
_parameter.install()
_devices.install()

from wgtensor import (  # noqa: E402
    _autotune,
    _calculus,
    _choosing,
    _config,
    _einsum,
    _elementwise,
    _files,
    _functions,
    _generated,
    _grad,
    _grids,
    _histograms,
    _indexing,
    _jit,
    _joining,
    _manipulation,
    _memory,
    _nan,
    _pad,
    _persist,
    _plain,
    _products,
    _quantiles,
    _reductions,
    _repeating,
    _scattering,
    _searching,
    _sets,
    _sorting,
    _statistics,
    _tables,
    autograd,
    linalg,
    random,
)
from wgtensor._autotune import *  # noqa: E402, F403
from wgtensor._calculus import *  # noqa: E402, F403
from wgtensor._choosing import *  # noqa: E402, F403
from wgtensor._config import *  # noqa: E402, F403
from wgtensor._devices import *  # noqa: E402, F403
from wgtensor._einsum import *  # noqa: E402, F403
from wgtensor._elementwise import *  # noqa: E402, F403
from wgtensor._files import *  # noqa: E402, F403
from wgtensor._functions import *  # noqa: E402, F403
from wgtensor._generated import *  # noqa: E402, F403
from wgtensor._grad import *  # noqa: E402, F403
from wgtensor._grids import *  # noqa: E402, F403
from wgtensor._histograms import *  # noqa: E402, F403
from wgtensor._indexing import *  # noqa: E402, F403
from wgtensor._info import NamespaceInfo as __array_namespace_info__  # noqa: E402, N813
from wgtensor._jit import *  # noqa: E402, F403
from wgtensor._joining import *  # noqa: E402, F403
from wgtensor._manipulation import *  # noqa: E402, F403
from wgtensor._manipulation import where  # noqa: E402, F401 - among the rows
from wgtensor._memory import *  # noqa: E402, F403
from wgtensor._nan import *  # noqa: E402, F403
from wgtensor._pad import *  # noqa: E402, F403
from wgtensor._persist import *  # noqa: E402, F403
from wgtensor._persist import install as _install_recovery  # noqa: E402
from wgtensor._plain import *  # noqa: E402, F403
from wgtensor._products import *  # noqa: E402, F403
from wgtensor._quantiles import *  # noqa: E402, F403
from wgtensor._reductions import *  # noqa: E402, F403
from wgtensor._repeating import *  # noqa: E402, F403
from wgtensor._scattering import *  # noqa: E402, F403
from wgtensor._searching import *  # noqa: E402, F403
from wgtensor._sets import *  # noqa: E402, F403
from wgtensor._sorting import *  # noqa: E402, F403
from wgtensor._statistics import *  # noqa: E402, F403
from wgtensor._tables import *  # noqa: E402, F403
from wgtensor.autograd import (  # noqa: E402
    enable_grad,
    inference_mode,
    is_grad_enabled,
    no_grad,
    set_grad_enabled,
)

_install_recovery()

__version__ = _core.__version__
newaxis = None

if _TYPE_CHECKING:
    from wgtensor import nn, optim

_LATE = ("nn", "optim")  # imported when first asked for


def __getattr__(name: str) -> _Any:
    if name in _LATE:
        return _importlib.import_module(f"wgtensor.{name}")
    raise AttributeError(f"module 'wgtensor' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})


__all__ = [
    "DType",
    "DTypeError",
    "Device",
    "DeviceLostError",
    "DeviceMismatchError",
    "DeviceNotFoundError",
    "Event",
    "InvalidWorkgroupSizeError",
    "OutOfMemoryError",
    "ShaderError",
    "ShapeError",
    "Tensor",
    "UnsupportedError",
    "WgtensorError",
    "__array_namespace_info__",
    "asarray",
    "autograd",
    "bfloat16",
    "bool",
    "can_cast",
    "e",
    "enable_grad",
    "finfo",
    "float16",
    "float32",
    "float64",
    "from_dlpack",
    "get_default_dtype",
    "iinfo",
    "inf",
    "inference_mode",
    "int8",
    "int16",
    "int32",
    "int64",
    "is_grad_enabled",
    "isdtype",
    "linalg",
    "nan",
    "newaxis",
    "nn",
    "no_grad",
    "optim",
    "pi",
    "random",
    "result_type",
    "set_default_dtype",
    "set_grad_enabled",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]
__all__ += _generated.__all__
__all__ += _autotune.__all__
__all__ += _calculus.__all__
__all__ += _choosing.__all__
__all__ += _config.__all__
__all__ += _devices.__all__
__all__ += _einsum.__all__
__all__ += _elementwise.__all__
__all__ += _files.__all__
__all__ += _functions.__all__
__all__ += _grad.__all__
__all__ += _grids.__all__
__all__ += _histograms.__all__
__all__ += _indexing.__all__
__all__ += _jit.__all__
__all__ += _joining.__all__
__all__ += _manipulation.__all__
__all__ += _memory.__all__
__all__ += _nan.__all__
__all__ += _pad.__all__
__all__ += _persist.__all__
__all__ += _plain.__all__
__all__ += _products.__all__
__all__ += _quantiles.__all__
__all__ += _reductions.__all__
__all__ += _repeating.__all__
__all__ += _scattering.__all__
__all__ += _searching.__all__
__all__ += _sets.__all__
__all__ += _sorting.__all__
__all__ += _statistics.__all__
__all__ += _tables.__all__
