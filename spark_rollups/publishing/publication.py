"""Forecasts back to Prometheus, as a text file and by remote write: what to publish, and where."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Final

from exporter import catalog
from spark_rollups.filesystem import RollupError
from spark_rollups.forecasting.forecast_batch import end_of
from spark_rollups.publishing.gauges import Gauges, gauges_of
from spark_rollups.publishing.remote_write import Receiver, basic, bearer, send
from spark_rollups.publishing.textfile import text_of, write_textfile
from spark_rollups.rollup.tables.reader import Rollups
from spark_rollups.rollup.tables.schemas import FORECASTS

# Beside the rollups themselves, whatever else is asked for.
FILE: Final = "streamgauge_rollup.prom"
_SUCCESS: Final = re.compile(
    rf"^{catalog.ROLLUP_LAST_SUCCESS_TIMESTAMP_SECONDS.name} (\d+(?:\.\d+)?)$", re.MULTILINE
)
# A forecast is for the weeks ahead; made of days that ended longer ago it is about the past.
_STALE_SECONDS: Final = 7 * 86_400.0
_JOB: Final = {"job": "streamgauge_rollup"}
_LABEL: Final = re.compile(r"([a-zA-Z_][a-zA-Z0-9_]*)=(.*)", re.DOTALL)

Log = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Publication:
    """Where to. Made by `publication_of` before the work begins, so a mistake is told at once."""

    textfile: Path | None
    receiver: Receiver | None
    labels: dict[str, str]

    def publish(self, gauges: Gauges, at: float, log: Log) -> None:
        """`at` is the time of what is sent; raises RollupError."""
        if gauges.merged:
            log(f"{gauges.merged} forecasts differ in labels that the gauges do not have; "
                "of each the one to worry about is published")  # fmt: skip
        if self.textfile is not None:
            write_textfile(self.textfile, text_of(gauges.gauges))
            log(f"{len(gauges.gauges):,} gauges in {self.textfile}")
        if self.receiver is not None:
            send(gauges.gauges, self.receiver, at, {**_JOB, **self.labels})
            log(f"{len(gauges.gauges):,} gauges sent to {self.receiver.url}")


def current_gauges(rollups: Rollups, succeeded: float, now: float, log: Log) -> Gauges:
    """Of the newest day that has forecasts; times alone where none has, or it is long ago."""
    as_of = max(rollups.snapshot_days(), default=None)
    return gauges_of(_current_forecasts(rollups, as_of, now, log), succeeded, as_of)


def _current_forecasts(rollups: Rollups, as_of: date | None, now: float, log: Log) -> Any:
    """The table of FORECASTS of that day. It is empty when the day is long over:

    a rollup succeeds each night also while the archive gets nothing new.
    """
    if as_of is None:
        return FORECASTS.empty_table()
    age = now - end_of(as_of)
    if age <= _STALE_SECONDS:
        return rollups.snapshot_table("forecasts", as_of)
    log(f"no forecasts are published: the newest are as of {as_of}, {age / 86_400:.0f} days ago")
    return FORECASTS.empty_table()


def last_success(rollups: Rollups) -> float:
    """A run that found nothing new leaves no new result, but says in its file that it was there."""
    written = rollups.manifest.written / 1000
    try:
        match = _SUCCESS.search(rollups.root.read(FILE).decode("utf-8", "replace"))
    except RollupError:  # there is no such file yet
        return written
    return max(written, float(match[1])) if match else written


def add_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("forecasts back to Prometheus")
    group.add_argument("--textfile", metavar="FILE", help="for the textfile collector, *.prom")
    group.add_argument(
        "--remote-write", metavar="URL", help="receiver, like http://127.0.0.1:9090/api/v1/write"
    )
    group.add_argument("--remote-write-user", metavar="NAME", help="user name of basic auth")
    group.add_argument("--remote-write-password-file", metavar="FILE", help="its password")
    group.add_argument("--remote-write-token-file", metavar="FILE", help="bearer token instead")
    group.add_argument(
        "--label", action="append", default=[], metavar="NAME=VALUE",
        help=f"for all that is sent, may be given again (default job={_JOB['job']})",
    )  # fmt: skip


def publication_of(arguments: argparse.Namespace) -> Publication:
    """Reads the files with secrets; raises RollupError with the flag that is wrong."""
    textfile = Path(arguments.textfile) if arguments.textfile else None
    if textfile is not None and textfile.suffix != ".prom":
        raise RollupError(f"--textfile: {textfile} does not end in .prom, so nobody collects it")
    receiver = None
    if arguments.remote_write:
        receiver = Receiver(arguments.remote_write, _authorization(arguments))
    elif _credential_flags(arguments) or arguments.label:
        raise RollupError("--remote-write is missing: without it there is nobody to send to")
    return Publication(textfile, receiver, dict(map(_label, arguments.label)))


def _credential_flags(arguments: argparse.Namespace) -> list[str]:
    flags = ("remote_write_user", "remote_write_password_file", "remote_write_token_file")
    return [flag for flag in flags if getattr(arguments, flag)]


def _authorization(arguments: argparse.Namespace) -> str:
    if arguments.remote_write_token_file:
        if arguments.remote_write_user:
            raise RollupError("--remote-write-token-file: --remote-write-user is given too")
        return bearer(_secret("--remote-write-token-file", arguments.remote_write_token_file))
    if bool(arguments.remote_write_user) != bool(arguments.remote_write_password_file):
        raise RollupError("--remote-write-user and --remote-write-password-file belong together")
    if not arguments.remote_write_user:
        return ""
    password = _secret("--remote-write-password-file", arguments.remote_write_password_file)
    return basic(arguments.remote_write_user, password)


def _secret(flag: str, path: str) -> str:
    try:
        found = Path(path).read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "is not text"
        raise RollupError(f"{flag}: {path}: {reason}") from error
    if not found:
        raise RollupError(f"{flag}: {path}: is empty")
    return found


def _label(text: str) -> tuple[str, str]:
    found = _LABEL.fullmatch(text)
    if found is None or found[1].startswith("__"):
        raise RollupError(f"--label: {text!r} is not a label like cluster=eu")
    return found[1], found[2]
