"""Settings from environment variables: STREAMGAUGE_INTERVAL, STREAMGAUGE_LOG__LEVEL."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, is_dataclass
from typing import Any, get_origin

from streamgauge.serving.settings.builder import read_setting, unknown
from streamgauge.serving.settings.declaration import Declared, declared_settings
from streamgauge.serving.settings.errors import Place, SettingsError
from streamgauge.serving.settings.scalars import without_none

_WHERE = "environment"
_WHOLE_NUMBER = re.compile(r"[-+]?[0-9]{1,18}")
_NUMBER = re.compile(r"[-+]?[0-9]{1,18}(\.[0-9]{1,18})?")
# Kubernetes sets these in every pod when a Service is named streamgauge...: they are no settings.
_SERVICE_LINK = re.compile(
    r".*_SERVICE_HOST|.*_SERVICE_PORT(_[A-Z0-9_]+)?|.*_PORT_[0-9]+_(TCP|UDP|SCTP)(_[A-Z]+)?"
)


@dataclass(frozen=True, slots=True)
class _Target:
    """The setting of a variable, and its path of keys."""

    keys: tuple[str, ...]
    declared: Declared


def environment_overrides(
    cls: type[Any],
    environ: Mapping[str, str],
    prefix: str = "STREAMGAUGE_",
    *,
    other: Collection[str] = (),
) -> dict[str, object]:
    """The settings of the environment, in the structure of the file, checked.

    `other` names variables with the prefix that are not settings of `cls`.
    """
    targets = {prefix + name: target for name, target in _targets(cls)}
    overrides: dict[str, Any] = {}
    for name, text in sorted(environ.items()):
        if not name.startswith(prefix) or name in other or _is_service_link(name, text):
            continue
        if name not in targets:
            raise SettingsError(_WHERE, name, unknown("variable", name, targets))
        target = targets[name]
        section = overrides
        for key in target.keys[:-1]:
            section = section.setdefault(key, {})
        section[target.keys[-1]] = _checked(target.declared, text, Place(_WHERE, name))
    return overrides


def _targets(cls: type[Any]) -> Iterator[tuple[str, _Target]]:
    for outer in declared_settings(cls):
        section = without_none(outer.annotation)[0]
        if not is_dataclass(section) or not isinstance(section, type):
            yield _variable(outer.key), _Target((outer.key,), outer)
            continue
        for inner in declared_settings(section):
            name = f"{_variable(outer.key)}__{_variable(inner.key)}"
            yield name, _Target((outer.key, inner.key), inner)


def _variable(key: str) -> str:
    return re.sub(r"[^A-Z0-9]", "_", key.upper())


def _is_service_link(name: str, text: str) -> bool:
    # NAME_PORT could be a setting, but never with a value like tcp://10.0.0.1:80.
    return _SERVICE_LINK.fullmatch(name) is not None or (name.endswith("_PORT") and "://" in text)


def _checked(declared: Declared, text: str, place: Place) -> object:
    kind = without_none(declared.annotation)[0]
    if get_origin(kind) in {tuple, Mapping} or is_dataclass(kind):
        raise place.error("holds more than one value: write it in the file")
    if not text:
        raise place.error("is empty (unset it to get the default)")
    value = _as_in_a_file(kind, text)
    read_setting(declared, value, place)
    return value


def _as_in_a_file(kind: Any, text: str) -> object:
    """The value that YAML would read. Other text is returned as it is, for the error message."""
    if kind is bool and text.lower() in {"true", "false"}:
        return text.lower() == "true"
    if kind is int and _WHOLE_NUMBER.fullmatch(text):
        return int(text)
    if kind is float and _NUMBER.fullmatch(text):
        return float(text)
    return text
