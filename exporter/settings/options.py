"""Where the exporter's settings come from: the file, then the environment, then flags.

A mistake is told in the words of whoever made it: the file and key, the variable or the flag.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass
from pathlib import Path
from typing import Any, Final, get_origin

from exporter.settings.config import ExporterSettings
from exporter.settings.flags import CONFIG_VARIABLE, FLAGS, PREFIX, parse, parser
from exporter.settings.referenced_files import beside, check_readable
from streamgauge.serving.settings.declaration import declared_settings
from streamgauge.serving.settings.flags import ENVIRONMENT, config_file, variable_text
from streamgauge.serving.settings.loader import (
    SettingsError,
    build,
    environment_overrides,
    load_yaml,
    merge,
)
from streamgauge.serving.settings.scalars import without_none

# A password may come by the environment, but never by a flag: every user of the machine sees flags.
SECRET_VARIABLES = {
    PREFIX + "PASSWORD": "systems[0].password",
    PREFIX + "TOKEN": "systems[0].token",
}
_SERVICE_LINK: Final = re.compile(
    PREFIX + r"(\w+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT(_\d+_(TCP|UDP)(_\w+)?)?)"
)
# Of the demo and the tests, which may run in the same environment.
_OTHER_VARIABLES = (CONFIG_VARIABLE, PREFIX + "CACHE", PREFIX + "LONG")
_NO_FILE = "settings"


@dataclass(frozen=True, slots=True)
class _Said:
    """One setting that did not come from the file, and who said it."""

    key: str
    keys: tuple[str, ...]
    value: object = field(repr=False)
    place: tuple[str, str]  # how an error names it: file and key

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
    """What was said on the command line and in the environment; the file is read again on reload."""

    config: Path | None
    once: bool
    flags: Mapping[str, Any] = field(repr=False)
    environ: Mapping[str, str] = field(repr=False)

    @property
    def source(self) -> str:
        """For the status page: where the settings come from."""
        return str(self.config) if self.config else "flags and defaults"

    def load(self) -> ExporterSettings:
        """Reads the file and looks at those that it names, so it blocks; raises SettingsError."""
        said = list(self._said())
        mapping = merge(load_yaml(self.config) if self.config else {}, self._variables())
        mapping = merge(mapping, *(each.as_mapping() for each in said if not each.of_system))
        mapping = self._with_system(mapping, [each for each in said if each.of_system])
        try:
            settings = build(ExporterSettings, mapping, self._where)
            settings = beside(settings, self.config.parent if self.config else Path())
            check_readable(settings, self._where)
        except SettingsError as error:
            if error.file != self._where:
                raise
            raise self.mistake(error.key, error.reason) from error
        return settings

    def mistake(self, key: str, reason: str) -> SettingsError:
        """An error about a setting, in the words of whoever set it."""
        # The last word counts, so the last one who spoke made the mistake.
        for said in reversed(list(self._said())):
            if _is_within(key, said.key):
                return SettingsError(*said.place, reason)
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
        """Without those of the archive, which may run in the same environment, and without what
        Kubernetes tells every pod of a service that is called streamgauge."""
        return {
            name: text
            for name, text in self.environ.items()
            if not name.startswith(PREFIX + "ARCHIVE_") and not _SERVICE_LINK.fullmatch(name)
        }

    def _said(self) -> Iterator[_Said]:
        for flag in FLAGS:
            text = variable_text(self.environ, flag.variable)
            if text is not None:
                place = (ENVIRONMENT, flag.variable)
                yield _Said(flag.key, flag.keys(), flag.from_text(text), place)
        for name, key in SECRET_VARIABLES.items():
            text = variable_text(self.environ, name)
            if text is not None:
                yield _Said(key, (key.rpartition(".")[2],), text, (ENVIRONMENT, name))
        for flag in FLAGS:
            value = self.flags.get(flag.name)
            if value is not None:
                yield _Said(flag.key, flag.keys(), flag.absolute(value), (flag.text, ""))

    def _with_system(self, mapping: dict[str, object], said: Sequence[_Said]) -> dict[str, object]:
        """Flags and variables describe one system: the file's only one, or one of their own."""
        systems = mapping.get("systems") or [{}]
        if not said or not isinstance(systems, list) or not isinstance(systems[0], Mapping):
            return mapping  # and a file that is wrong is told so when it is read
        if len(systems) > 1:
            reason = f"cannot tell which of the {len(systems)} systems in {self._where} it means"
            raise SettingsError(*said[-1].place, reason)
        system = merge(systems[0], *(each.as_mapping() for each in said))
        return merge(mapping, {"systems": [system]})


def read_options(argv: Sequence[str], environ: Mapping[str, str]) -> Options:
    flags = parse(argv, parser())
    return options_of(flags, environ, once=flags.pop("once"))


def options_of(flags: dict[str, Any], environ: Mapping[str, str], *, once: bool = False) -> Options:
    """Of flags that were read already."""
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
