"""The command line of `streamgauge audit`. Imports the standard library only."""

from __future__ import annotations

import argparse
from dataclasses import replace
from enum import StrEnum

from exporter.settings.flags import (
    SERVING_FLAGS,
    SYSTEM_FLAGS,
    add_flags,
    add_help_and_config,
    empty_parser,
)

NEVER = "never"
SEVERITIES = ("info", "warn", "crit")
_SEVERITIES = "|".join(SEVERITIES)
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
