"""The child process of run_counted: executes the script on stdin, writes `result` to argv[1]."""

from __future__ import annotations

import ctypes
import json
import sys
from pathlib import Path
from typing import Any


class Counts:
    """Reads the preload library's counters."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(None)
        for name in ("dispatch", "submit", "pipeline", "checked", "trusted"):
            getattr(self._library, f"wgt_test_{name}_count").restype = ctypes.c_ulong
        self._library.wgt_test_label.restype = ctypes.c_char_p
        self._library.wgt_test_label.argtypes = [ctypes.c_ulong]

    @property
    def dispatches(self) -> int:
        return int(self._library.wgt_test_dispatch_count())

    @property
    def submits(self) -> int:
        return int(self._library.wgt_test_submit_count())

    @property
    def pipelines(self) -> int:
        return int(self._library.wgt_test_pipeline_count())

    @property
    def checked(self) -> int:
        """Shaders made with bounds checks."""
        return int(self._library.wgt_test_checked_count())

    @property
    def trusted(self) -> int:
        """Shaders made without."""
        return int(self._library.wgt_test_trusted_count())

    @property
    def labels(self) -> list[str]:
        """The kernels dispatched, by the labels of their pipelines."""
        return [self._library.wgt_test_label(i).decode() for i in range(self.dispatches)]

    def reset(self) -> None:
        self._library.wgt_test_reset_counts()


def main() -> None:
    import numpy as np

    import wgtensor as wt

    result: dict[str, Any] = {}
    code = compile(sys.stdin.read(), "<counted script>", "exec")
    # Its own folder is on the path for no reason that a script should see.
    sys.path.pop(0)
    exec(code, {"wt": wt, "np": np, "counts": Counts(), "result": result, "__name__": "__main__"})
    Path(sys.argv[1]).write_text(json.dumps(result))


if __name__ == "__main__":
    main()
