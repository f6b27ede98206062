"""Loads the archive's settings from the file, then the environment, then flags.

A configuration error names its origin: the file and key, the variable or the flag.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from archive.settings.config import ArchiveSettings
from archive.settings.flags import CONFIG_VARIABLE, FLAGS, PREFIX, parser
from streamgauge.serving.settings.flags import ENVIRONMENT, config_file, parse, variable_text
from streamgauge.serving.settings.loader import (
    SettingsError,
    build,
    environment_overrides,
    load_yaml,
    merge,
)


@dataclass(frozen=True, slots=True)
class _Override:
    """One setting from the environment or a flag, and how an error names its origin."""

    key: str
    value: object = field(repr=False)
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
    """The command line and the environment."""

    config: Path | None
    flags: Mapping[str, str | None]
    environ: Mapping[str, str] = field(repr=False)

    @property
    def source(self) -> str:
        return str(self.config) if self.config else "flags and defaults"

    def load(self) -> ArchiveSettings:
        """Reads the file: blocks, and raises SettingsError."""
        overrides = list(self._overrides())
        mapping = merge(
            load_yaml(self.config) if self.config else {},
            self._variables(),
            *(each.as_mapping() for each in overrides),
        )
        try:
            settings = build(ArchiveSettings, mapping, self._where)
        except SettingsError as error:
            if error.file != self._where:
                raise
            raise self.configuration_error(error.key, error.reason) from error
        return _beside(settings, self.config.parent if self.config else Path())

    def configuration_error(self, key: str, reason: str) -> SettingsError:
        """An error that names where the setting came from."""
        # The last override applies, so it is the origin of the error.
        for override in reversed(list(self._overrides())):
            if override.key == key:
                return SettingsError(*override.place, reason)
        if self.config is None:
            for flag in FLAGS:
                if flag.key == key:
                    return SettingsError(flag.text, "", reason)
        return SettingsError(self._where, key, reason)

    @property
    def _where(self) -> str:
        return str(self.config) if self.config else "settings"

    def _variables(self) -> dict[str, object]:
        """Settings without a flag, such as STREAMGAUGE_ARCHIVE_LIMITS__SERIES."""
        ours = (*(flag.variable for flag in FLAGS), CONFIG_VARIABLE)
        return environment_overrides(ArchiveSettings, self.environ, PREFIX, other=ours)

    def _overrides(self) -> Iterator[_Override]:
        for flag in FLAGS:
            text = variable_text(self.environ, flag.variable)
            if text is not None:
                yield _Override(flag.key, flag.from_text(text), (ENVIRONMENT, flag.variable))
        for flag in FLAGS:
            value = self.flags.get(flag.name)
            if value is not None:
                yield _Override(flag.key, flag.absolute(value), (flag.text, ""))


def read_options(argv: Sequence[str], environ: Mapping[str, str]) -> Options:
    flags = parse(argv, parser())
    return Options(config_file(flags.pop("config"), environ, CONFIG_VARIABLE), flags, environ)


def _beside(settings: ArchiveSettings, folder: Path) -> ArchiveSettings:
    """Resolves relative paths of the file against the folder of the file."""
    web = settings.web
    return replace(
        settings,
        data=folder / settings.data,
        web=replace(web, config_file=folder / web.config_file) if web.config_file else web,
        bearer_tokens={name: folder / path for name, path in settings.bearer_tokens.items()},
    )
