"""Neural networks."""

from wgtensor.nn import functional

__all__ = ["functional"]
