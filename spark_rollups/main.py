"""`streamgauge rollup`: hourly and daily tables and forecasts from the archive."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

from spark_rollups.command_line import parser
from spark_rollups.filesystem import RollupError, Root
from spark_rollups.jobs.rollup import Result, rollup
from spark_rollups.jobs.settings import RollupSettings
from spark_rollups.jobs.spark_runner import SparkRunner
from spark_rollups.progress import Progress
from spark_rollups.publishing.publication import (
    FILE,
    Publication,
    current_gauges,
    publication_of,
)
from spark_rollups.publishing.textfile import text_of
from spark_rollups.rollup.series_identity import FOLDED_LABELS
from spark_rollups.rollup.tables.reader import Rollups
from spark_rollups.session import SparkSettings
from spark_rollups.spark_errors import SparkFailedError


def main(argv: Sequence[str]) -> int:
    """Exit code 0 on success, 1 if Spark failed, 2 on other errors."""
    try:
        return _run(parser().parse_args(argv))
    except SparkFailedError as error:
        # A failure of Spark or a bug in a worker: print the full text for debugging.
        sys.stderr.write(f"{error.story}\nstreamgauge: {_printable(str(error))}\n")
        return 1
    except RollupError as error:
        sys.stderr.write(f"streamgauge: {_printable(str(error))}\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write("streamgauge: interrupted; finished days are kept for the next run\n")
        return 130


def _run(arguments: argparse.Namespace) -> int:
    settings = RollupSettings(
        arguments.archive, arguments.out, arguments.first, arguments.last, arguments.from_raw, arguments.forecasts,
        folded=tuple(sorted({*FOLDED_LABELS, *arguments.fold})),
    )  # fmt: skip
    spark = SparkSettings(arguments.master, arguments.remote, dict(arguments.conf))
    publication = publication_of(arguments)
    runners: list[SparkRunner] = []

    def start() -> SparkRunner:
        runners.append(SparkRunner(spark))
        return runners[0]

    began, progress = time.monotonic(), Progress()
    try:
        result = rollup(settings, start, progress)
    finally:
        progress.end()
        for runner in runners:
            runner.close()
    sys.stdout.write(_summary(result, settings.out, time.monotonic() - began))
    _publish(Rollups(Root(settings.out), result.manifest), publication)
    return 0


def _publish(rollups: Rollups, publication: Publication) -> None:
    """The time of success is now, also without changes."""
    now = time.time()
    found = current_gauges(rollups, now, now, _log)
    rollups.root.write(FILE, text_of(found.gauges))
    publication.publish(found, now, _log)


def _summary(result: Result, out: str, seconds: float) -> str:
    made = len(result.read) + len(result.resumed)
    kept = len(result.manifest.days) - made
    if not made and not result.snapshots:
        return f"{kept} days, no changes\n"
    lines = [f"{made} days written from {result.rows:,} rows in {seconds:.1f} s, {kept} unchanged"]
    if result.resumed:
        lines.append(f"{len(result.resumed)} of them from a failed earlier run")
    if result.snapshots:
        lines.append(f"forecasts as of {', '.join(result.snapshots)}")
    lines.append(f"result {result.manifest.number} in {out}")
    return "\n".join(lines) + "\n"


def _log(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def _printable(text: str) -> str:
    """Escapes control characters in names."""
    return "".join(char if char.isprintable() else f"\\x{ord(char):02x}" for char in text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
