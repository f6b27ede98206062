"""The flags of `streamgauge rollup`. Imports the standard library only."""

from __future__ import annotations

import argparse
import re
from datetime import date
from typing import Final, NoReturn

from streamgauge.serving.version import add_version

JOB: Final = "streamgauge_rollup"
"""Label `job` of the forecasts that are sent."""
_DESCRIPTION: Final = (
    "Computes hourly and daily rollups, forecasts and trends of an archive on Spark."
)


class _Parser(argparse.ArgumentParser):
    """Reports errors as one line with the name of the flag."""

    def error(self, message: str) -> NoReturn:
        from spark_rollups.filesystem import RollupError

        named = re.fullmatch(r"argument (-?-?[\w-]+)(?:/\S+)?: (.*)", message)
        raise RollupError(f"{named[1]}: {named[2]}" if named else message)


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a day of the form YYYY-MM-DD") from None


def _setting(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not (key and equals):
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE")
    return key, value


def parser() -> argparse.ArgumentParser:
    made = _Parser(prog="streamgauge rollup", description=_DESCRIPTION, allow_abbrev=False)
    add_version(made)
    add = made.add_argument
    add("--archive", required=True, metavar="PATH", help="folder or URL of the archive")
    add("--out", required=True, metavar="PATH", help="folder or URL of the rollups")
    add("--from", dest="first", type=_day, metavar="DAY", help="first day (default: the oldest)")
    add("--to", dest="last", type=_day, metavar="DAY", help="last day (default: the newest)")
    add("--from-raw", action="store_true",
        help="read the samples, not the archive's hourly statistics")  # fmt: skip
    add("--no-forecasts", dest="forecasts", action="store_false",
        help="skip forecasts and trends; existing ones stay")  # fmt: skip
    add("--fold", action="append", default=[], metavar="LABEL",
        help="drop this label from identities too (always: job, instance, pod and the like)")  # fmt: skip
    where = made.add_mutually_exclusive_group()
    where.add_argument("--master", default="", metavar="URL",
                       help="Spark master, e.g. spark://host:7077 (default: this machine)")  # fmt: skip
    where.add_argument("--remote", default="", metavar="URL",
                       help="Spark Connect server, e.g. sc://host:15002")  # fmt: skip
    add("--conf", action="append", default=[], type=_setting, metavar="KEY=VALUE",
        help="a Spark setting, repeatable")  # fmt: skip
    add_publication_arguments(made)
    return made


def add_publication_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("publish forecasts")
    group.add_argument("--textfile", metavar="FILE", help="file for the textfile collector, *.prom")
    group.add_argument(
        "--remote-write",
        metavar="URL",
        help="remote-write URL, like http://127.0.0.1:9090/api/v1/write",
    )
    group.add_argument("--remote-write-user", metavar="NAME", help="user name for basic auth")
    group.add_argument(
        "--remote-write-password-file", metavar="FILE", help="file with the password"
    )
    group.add_argument("--remote-write-token-file", metavar="FILE", help="file with a bearer token")
    group.add_argument(
        "--reports", metavar="PATH",
        help="output of `streamgauge report`, to publish its last success (default: OUT/report)",
    )  # fmt: skip
    group.add_argument(
        "--label", action="append", default=[], metavar="NAME=VALUE",
        help=f"label of all samples, repeatable (default job={JOB})",
    )  # fmt: skip
