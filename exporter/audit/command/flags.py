"""The flags of `streamgauge audit`; those of the NATS system are shared with the exporter."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from exporter.audit.check import Severity
from exporter.settings.audit import check_codes
from exporter.settings.flags import (
    SERVING_FLAGS,
    SYSTEM_FLAGS,
    add_flags,
    add_help_and_config,
    empty_parser,
    parse,
)
from exporter.settings.options import Options, options_of
from streamgauge.serving.settings.durations import parse_duration
from streamgauge.serving.settings.loader import InvalidSettingError, SettingsError

NEVER = "never"
_SEVERITIES = "|".join(severity.value for severity in Severity)
_DESCRIPTION = (
    "Checks the configuration and state of a NATS system once. Prints risks with evidence, "
    "reason and remedy. Read-only. Exit code 0: no finding of severity --fail-on or above; 1: at "
    "least one; 2: invalid flags, or some data or checks failed."
)
# Serving flags that the audit has too, with their help.
_REQUEST_FLAGS = {
    "timeout": "time limit of one poll (default 30s)",
    "log-level": "debug or error (default error)",
}
_UNUSED_FLAGS = ("exact-lag",)


class OutputFormat(StrEnum):
    TABLE = "table"
    JSON = "json"
    JUNIT = "junit"
    MARKDOWN = "markdown"


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


def parser() -> argparse.ArgumentParser:
    result = empty_parser("streamgauge audit", _DESCRIPTION)
    add_flags(
        result, "the NATS system", [one for one in SYSTEM_FLAGS if one.name not in _UNUSED_FLAGS]
    )
    requests = [one for one in SERVING_FLAGS if one.name in _REQUEST_FLAGS]
    add_flags(result, "requests", [replace(one, help=_REQUEST_FLAGS[one.name]) for one in requests])
    group = result.add_argument_group("the audit")
    group.add_argument("--only", metavar="CODE", action="append", help="run only this check; repeat it, or separate codes by commas")  # fmt: skip
    group.add_argument(
        "--skip",
        metavar="CODE",
        action="append",
        help="skip this check; repeat it, or separate codes by commas",
    )
    group.add_argument("--severity", metavar=_SEVERITIES, help="minimum severity to show (default info)")  # fmt: skip
    group.add_argument("--format", metavar="|".join(OutputFormat), help="output format (default table)")  # fmt: skip
    group.add_argument("--fail-on", metavar=f"{_SEVERITIES}|{NEVER}", help="minimum severity for exit code 1 (default warn)")  # fmt: skip
    group.add_argument("--watch", metavar="TIME", help="poll again after this time, for checks that compare two polls")  # fmt: skip
    group.add_argument("--rollups", metavar="PATH", help="output of `streamgauge rollup`, for checks over a day, a week or a month")  # fmt: skip
    group.add_argument("--sample-messages", action="store_const", const=True, help="read the headers of the last messages, for ids-missing (account source)")  # fmt: skip
    add_help_and_config(result)
    return result


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
        watch=_duration(given, "watch"),
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


def _duration(given: Mapping[str, Any], name: str) -> float | None:
    text = given[name]
    if text is None:
        return None
    try:
        seconds = parse_duration(text)
    except ValueError as error:
        raise SettingsError(
            f"--{name}", "", f'"{text}" is not a duration like 60s or 2m'
        ) from error
    if seconds < 1:
        raise SettingsError(f"--{name}", "", "is less than a second")
    return seconds


def _location(text: str | None) -> str | None:
    if text == "":
        raise SettingsError("--rollups", "", "is empty, give a directory or a URL")
    return text if text is None or "://" in text else str(Path(text).absolute())
