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
from spark_rollups.command_line import JOB
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
_JOB: Final = {"job": JOB}
_LABEL: Final = re.compile(r"([a-zA-Z_][a-zA-Z0-9_]*)=(.*)", re.DOTALL)

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Publication:
    """Where to. Made by `publication_of` before the work begins, so a mistake is told at once."""

    textfile: Path | None
    receiver: Receiver | None
    labels: dict[str, str]

    def publish(self, gauges: Gauges, at: float, say: Say) -> None:
        """`at` is the time of what is sent; raises RollupError."""
        if gauges.merged:
            say(f"{gauges.merged} forecasts differ in labels that the gauges do not have; "
                "of each the one to worry about is published")  # fmt: skip
        if self.textfile is not None:
            write_textfile(self.textfile, text_of(gauges.gauges))
            say(f"{len(gauges.gauges):,} gauges in {self.textfile}")
        if self.receiver is not None:
            send(gauges.gauges, self.receiver, at, {**_JOB, **self.labels})
            say(f"{len(gauges.gauges):,} gauges sent to {self.receiver.url}")


def current_gauges(rollups: Rollups, succeeded: float, now: float, say: Say) -> Gauges:
    """Of the newest day that has forecasts; times alone where none has, or it is long ago."""
    as_of = max(rollups.asof_days(), default=None)
    return gauges_of(_current_forecasts(rollups, as_of, now, say), succeeded, as_of)


def _current_forecasts(rollups: Rollups, as_of: date | None, now: float, say: Say) -> Any:
    """The table of FORECASTS of that day. It is empty when the day is long over:

    a rollup succeeds each night also while the archive gets nothing new.
    """
    if as_of is None:
        return FORECASTS.empty_table()
    age = now - end_of(as_of)
    if age <= _STALE_SECONDS:
        return rollups.asof_table("forecasts", as_of)
    say(f"no forecasts are published: the newest are as of {as_of}, {age / 86_400:.0f} days ago")
    return FORECASTS.empty_table()


def last_success(rollups: Rollups) -> float:
    """A run that found nothing new leaves no new result, but says in its file that it was there."""
    written = rollups.manifest.written / 1000
    try:
        told = _SUCCESS.search(rollups.place.read(FILE).decode("utf-8", "replace"))
    except RollupError:  # there is no such file yet
        return written
    return max(written, float(told[1])) if told else written


def publication_of(words: argparse.Namespace) -> Publication:
    """Reads the files with secrets; raises RollupError with the flag that is wrong."""
    textfile = Path(words.textfile) if words.textfile else None
    if textfile is not None and textfile.suffix != ".prom":
        raise RollupError(f"--textfile: {textfile} does not end in .prom, so nobody collects it")
    receiver = None
    if words.remote_write:
        receiver = Receiver(words.remote_write, _authorization(words))
    elif _ways_in(words) or words.label:
        raise RollupError("--remote-write is missing: without it there is nobody to send to")
    return Publication(textfile, receiver, dict(map(_label, words.label)))


def _ways_in(words: argparse.Namespace) -> list[str]:
    flags = ("remote_write_user", "remote_write_password_file", "remote_write_token_file")
    return [flag for flag in flags if getattr(words, flag)]


def _authorization(words: argparse.Namespace) -> str:
    if words.remote_write_token_file:
        if words.remote_write_user:
            raise RollupError("--remote-write-token-file: --remote-write-user is given too")
        return bearer(_secret("--remote-write-token-file", words.remote_write_token_file))
    if bool(words.remote_write_user) != bool(words.remote_write_password_file):
        raise RollupError("--remote-write-user and --remote-write-password-file belong together")
    if not words.remote_write_user:
        return ""
    password = _secret("--remote-write-password-file", words.remote_write_password_file)
    return basic(words.remote_write_user, password)


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
