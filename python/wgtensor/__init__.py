"""Tensors for Python on any GPU: NumPy's words, WebGPU underneath."""

from __future__ import annotations

import atexit
from math import e, inf, nan, pi

from wgtensor import _core
from wgtensor._arrays import as_operand, asarray
from wgtensor._core import (
    Device,
    DeviceLostError,
    DeviceMismatchError,
    DeviceNotFoundError,
    DTypeError,
    InvalidWorkgroupSizeError,
    OutOfMemoryError,
    ShaderError,
    ShapeError,
    Tensor,
    UnsupportedError,
    WgtensorError,
)
from wgtensor._dtypes import (
    DTYPES,
    DType,
    can_cast,
    finfo,
    float32,
    iinfo,
    int32,
    isdtype,
    result_type,
    uint32,
)
from wgtensor._dtypes import bool_ as bool

_core._register(DTYPES, as_operand)
atexit.register(_core._close)

from wgtensor import _devices, _tensor  # noqa: E402

_tensor.install()
_devices.install()

from wgtensor._config import config  # noqa: E402
from wgtensor._devices import (  # noqa: E402
    default_device,
    devices,
    get_device,
    is_available,
    set_default_device,
)
from wgtensor._functions import (  # noqa: E402
    arange,
    astype,
    broadcast_shapes,
    broadcast_to,
    empty,
    empty_like,
    eval,
    expand_dims,
    explain,
    eye,
    full,
    full_like,
    log_softmax,
    matmul,
    matrix_transpose,
    ones,
    ones_like,
    permute_dims,
    reshape,
    softmax,
    squeeze,
    stats,
    synchronize,
    zeros,
    zeros_like,
)
from wgtensor._generated import *  # noqa: E402, F403
from wgtensor._generated import __all__ as _rows  # noqa: E402
from wgtensor._reductions import (  # noqa: E402
    all,
    any,
    argmax,
    argmin,
    count_nonzero,
    logsumexp,
    max,
    mean,
    min,
    prod,
    std,
    sum,
    var,
)

__version__ = _core.__version__
newaxis = None

__all__ = [
    "DType",
    "DTypeError",
    "Device",
    "DeviceLostError",
    "DeviceMismatchError",
    "DeviceNotFoundError",
    "InvalidWorkgroupSizeError",
    "OutOfMemoryError",
    "ShaderError",
    "ShapeError",
    "Tensor",
    "UnsupportedError",
    "WgtensorError",
    "all",
    "any",
    "arange",
    "argmax",
    "argmin",
    "asarray",
    "astype",
    "bool",
    "broadcast_shapes",
    "broadcast_to",
    "can_cast",
    "config",
    "count_nonzero",
    "default_device",
    "devices",
    "e",
    "empty",
    "empty_like",
    "eval",
    "expand_dims",
    "explain",
    "eye",
    "finfo",
    "float32",
    "full",
    "full_like",
    "get_device",
    "iinfo",
    "inf",
    "int32",
    "is_available",
    "isdtype",
    "log_softmax",
    "logsumexp",
    "matmul",
    "matrix_transpose",
    "max",
    "mean",
    "min",
    "nan",
    "newaxis",
    "ones",
    "ones_like",
    "permute_dims",
    "pi",
    "prod",
    "reshape",
    "result_type",
    "set_default_device",
    "softmax",
    "squeeze",
    "stats",
    "std",
    "sum",
    "synchronize",
    "uint32",
    "var",
    "zeros",
    "zeros_like",
    *_rows,
]
