"""Paths in the settings: resolved against the settings file, and checked to be readable."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from exporter.settings.config import ExporterSettings
from streamgauge.serving.settings.loader import SettingsError

Section = TypeVar("Section")

# It appears with the first rollup, which may be hours away.
_OPTIONAL_FILE = "forecasts"
# The value may be the secret itself instead of the path of its file.
_SECRET_FILES = ("password_file", "token_file", "nkey_seed_file")


def resolve_paths(settings: ExporterSettings, folder: Path) -> ExporterSettings:
    """Makes relative paths relative to the settings file, not to the working directory."""
    return _with_paths(settings, "", lambda _, path: folder / path)


def check_readable(settings: ExporterSettings, where: str) -> None:
    """Reports an unreadable file at the start: credentials are read only at each connection."""

    def check(key: str, path: Path) -> Path:
        if path.is_fifo():  # <(command) in a shell: it can be read only once
            return path
        if key == _OPTIONAL_FILE:
            return path
        try:
            with path.open("rb"):
                return path
        except OSError as error:
            shown = "the file" if key.endswith(_SECRET_FILES) else str(path)
            raise SettingsError(where, key, f"{shown} cannot be read: {error.strerror}") from error

    _with_paths(settings, "", check)


def _with_paths(section: Section, prefix: str, change: Callable[[str, Path], Path]) -> Section:
    """A copy of the section with `change(key, path)` applied to every path."""
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
