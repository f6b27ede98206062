"""The API of the settings loader: from a YAML file to frozen dataclasses.

Every configuration error is a SettingsError: one line with the file, the key and the reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from streamgauge.serving.settings.builder import build_section
from streamgauge.serving.settings.declaration import REQUIRED, setting
from streamgauge.serving.settings.durations import Duration
from streamgauge.serving.settings.environment import environment_overrides
from streamgauge.serving.settings.errors import InvalidSettingError, Place, SettingsError
from streamgauge.serving.settings.secret import Secret, read_secret
from streamgauge.serving.settings.sizes import Size
from streamgauge.serving.settings.strict_yaml import load_yaml
from streamgauge.serving.settings.value_format import ValueFormat

__all__ = [
    "REQUIRED",
    "Duration",
    "InvalidSettingError",
    "Secret",
    "SettingsError",
    "Size",
    "ValueFormat",
    "build",
    "environment_overrides",
    "load_yaml",
    "merge",
    "read_secret",
    "setting",
]

Settings = TypeVar("Settings")


def build(cls: type[Settings], mapping: Mapping[str, object], where: str | Path) -> Settings:
    """An instance of the settings class; `where` names the file in errors."""
    return build_section(cls, mapping, Place(str(where)))


def merge(*mappings: Mapping[str, object]) -> dict[str, object]:
    """Merges mappings deeply; a later one wins."""
    merged: dict[str, object] = {}
    for mapping in mappings:
        for key, value in mapping.items():
            before = merged.get(key)
            if isinstance(before, Mapping) and isinstance(value, Mapping):
                merged[key] = merge(before, value)
            else:
                merged[key] = value
    return merged
