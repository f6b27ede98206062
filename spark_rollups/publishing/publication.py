"""Publishes forecasts to Prometheus, as a text file and by remote write."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Final

from exporter import catalog
from exporter.metric import Metric
from spark_rollups.command_line import JOB
from spark_rollups.filesystem import RollupError, Root
from spark_rollups.forecasting.forecast_group import end_of
from spark_rollups.publishing.gauges import Gauges, gauges_of
from spark_rollups.publishing.remote_write import Receiver, basic, bearer, send
from spark_rollups.publishing.textfile import text_of, write_textfile
from spark_rollups.rollup.tables.reader import Rollups
from spark_rollups.rollup.tables.schemas import FORECASTS

# Always written beside the rollups.
FILE: Final = "streamgauge_rollup.prom"
# Written by `streamgauge report` into its output folder.
REPORT_FILE: Final = "streamgauge_report.prom"
# Older forecasts are not published.
_STALE_SECONDS: Final = 7 * 86_400.0
_JOB: Final = {"job": JOB}
_LABEL: Final = re.compile(r"([a-zA-Z_][a-zA-Z0-9_]*)=(.*)", re.DOTALL)

Log = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Publication:
    """The destinations. Created before the work starts, so that errors in flags are reported first."""

    textfile: Path | None
    receiver: Receiver | None
    labels: dict[str, str]
    reports: str | None = None  # folder or URL of the reports; None: `report` beside the rollups

    def publish(self, gauges: Gauges, at: float, log: Log) -> None:
        """`at` is the timestamp of the samples; raises RollupError."""
        if gauges.merged:
            log(f"{gauges.merged} forecasts differ in labels that the gauges do not have; "
                "the most urgent of each is published")  # fmt: skip
        if self.textfile is not None:
            write_textfile(self.textfile, text_of(gauges.gauges))
            log(f"{len(gauges.gauges):,} gauges in {self.textfile}")
        if self.receiver is not None:
            send(gauges.gauges, self.receiver, at, {**_JOB, **self.labels})
            log(f"{len(gauges.gauges):,} gauges sent to {self.receiver.url}")


def current_gauges(
    rollups: Rollups, succeeded: float, now: float, log: Log, reports: str | None = None
) -> Gauges:
    """Of the newest snapshot; only the timestamps if there is none or it is too old."""
    as_of = max(rollups.snapshot_days(), default=None)
    forecasts = _current_forecasts(rollups, as_of, now, log)
    return gauges_of(forecasts, succeeded, as_of, last_report(rollups.root, reports))


def _current_forecasts(rollups: Rollups, as_of: date | None, now: float, log: Log) -> Any:
    """The table of FORECASTS; empty if too old: a rollup succeeds also without new data."""
    if as_of is None:
        return FORECASTS.empty_table()
    age = now - end_of(as_of)
    if age <= _STALE_SECONDS:
        return rollups.snapshot_table("forecasts", as_of)
    log(f"no forecasts published: the newest are as of {as_of}, {age / 86_400:.0f} days old")
    return FORECASTS.empty_table()


def last_success(rollups: Rollups) -> float:
    """A run without changes commits nothing, but writes the time into the text file."""
    found = _time_in(rollups.root, FILE, catalog.ROLLUP_LAST_SUCCESS_TIMESTAMP_SECONDS)
    return max(rollups.written, found or 0.0)


def last_report(root: Root, reports: str | None) -> float | None:
    """When a report last succeeded; None if there was none yet."""
    metric = catalog.REPORT_LAST_SUCCESS_TIMESTAMP_SECONDS
    if reports is not None:
        return _time_in(Root(reports), REPORT_FILE, metric)
    return _time_in(root, f"report/{REPORT_FILE}", metric)


def _time_in(root: Root, path: str, metric: Metric) -> float | None:
    if not root.exists(path):
        return None
    text = root.read(path).decode("utf-8", "replace")
    found = re.search(rf"^{metric.name} (\d+(?:\.\d+)?)$", text, re.MULTILINE)
    return float(found[1]) if found else None


def publication_of(arguments: argparse.Namespace) -> Publication:
    """Reads the secret files; raises RollupError with the name of the flag."""
    textfile = Path(arguments.textfile) if arguments.textfile else None
    if textfile is not None and textfile.suffix != ".prom":
        raise RollupError(
            f"--textfile: {textfile} does not end in .prom, so the collector ignores it"
        )
    receiver = None
    if arguments.remote_write:
        receiver = Receiver(arguments.remote_write, _authorization(arguments))
    elif _credential_flags(arguments) or arguments.label:
        raise RollupError("--remote-write is missing: the other flags need it")
    labels = dict(map(_label, arguments.label))
    return Publication(textfile, receiver, labels, arguments.reports)


def _credential_flags(arguments: argparse.Namespace) -> list[str]:
    flags = ("remote_write_user", "remote_write_password_file", "remote_write_token_file")
    return [flag for flag in flags if getattr(arguments, flag)]


def _authorization(arguments: argparse.Namespace) -> str:
    if arguments.remote_write_token_file:
        if arguments.remote_write_user:
            raise RollupError("--remote-write-token-file: conflicts with --remote-write-user")
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
        reason = error.strerror if isinstance(error, OSError) else "not a text file"
        raise RollupError(f"{flag}: {path}: {reason}") from error
    if not found:
        raise RollupError(f"{flag}: {path}: empty file")
    return found


def _label(text: str) -> tuple[str, str]:
    found = _LABEL.fullmatch(text)
    if found is None or found[1].startswith("__"):
        raise RollupError(f"--label: {text!r} is not a label like cluster=eu")
    return found[1], found[2]
