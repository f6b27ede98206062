"""Renders the reference of a settings class as Markdown."""

from __future__ import annotations

import collections.abc
import re
from collections.abc import Iterator
from dataclasses import is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any, get_args, get_origin

from streamgauge.serving.settings.declaration import Declared, declared_settings
from streamgauge.serving.settings.errors import shown
from streamgauge.serving.settings.scalars import choices, notation_of, without_none
from streamgauge.serving.settings.secret import Secret

_HEAD = "| key | type | default | meaning |\n|---|---|---|---|"
_NAMES: dict[Any, str] = {
    str: "text",
    Secret: "secret text",
    bool: "true or false",
    int: "whole number",
    float: "number",
    Path: "path",
    re.Pattern: "regular expression",
}


def render_reference(cls: type[Any]) -> str:
    """One table for the class and one for each section, with dotted keys."""
    return "\n".join(_tables(cls, ""))


def type_name(annotation: Any) -> str:
    kind = without_none(annotation)[0]
    notation, options = notation_of(kind), choices(kind)
    if notation is not None:
        return notation.name
    if options is not None:
        return " or ".join(f"`{word}`" for word in options)
    if is_dataclass(kind):
        return "section"
    if get_origin(kind) is tuple:
        return f"list of {type_name(get_args(kind)[0])}"
    if get_origin(kind) is collections.abc.Mapping:
        return f"mapping of {type_name(get_args(kind)[1])}"
    return _NAMES[get_origin(kind) or kind]


def default_text(declared: Declared) -> str:
    if declared.required:
        return "required"
    if declared.default is None or is_dataclass(declared.default):
        return ""
    if declared.secret or isinstance(declared.default, Secret):
        return "(not shown)"
    return f"`{_as_written(without_none(declared.annotation)[0], declared.default)}`"


def _as_written(kind: Any, value: Any) -> str:
    notation = notation_of(kind)
    if notation is not None:
        return notation.show(value)
    if isinstance(value, tuple):
        return "[" + ", ".join(_as_written(get_args(kind)[0], each) for each in value) + "]"
    if isinstance(value, collections.abc.Mapping):
        return "{" + ", ".join(f"{key}: {shown(each)}" for key, each in value.items()) + "}"
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, re.Pattern):
        return str(value.pattern)
    text = value if isinstance(value, str) else str(value)
    return shown(value) if isinstance(value, bool) or not text else text


def _tables(cls: type[Any], prefix: str) -> Iterator[str]:
    settings = list(declared_settings(cls))
    yield _HEAD
    for each in settings:
        yield _row(each, prefix)
    for each in settings:
        section, below = _section_of(each)
        if section is not None:
            yield f"\n### `{prefix}{below}`\n"
            yield from _tables(section, f"{prefix}{below}.")


def _row(declared: Declared, prefix: str) -> str:
    cells = (
        f"`{prefix}{declared.key}`",
        type_name(declared.annotation),
        default_text(declared),
        declared.help,
    )
    return "| " + " | ".join(_cell(each) for each in cells) + " |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _section_of(declared: Declared) -> tuple[type[Any] | None, str]:
    """The class of the section of this key, if any, and the key as text."""
    kind = without_none(declared.annotation)[0]
    key = declared.key
    if get_origin(kind) is tuple:
        kind, key = get_args(kind)[0], f"{key}[]"
    elif get_origin(kind) is collections.abc.Mapping:
        kind, key = get_args(kind)[1], f"{key}.<name>"
    return (kind, key) if isinstance(kind, type) and is_dataclass(kind) else (None, key)
