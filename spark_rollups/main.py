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
from spark_rollups.progress import Progress
from spark_rollups.publishing.publication import (
    FILE,
    Publication,
    current_gauges,
    publication_of,
)
from spark_rollups.publishing.textfile import text_of
from spark_rollups.rollup.series_dimension import FOLDED_LABELS
from spark_rollups.rollup.tables.reader import Rollups
from spark_rollups.session import Session, SparkSettings, open_session
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
        sys.stderr.write(
            "streamgauge: interrupted; finished tables are kept, the next run computes the rest\n"
        )
        return 130


def _run(arguments: argparse.Namespace) -> int:
    settings = RollupSettings(
        arguments.archive, arguments.out, arguments.first, arguments.last, arguments.from_raw, arguments.forecasts,
        folded=tuple(sorted({*FOLDED_LABELS, *arguments.fold})),
    )  # fmt: skip
    s3 = any(Root(each).spark.startswith("s3a://") for each in (arguments.archive, arguments.out))
    spark = SparkSettings(arguments.master, arguments.remote, dict(arguments.conf), s3)
    publication = publication_of(arguments)
    sessions: list[Session] = []
    began, progress = time.monotonic(), Progress()

    def start() -> Session:
        sessions.append(open_session(spark, progress.log))
        return sessions[0]

    try:
        result = rollup(settings, start, progress)
    finally:
        progress.end()
        for session in sessions:
            session.close()
    sys.stdout.write(_summary(result, settings.out, time.monotonic() - began))
    _publish(result.rollups, publication)
    return 0


def _publish(rollups: Rollups, publication: Publication) -> None:
    """The time of success is now, also without changes."""
    now = time.time()
    found = current_gauges(rollups, now, now, _log, publication.reports)
    rollups.root.write(FILE, text_of(found.gauges))
    publication.publish(found, now, _log)


def _summary(result: Result, out: str, seconds: float) -> str:
    kept = len(result.rollups.days()) - len(result.days)
    if not result.days and not result.snapshots:
        return f"{kept} days, no changes\n"
    lines = [
        f"{len(result.days)} days written from {result.rows:,} rows in {seconds:.1f} s, "
        f"{kept} unchanged"
    ]
    if result.snapshots:
        lines.append(f"forecasts as of {', '.join(result.snapshots)}")
    lines.append(f"version {result.rollups.version('daily').number} of the table daily in {out}")
    return "\n".join(lines) + "\n"


def _log(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def _printable(text: str) -> str:
    """Escapes control characters in names."""
    return "".join(char if char.isprintable() else f"\\x{ord(char):02x}" for char in text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
