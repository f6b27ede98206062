"""The flags of `streamgauge audit`: those of the NATS system are the exporter's own."""

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
    "Looks once at a NATS system and tells what is configured so that it will hurt one day, why, "
    "and how to mend it. Nothing is changed. Exit code 0: nothing as grave as --fail-on; 1: "
    "something is; 2: a mistake in the flags, or not everything could be asked or judged."
)
# Of the flags for serving, with what is other here.
_ASKING = {
    "timeout": "time that one look may take (default 30s)",
    "log.level": "debug tells more (default error)",
}
_NO_USE = ("exact-lag",)


class OutputFormat(StrEnum):
    TABLE = "table"
    JSON = "json"
    JUNIT = "junit"
    MARKDOWN = "markdown"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRequest:
    """What was asked for on the command line, beside the system."""

    options: Options
    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    severity: Severity = Severity.INFO
    fail_on: Severity | None = Severity.WARN
    format: OutputFormat = OutputFormat.TABLE
    watch: float | None = None  # seconds between two looks
    rollups: str | None = None
    sample_messages: bool = False
    timeout_given: bool = False


def parser() -> argparse.ArgumentParser:
    made = empty_parser("streamgauge audit", _DESCRIPTION)
    add_flags(made, "the NATS system", [one for one in SYSTEM_FLAGS if one.name not in _NO_USE])
    context = [one for one in SERVING_FLAGS if one.name in _ASKING]
    add_flags(made, "asking", [replace(one, help=_ASKING[one.name]) for one in context])
    group = made.add_argument_group("the audit")
    group.add_argument("--only", metavar="CODE", action="append", help="this check and no other; may be given again, or several with commas")  # fmt: skip
    group.add_argument("--skip", metavar="CODE", action="append", help="not this check; likewise")
    group.add_argument("--severity", metavar=_SEVERITIES, help="least severity to show (default info)")  # fmt: skip
    group.add_argument("--format", metavar="|".join(OutputFormat), help="how to print (default table)")  # fmt: skip
    group.add_argument("--fail-on", metavar=f"{_SEVERITIES}|{NEVER}", help="least severity that makes exit code 1 (default warn)")  # fmt: skip
    group.add_argument("--watch", metavar="TIME", help="look a second time after so long, for checks that compare")  # fmt: skip
    group.add_argument("--rollups", metavar="PATH", help="what `streamgauge rollup` wrote, for checks of a day, a week or a month")  # fmt: skip
    group.add_argument("--sample-messages", action="store_const", const=True, help="read the headers of the last messages (account source)")  # fmt: skip
    add_help_and_config(made)
    return made


def read_request(argv: Sequence[str], environ: Mapping[str, str]) -> AuditRequest:
    """Raises SettingsError, in the words of whoever made the mistake."""
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
        rollups=_place(given["rollups"]),
        sample_messages=bool(given["sample-messages"]),
        timeout_given=given["timeout"] is not None,
        options=options_of(given, environ),
    )


def _choice(given: Mapping[str, Any], name: str, words: Sequence[str], default: str) -> str:
    word = given[name] or default
    if word not in words:
        raise SettingsError(f"--{name}", "", f'"{word}" is not one of {", ".join(words)}')
    return str(word)


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
        raise SettingsError(f"--{name}", "", f'"{text}" is not a time like 60s or 2m') from error
    if seconds < 1:
        raise SettingsError(f"--{name}", "", "is less than a second")
    return seconds


def _place(text: str | None) -> str | None:
    if text == "":
        raise SettingsError("--rollups", "", "is empty, a folder or an address was expected")
    return text if text is None or "://" in text else str(Path(text).absolute())
