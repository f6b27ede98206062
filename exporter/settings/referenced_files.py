"""The files that settings name: found beside the settings file, and readable."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from exporter.settings.config import ExporterSettings
from streamgauge.serving.settings.loader import SettingsError

Section = TypeVar("Section")

# The first rollup may be hours away.
_MAY_COME_LATER = "forecasts"


def beside(settings: ExporterSettings, folder: Path) -> ExporterSettings:
    """Relative paths are relative to the file, wherever the exporter was started."""
    return _with_paths(settings, "", lambda _, path: folder / path)


def check_readable(settings: ExporterSettings, where: str) -> None:
    """Credentials are read at each connection; a missing file is better told at the start."""

    def check(key: str, path: Path) -> Path:
        if path.is_fifo():  # <(a command) in a shell: what it says can be read only once
            return path
        if key == _MAY_COME_LATER:
            return path
        try:
            with path.open("rb"):
                return path
        except OSError as error:
            reason = f"{path} cannot be read: {error.strerror}"
            raise SettingsError(where, key, reason) from error

    _with_paths(settings, "", check)


def _with_paths(section: Section, prefix: str, change: Callable[[str, Path], Path]) -> Section:
    """The same section with every path in it changed; `change` also gets the key."""
    changes: dict[str, Any] = {}
    for each in fields(section):  # type: ignore[arg-type]
        value, key = getattr(section, each.name), f"{prefix}{each.name}"
        if isinstance(value, Path):
            changes[each.name] = change(key, value)
        elif is_dataclass(value):
            changes[each.name] = _with_paths(value, f"{key}.", change)
        elif isinstance(value, tuple) and any(map(is_dataclass, value)):
            changes[each.name] = tuple(
                _with_paths(item, f"{key}[{place}].", change) for place, item in enumerate(value)
            )
    return replace(section, **changes) if changes else section  # type: ignore[type-var]
