"""Loads the exporter's settings from the file, then the environment, then flags.

An error names the place where the setting was given: the file and key, the variable or the flag.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass
from pathlib import Path
from typing import Any, Final, get_origin

from exporter.settings.config import ExporterSettings
from exporter.settings.flags import CONFIG_VARIABLE, FLAGS, PREFIX, parser
from exporter.settings.referenced_files import check_readable, resolve_paths
from streamgauge.serving.settings.declaration import declared_settings
from streamgauge.serving.settings.flags import ENVIRONMENT, config_file, parse, variable_text
from streamgauge.serving.settings.loader import (
    SettingsError,
    build,
    environment_overrides,
    load_yaml,
    merge,
)
from streamgauge.serving.settings.scalars import without_none

# There is no flag for a password: every user of the machine can see flags.
SECRET_VARIABLES = {
    PREFIX + "PASSWORD": "systems[0].password",
    PREFIX + "TOKEN": "systems[0].token",
}
_SERVICE_LINK: Final = re.compile(
    PREFIX + r"(\w+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT(_\d+_(TCP|UDP)(_\w+)?)?)"
)
# Variables of the demo and the tests, which may run in the same environment.
_OTHER_VARIABLES = (CONFIG_VARIABLE, PREFIX + "CACHE", PREFIX + "LONG", PREFIX + "SPEED")
_NO_FILE = "settings"


@dataclass(frozen=True, slots=True)
class _Override:
    """One setting from a variable or a flag, and its place for error messages."""

    key: str
    keys: tuple[str, ...]
    value: object = field(repr=False)
    place: tuple[str, str]  # file and key of an error

    @property
    def of_system(self) -> bool:
        return self.key.startswith("systems[0].")

    def as_mapping(self) -> dict[str, object]:
        value = self.value
        for key in reversed(self.keys):
            value = {key: value}
        return dict(value) if isinstance(value, dict) else {}


@dataclass(frozen=True, slots=True)
class Options:
    """The command line and the environment; `load` reads the file again on each reload."""

    config: Path | None
    once: bool
    flags: Mapping[str, Any] = field(repr=False)
    environ: Mapping[str, str] = field(repr=False)

    @property
    def source(self) -> str:
        """For the status page: where the settings come from."""
        return str(self.config) if self.config else "flags and defaults"

    def load(self) -> ExporterSettings:
        """Reads the file and opens those that it names, so it blocks; raises SettingsError."""
        overrides = list(self._overrides())
        mapping = merge(load_yaml(self.config) if self.config else {}, self._variables())
        mapping = merge(mapping, *(each.as_mapping() for each in overrides if not each.of_system))
        mapping = self._with_system(mapping, [each for each in overrides if each.of_system])
        try:
            settings = build(ExporterSettings, mapping, self._where)
            settings = resolve_paths(settings, self.config.parent if self.config else Path())
            check_readable(settings, self._where)
        except SettingsError as error:
            if error.file != self._where:
                raise
            raise self.error(error.key, error.reason) from error
        return settings

    def error(self, key: str, reason: str) -> SettingsError:
        """An error about a setting that names the place where it was given."""
        for override in reversed(list(self._overrides())):  # the last one wins
            if _is_within(key, override.key):
                return SettingsError(*override.place, reason)
        if self.config is None:
            for flag in FLAGS:
                if _is_within(key, flag.key):
                    return SettingsError(flag.text, "", reason)
        return SettingsError(self._where, key, reason)

    @property
    def _where(self) -> str:
        return str(self.config) if self.config else _NO_FILE

    def _variables(self) -> dict[str, object]:
        """Settings without a flag of their own: STREAMGAUGE_MAX_SERIES."""
        ours = (*(flag.variable for flag in FLAGS), *SECRET_VARIABLES, *_OTHER_VARIABLES)
        try:
            return environment_overrides(ExporterSettings, self._own_variables(), other=ours)
        except SettingsError as error:
            if not error.reason.startswith("unknown variable"):
                raise
            raise _unknown_variable(error.key) from error

    def _own_variables(self) -> dict[str, str]:
        """Without the archive's variables, and without those that Kubernetes sets in every pod for a
        service named streamgauge."""
        return {
            name: text
            for name, text in self.environ.items()
            if not name.startswith(PREFIX + "ARCHIVE_") and not _SERVICE_LINK.fullmatch(name)
        }

    def _overrides(self) -> Iterator[_Override]:
        for flag in FLAGS:
            text = variable_text(self.environ, flag.variable)
            if text is not None:
                place = (ENVIRONMENT, flag.variable)
                yield _Override(flag.key, flag.keys(), flag.from_text(text), place)
        for name, key in SECRET_VARIABLES.items():
            text = variable_text(self.environ, name)
            if text is not None:
                yield _Override(key, (key.rpartition(".")[2],), text, (ENVIRONMENT, name))
        for flag in FLAGS:
            value = self.flags.get(flag.name)
            if value is not None:
                yield _Override(flag.key, flag.keys(), flag.absolute(value), (flag.text, ""))

    def _with_system(
        self, mapping: dict[str, object], overrides: Sequence[_Override]
    ) -> dict[str, object]:
        """Flags and variables set one system: the only one of the file, or a new one."""
        systems = mapping.get("systems") or [{}]
        if not overrides or not isinstance(systems, list) or not isinstance(systems[0], Mapping):
            return mapping  # an invalid file is reported when the settings are built
        if len(systems) > 1:
            reason = f"is ambiguous: {self._where} has {len(systems)} systems"
            raise SettingsError(*overrides[-1].place, reason)
        system = merge(systems[0], *(each.as_mapping() for each in overrides))
        return merge(mapping, {"systems": [system]})


def read_options(argv: Sequence[str], environ: Mapping[str, str]) -> Options:
    flags = parse(argv, parser())
    return options_of(flags, environ, once=flags.pop("once"))


def options_of(flags: dict[str, Any], environ: Mapping[str, str], *, once: bool = False) -> Options:
    """Options from parsed flags."""
    config = config_file(flags.pop("config"), environ, CONFIG_VARIABLE)
    return Options(config, once, flags, environ)


def setting_variables() -> dict[str, str]:
    """Every variable that sets one setting, with the key of that setting in the file."""
    found = {flag.variable: flag.key for flag in FLAGS} | SECRET_VARIABLES
    for outer in declared_settings(ExporterSettings):
        kind = without_none(outer.annotation)[0]
        is_section = isinstance(kind, type) and is_dataclass(kind)
        inner = declared_settings(kind) if is_section else ()
        sections = {f"{outer.key}__{each.key}": f"{outer.key}.{each.key}" for each in inner}
        plain = {} if sections or get_origin(kind) is tuple else {outer.key: outer.key}
        for name, key in (sections or plain).items():
            found.setdefault(PREFIX + name.upper(), key)
    return found


def _unknown_variable(name: str) -> SettingsError:
    stems = [known.removeprefix(PREFIX) for known in (*setting_variables(), CONFIG_VARIABLE)]
    near = difflib.get_close_matches(name.removeprefix(PREFIX), stems, n=1)
    hint = f" (did you mean {PREFIX}{near[0]}?)" if near else ""
    return SettingsError(ENVIRONMENT, name, f"unknown variable{hint}")


def _is_within(key: str, outer: str) -> bool:
    return key == outer or key.startswith((outer + ".", outer + "["))
