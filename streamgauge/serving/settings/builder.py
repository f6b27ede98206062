"""Builds an instance of a settings class from a mapping, with all checks."""

from __future__ import annotations

import collections.abc
import difflib
from collections.abc import Collection, Mapping
from dataclasses import is_dataclass
from types import MappingProxyType
from typing import Any, TypeVar, get_args, get_origin

from streamgauge.serving.settings.declaration import Declared, declared_settings
from streamgauge.serving.settings.errors import InvalidSettingError, Place, SettingsError
from streamgauge.serving.settings.scalars import notation_of, read_scalar, without_none

Section = TypeVar("Section")


def build_section(cls: type[Section], mapping: object, place: Place) -> Section:
    if not isinstance(mapping, Mapping):
        raise place.is_not(mapping, "a mapping (write it as key: value)")
    settings = {each.key: each for each in declared_settings(cls)}
    for key in mapping:
        if key not in settings:
            raise _unknown_key(str(key), getattr(key, "line", 0), settings, place)
    given = {
        each.name: read_setting(each, mapping[key], place.child(key))
        for key, each in settings.items()
        if key in mapping
    }
    for key, each in settings.items():
        if each.required and each.name not in given:
            raise place.child(key).error("is missing, and it has no default")
    try:
        return cls(**given)
    except InvalidSettingError as error:
        raise place.child(error.key).error(str(error)) from error


def _unknown_key(key: str, line: int, known: Collection[str], place: Place) -> SettingsError:
    """A key that resembles none may be a password in the wrong place: the line is enough."""
    if difflib.get_close_matches(key, known, n=1):
        return place.child(key).error(unknown("key", key, known))
    where = f"line {line}: " if line else ""
    return place.error(f"{where}{unknown('key', key, known)}")


def read_setting(declared: Declared, value: object, place: Place) -> object:
    if declared.secret:
        place = place.hiding()
    result = read_value(declared.annotation, value, place)
    _check_bounds(declared, result, value, place)
    return result


def read_value(annotation: Any, value: object, place: Place) -> object:
    kind, may_be_none = without_none(annotation)
    if value is None:
        if may_be_none:
            return None
        raise place.error("has no value (omit the key to get its default)")
    if is_dataclass(kind) and isinstance(kind, type):
        return build_section(kind, value, place)
    if get_origin(kind) is tuple:
        return _read_list(get_args(kind)[0], value, place)
    if get_origin(kind) is collections.abc.Mapping:
        return _read_mapping(get_args(kind)[1], value, place)
    return read_scalar(kind, value, place)


def unknown(what: str, name: str, known: Collection[str]) -> str:
    """The reason for an unknown name, with the closest known one."""
    near = difflib.get_close_matches(name, known, n=1)
    if near:
        return f"unknown {what} (did you mean {near[0]}?)"
    return f"unknown {what} (known: {', '.join(known)})"


def _read_list(item: Any, value: object, place: Place) -> tuple[object, ...]:
    if not isinstance(value, list | tuple):
        raise place.is_not(value, "a list (write each item on a line after a dash)")
    return tuple(read_value(item, each, place.item(index)) for index, each in enumerate(value))


def _read_mapping(item: Any, value: object, place: Place) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise place.is_not(value, "a mapping (write it as key: value)")
    return MappingProxyType(
        {str(key): read_value(item, each, place.child(str(key))) for key, each in value.items()}
    )


def _check_bounds(declared: Declared, result: object, value: object, place: Place) -> None:
    if not isinstance(result, int | float):
        return
    notation = notation_of(without_none(declared.annotation)[0])
    show = notation.show if notation else str
    if declared.minimum is not None and result < declared.minimum:
        least = show(declared.minimum)
        raise place.error(f"{place.shown(value)} is too small (at least {least})")
    if declared.maximum is not None and result > declared.maximum:
        most = show(declared.maximum)
        raise place.error(f"{place.shown(value)} is too large (at most {most})")
