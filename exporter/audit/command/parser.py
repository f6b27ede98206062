"""The command line of `streamgauge audit`. Imports the standard library only."""

from __future__ import annotations

import argparse
from dataclasses import replace
from enum import StrEnum

from exporter.audit.severity import Severity
from exporter.settings.flags import (
    SERVING_FLAGS,
    SYSTEM_FLAGS,
    add_flags,
    add_help_and_config,
    empty_parser,
)

NEVER = "never"
_SEVERITIES = "|".join(Severity)
_DESCRIPTION = (
    "Checks the configuration and state of a NATS system once. Prints risks with evidence, "
    "reason and remedy. Read-only. Exit code 0: no finding of severity --fail-on or above; 1: at "
    "least one; 2: invalid flags, or some data or checks failed."
)
# Serving flags that the audit has too, with their help.
_REQUEST_FLAGS = {
    "timeout": "time limit of one poll (default 30s)",
    "log.level": "lowest severity of log lines: debug shows all, others only errors",
}
_UNUSED_FLAGS = ("exact-lag",)


class OutputFormat(StrEnum):
    TABLE = "table"
    JSON = "json"
    JUNIT = "junit"
    MARKDOWN = "markdown"


def parser() -> argparse.ArgumentParser:
    result = empty_parser("streamgauge audit", _DESCRIPTION)
    used = [one for one in SYSTEM_FLAGS if one.name not in _UNUSED_FLAGS]
    add_flags(result, "the NATS system", used)
    requests = [one for one in SERVING_FLAGS if one.name in _REQUEST_FLAGS]
    add_flags(result, "requests", [replace(one, help=_REQUEST_FLAGS[one.name]) for one in requests])
    group = result.add_argument_group("the audit")
    group.add_argument("--only", metavar="CODE", action="append", help="run only this check; repeat it, or separate codes by commas")  # fmt: skip
    group.add_argument("--skip", metavar="CODE", action="append", help="skip this check; repeat it, or separate codes by commas")  # fmt: skip
    group.add_argument("--severity", metavar=_SEVERITIES, help="minimum severity to show (default info)")  # fmt: skip
    group.add_argument("--format", metavar="|".join(OutputFormat), help="output format (default table)")  # fmt: skip
    group.add_argument("--fail-on", metavar=f"{_SEVERITIES}|{NEVER}", help="minimum severity for exit code 1 (default warn)")  # fmt: skip
    group.add_argument("--watch", metavar="TIME", help="poll again after this time, for checks that compare two polls")  # fmt: skip
    group.add_argument("--rollups", metavar="PATH", help="output of `streamgauge rollup`, for checks over a day, a week or a month")  # fmt: skip
    group.add_argument("--sample-messages", action="store_const", const=True, help="read the headers of the last messages, for ids-missing (account source)")  # fmt: skip
    add_help_and_config(result)
    return result
