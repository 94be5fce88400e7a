"""Functions of neural networks, with PyTorch's names, arguments and layouts."""

from __future__ import annotations

from wgtensor.nn._convolution import conv1d, conv2d, conv3d
from wgtensor.nn._pooling import avg_pool1d, avg_pool2d, max_pool1d, max_pool2d

__all__ = [
    "avg_pool1d",
    "avg_pool2d",
    "conv1d",
    "conv2d",
    "conv3d",
    "max_pool1d",
    "max_pool2d",
]
