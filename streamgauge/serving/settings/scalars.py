"""Checks single values of a settings file against an annotation and converts them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from streamgauge.serving.settings.errors import Place
from streamgauge.serving.settings.secret import Secret
from streamgauge.serving.settings.value_format import ValueFormat


def read_scalar(kind: Any, value: object, place: Place) -> object:
    notation = notation_of(kind)
    if notation is not None:
        return _read_written(notation, value, place)
    options = choices(kind)
    if options is not None:
        return _read_choice(options, value, place)
    reader = _READERS.get(get_origin(kind) or kind)
    if reader is None:
        raise TypeError(f"{place.key}: a setting cannot be annotated {kind!r}")
    return reader(value, place)


def notation_of(kind: Any) -> ValueFormat | None:
    if get_origin(kind) is not Annotated:
        return None
    return next((each for each in get_args(kind)[1:] if isinstance(each, ValueFormat)), None)


def choices(kind: Any) -> Mapping[str, object] | None:
    """The allowed words with their values; None if the kind is not an enumeration."""
    if get_origin(kind) is Literal:
        return {word: word for word in get_args(kind)}
    if isinstance(kind, type) and issubclass(kind, Enum):
        return {str(member.value): member for member in kind}
    return None


def without_none(kind: Any) -> tuple[Any, bool]:
    """`X | None` gives (X, True); any other kind gives (kind, False)."""
    if get_origin(kind) not in {Union, UnionType}:
        return kind, False
    rest = [each for each in get_args(kind) if each is not type(None)]
    if len(rest) != 1:
        raise TypeError(f"a setting cannot be annotated {kind!r}: at most one kind and None")
    return rest[0], True


def _read_written(notation: ValueFormat, value: object, place: Place) -> object:
    try:
        return notation.read(value)
    except ValueError:
        # Not the original message: it could show a hidden value.
        raise place.is_not(value, f"a {notation.name} ({notation.hint})") from None


def _read_choice(options: Mapping[str, object], value: object, place: Place) -> object:
    if not isinstance(value, str) or value not in options:
        raise place.is_not(value, "one of " + ", ".join(options))
    return options[value]


def _read_text(value: object, place: Place) -> str:
    if isinstance(value, str):
        return value
    quotes = " (put it in quotes)" if isinstance(value, bool | int | float) else ""
    raise place.is_not(value, f"text{quotes}")


def _read_secret(value: object, place: Place) -> Secret:
    return Secret(_read_text(value, place.hiding()))


def _read_truth(value: object, place: Place) -> bool:
    if not isinstance(value, bool):
        raise place.is_not(value, "true or false")
    return value


def _read_whole_number(value: object, place: Place) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise place.is_not(value, "a whole number")
    return value


def _read_number(value: object, place: Place) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise place.is_not(value, "a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise place.is_not(value, "a number")
    return number


def _read_path(value: object, place: Place) -> Path:
    if not isinstance(value, str) or not value or "\0" in value:
        raise place.is_not(value, "a path")
    return Path(value)


def _read_pattern(value: object, place: Place) -> re.Pattern[str]:
    try:
        return re.compile(_read_text(value, place))
    except (re.error, OverflowError, RecursionError) as error:
        raise place.is_not(value, f"a regular expression: {error}") from error


_READERS: dict[Any, Callable[[object, Place], object]] = {
    str: _read_text,
    Secret: _read_secret,
    bool: _read_truth,
    int: _read_whole_number,
    float: _read_number,
    Path: _read_path,
    re.Pattern: _read_pattern,
}
