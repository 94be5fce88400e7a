"""`python -m wgtensor.demo NAME`: runs a demonstration."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

import wgtensor as wt
from wgtensor import _advice

_NEEDS = {"sklearn": "scikit-learn", "matplotlib": "matplotlib", "tqdm": "tqdm"}


def _missing_packages() -> list[str]:
    missing = []
    for module, package in _NEEDS.items():
        try:
            importlib.import_module(module)
        except ImportError:
            missing.append(package)
    return missing


def _count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError(text)
    return value


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m wgtensor.demo")
    demos = parser.add_subparsers(dest="demo", required=True)
    digits = demos.add_parser("digits", help="classify scikit-learn's handwritten digits")
    digits.add_argument("--seeds", type=_count, default=5, help="how many runs (default 5)")
    digits.add_argument("--epochs", type=_count, default=None, help="passes over the data")
    digits.add_argument("--png", type=Path, default=Path("digits.png"), help="where to draw")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a demonstration; 2 where a package or an adapter is missing."""
    options = _arguments(argv)
    if missing := _missing_packages():
        print(f"The demo needs {', '.join(missing)}: pip install 'wgtensor[demo]'", file=sys.stderr)
        return 2
    try:
        device = wt.default_device()
    except wt.DeviceNotFoundError as error:
        print(error if wt.is_available() else _advice.missing_adapter(), file=sys.stderr)
        return 2
    from wgtensor.demo import digits

    return digits.run(device, seeds=options.seeds, epochs=options.epochs, png=options.png)


if __name__ == "__main__":
    sys.exit(main())
