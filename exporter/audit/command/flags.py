"""The flags of `streamgauge audit`; those of the NATS system are shared with the exporter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exporter.audit.command.parser import NEVER, OutputFormat, parser
from exporter.audit.severity import Severity
from exporter.settings.audit import check_codes
from exporter.settings.options import Options, options_of
from streamgauge.serving.settings.flags import interval_of, parse
from streamgauge.serving.settings.loader import InvalidSettingError, SettingsError


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRequest:
    """The command line without the flags of the NATS system."""

    options: Options
    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    severity: Severity = Severity.INFO
    fail_on: Severity | None = Severity.WARN
    format: OutputFormat = OutputFormat.TABLE
    watch: float | None = None  # seconds between two polls
    rollups: str | None = None
    sample_messages: bool = False
    timeout_given: bool = False


def read_request(argv: Sequence[str], environ: Mapping[str, str]) -> AuditRequest:
    """Raises SettingsError."""
    given = parse(argv, parser())
    severity = _choice(given, "severity", [*Severity], Severity.INFO)
    fail_on = _choice(given, "fail-on", [*Severity, NEVER], Severity.WARN)
    return AuditRequest(
        only=_codes(given, "only"),
        skip=_codes(given, "skip"),
        severity=Severity(severity),
        fail_on=None if fail_on == NEVER else Severity(fail_on),
        format=OutputFormat(_choice(given, "format", [*OutputFormat], OutputFormat.TABLE)),
        watch=None if given["watch"] is None else interval_of("--watch", given["watch"]),
        rollups=_location(given["rollups"]),
        sample_messages=bool(given["sample-messages"]),
        timeout_given=given["timeout"] is not None,
        options=options_of(given, environ),
    )


def _choice(given: Mapping[str, Any], name: str, choices: Sequence[str], default: str) -> str:
    choice = given[name] or default
    if choice not in choices:
        raise SettingsError(f"--{name}", "", f'"{choice}" is not one of {", ".join(choices)}')
    return str(choice)


def _codes(given: Mapping[str, Any], name: str) -> tuple[str, ...]:
    texts: Iterable[str] = given[name] or ()
    found = [code.strip() for text in texts for code in text.split(",")]
    try:
        check_codes(found, name)
    except InvalidSettingError as error:
        raise SettingsError(f"--{name}", "", str(error)) from error
    return tuple(found)


def _location(text: str | None) -> str | None:
    if text == "":
        raise SettingsError("--rollups", "", "is empty, give a directory or a URL")
    return text if text is None or "://" in text else str(Path(text).absolute())
