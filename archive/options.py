"""Where the archive's settings come from: the file, then the environment, then flags.

A mistake is told in the words of whoever made it: the file and key, the variable or the flag.
"""

from __future__ import annotations

import argparse
import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, NoReturn

from archive.config import ArchiveSettings
from streamgauge.serving.settings import (
    SettingsError,
    build,
    environment_overrides,
    load_yaml,
    merge,
)

# Not STREAMGAUGE_ alone: the exporter, which may run beside it, has its own LISTEN.
PREFIX: Final = "STREAMGAUGE_ARCHIVE_"
CONFIG_VARIABLE: Final = PREFIX + "CONFIG"
_ENVIRONMENT: Final = "environment"


@dataclass(frozen=True, slots=True)
class Flag:
    name: str  # without the dashes
    key: str  # of the setting that it overrides
    metavar: str
    help: str

    @property
    def text(self) -> str:
        return f"--{self.name}"

    @property
    def variable(self) -> str:
        return PREFIX + self.name.upper().replace("-", "_")

    @property
    def is_path(self) -> bool:
        return self.metavar in ("DIR", "FILE")


FLAGS: Final = (
    Flag("data", "data", "DIR", "folder of the write-ahead log and the archive"),
    Flag("listen", "listen", "HOST:PORT", "address to receive at (default 127.0.0.1:7779)"),
    Flag("web-config", "web_config", "FILE", "TLS and basic auth of the listener"),
    Flag("log-format", "logs.format", "text|json", "how log lines are written (default text)"),
    Flag("log-level", "logs.level", "debug|info|warning|error", "least severity (default info)"),
)


@dataclass(frozen=True, slots=True)
class _Said:
    """One setting that did not come from the file, and how an error calls whoever said it."""

    key: str
    value: str = field(repr=False)
    place: tuple[str, str]

    def as_mapping(self) -> dict[str, object]:
        mapping: dict[str, object] = {}
        inner = mapping
        *sections, last = self.key.split(".")
        for section in sections:
            inner = inner.setdefault(section, {})  # type: ignore[assignment]
        inner[last] = self.value
        return mapping


@dataclass(frozen=True, slots=True)
class Options:
    """What was said on the command line and in the environment."""

    config: Path | None
    flags: Mapping[str, str]
    environ: Mapping[str, str] = field(repr=False)

    @property
    def source(self) -> str:
        return str(self.config) if self.config else "flags and defaults"

    def load(self) -> ArchiveSettings:
        """Reads the file, so it blocks; raises SettingsError."""
        said = list(self._said())
        mapping = merge(
            load_yaml(self.config) if self.config else {},
            self._variables(),
            *(each.as_mapping() for each in said),
        )
        try:
            settings = build(ArchiveSettings, mapping, self._where)
        except SettingsError as error:
            if error.file != self._where:
                raise
            raise self.mistake(error.key, error.reason) from error
        return _beside(settings, self.config.parent if self.config else Path())

    def mistake(self, key: str, reason: str) -> SettingsError:
        """An error about a setting, in the words of whoever set it."""
        # The last word counts, so the last one who spoke made the mistake.
        for said in reversed(list(self._said())):
            if said.key == key:
                return SettingsError(*said.place, reason)
        if self.config is None:
            for flag in FLAGS:
                if flag.key == key:
                    return SettingsError(flag.text, "", reason)
        return SettingsError(self._where, key, reason)

    @property
    def _where(self) -> str:
        return str(self.config) if self.config else "settings"

    def _variables(self) -> dict[str, object]:
        """Settings without a flag of their own: STREAMGAUGE_ARCHIVE_LIMITS__SERIES."""
        ours = (*(flag.variable for flag in FLAGS), CONFIG_VARIABLE)
        return environment_overrides(ArchiveSettings, self.environ, PREFIX, other=ours)

    def _said(self) -> Iterator[_Said]:
        for flag in FLAGS:
            text = _variable(self.environ, flag.variable)
            if text is not None:
                yield _Said(flag.key, _absolute(flag, text), (_ENVIRONMENT, flag.variable))
        for flag in FLAGS:
            if flag.name in self.flags:
                value = self.flags[flag.name]
                yield _Said(flag.key, _absolute(flag, value), (flag.text, ""))


def read_options(argv: Sequence[str], environ: Mapping[str, str]) -> Options:
    known, unknown = parser().parse_known_args(argv)
    for word in unknown:
        raise SettingsError(word.partition("=")[0], "", _unknown_reason(word))
    given: dict[str, Any] = vars(known)
    config = given.pop("config") or _variable(environ, CONFIG_VARIABLE)
    flags = {name.replace("_", "-"): text for name, text in given.items() if text is not None}
    return Options(Path(config) if config else None, flags, environ)


class _Parser(argparse.ArgumentParser):
    """Complains in one line that names the flag, like every other mistake in the settings."""

    def error(self, message: str) -> NoReturn:
        named = re.fullmatch(r"argument (--[a-z-]+)(?:/\S+)?: (.*)", message)
        raise SettingsError(
            named[1] if named else "command line", "", named[2] if named else message
        )


def parser() -> argparse.ArgumentParser:
    made = _Parser(
        prog="streamgauge archive",
        allow_abbrev=False,  # one that works today would be ambiguous with the next flag
        add_help=False,  # ours, below: argparse's own words follow the language of the machine
        description="Receives Prometheus remote write at /api/v1/write and keeps every "
        "acknowledged sample in Parquet. Every flag can also be set by the environment, as "
        f"{PREFIX} and its name in capitals.",
        epilog="streamgauge archive inspect|verify|import|export --help: work on an archive.",
    )
    for flag in FLAGS:
        made.add_argument(flag.text, metavar=flag.metavar, help=flag.help)
    made.add_argument("--config", metavar="FILE", help="settings file (YAML)")
    made.add_argument("-h", "--help", action="help", help="show this help and exit")
    return made


def _beside(settings: ArchiveSettings, folder: Path) -> ArchiveSettings:
    """Relative paths in the file are relative to the file, wherever the archive was started."""
    return replace(
        settings,
        data=folder / settings.data,
        web_config=folder / settings.web_config if settings.web_config else None,
        bearer_tokens={name: folder / path for name, path in settings.bearer_tokens.items()},
    )


def _unknown_reason(word: str) -> str:
    if not word.startswith("-"):
        return "is not a flag (settings are given as --flag value)"
    known = [*(flag.text for flag in FLAGS), "--config", "--help"]
    near = difflib.get_close_matches(word.partition("=")[0], known, n=1)
    return f"unknown flag (did you mean {near[0]}?)" if near else "unknown flag (see --help)"


def _variable(environ: Mapping[str, str], name: str) -> str | None:
    text = environ.get(name)
    if text == "":
        raise SettingsError(_ENVIRONMENT, name, "is empty (unset it to get the default)")
    return text


def _absolute(flag: Flag, text: str) -> str:
    """A path on the command line is relative to where the command was given, not to the file."""
    return str(Path(text).absolute()) if flag.is_path and text else text
