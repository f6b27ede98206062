"""Configuration errors: one line with the file, the key and the reason."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

from streamgauge.serving.log_escape import one_line

_LONGEST_SHOWN = 60


class SettingsError(Exception):
    """A configuration error that the user can correct."""

    def __init__(self, file: str, key: str, reason: str) -> None:
        super().__init__(file, key, reason)
        self.file = file
        self.key = key
        self.reason = reason

    def __str__(self) -> str:
        return one_line(": ".join(part for part in (self.file, self.key, self.reason) if part))


class InvalidSettingError(ValueError):
    """Raised by `__post_init__` of a settings class; the loader adds the file and the full key."""

    def __init__(self, reason: str, key: str = "") -> None:
        super().__init__(reason)
        self.key = key


@dataclass(frozen=True, slots=True)
class Place:
    """A position in the settings, for error messages; a hidden one never shows its value."""

    file: str
    key: str = ""
    hidden: bool = False

    def child(self, name: str) -> Place:
        return replace(self, key=f"{self.key}.{name}" if self.key and name else self.key or name)

    def item(self, index: int) -> Place:
        return replace(self, key=f"{self.key}[{index}]")

    def hiding(self) -> Place:
        return replace(self, hidden=True)

    def error(self, reason: str) -> SettingsError:
        return SettingsError(self.file, self.key, reason)

    def is_not(self, value: object, expected: str) -> SettingsError:
        return self.error(f"{self.shown(value)} is not {expected}")

    def shown(self, value: object) -> str:
        return "the value (not shown)" if self.hidden else shown(value)


def shown(value: object) -> str:
    """The value as in the file, truncated if long."""
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list | tuple | set):
        return "a list"
    if value is None or isinstance(value, str | bool | int | float):
        text = json.dumps(value, ensure_ascii=False)
    else:
        text = str(value)
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 1] + "…"
