"""wt.config: every setting as an attribute. The list is the core's."""

from __future__ import annotations

from typing import Any

from wgtensor import _core

__all__ = ["config"]

_LEVELS = ("off", "error", "warning", "info", "debug", "trace")


class Config:
    """Settings of this process; assigning one takes effect at once.

    Those that shape a device (limits, debug, max_binding, kernels, autotune, max_pipelines,
    memory_limit_mb) hold for devices made later.
    """

    def __getattr__(self, name: str) -> Any:
        for setting, kind, *_ in _core.settings():
            if setting == name:
                text = _core.get_setting(name)
                return text if kind == "string" else text == "1" if kind == "bool" else int(text)
        raise AttributeError(f"no setting is called {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.__dir__():
            raise AttributeError(f"no setting is called {name!r}")
        text = str(int(value)) if isinstance(value, bool) else str(value)
        _core.set_setting(name, text)
        if name == "device":
            _core.set_default_device(None)
        elif name == "log":
            _core.set_log_level(_LEVELS.index(text))

    def __dir__(self) -> list[str]:
        return [row[0] for row in _core.settings()]

    def __repr__(self) -> str:
        return "\n".join(
            f"{name} = {_core.get_setting(name)!r}  # {env}: {text}"
            for name, _, _, env, _, text in _core.settings()
        )


config = Config()
