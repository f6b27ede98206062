"""`streamgauge rollup`: from the command line to a finished run, or to one line that says why not."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

from spark_rollups.command_line import parser
from spark_rollups.filesystem import Place, RollupError
from spark_rollups.jobs.progress import Progress
from spark_rollups.jobs.rollup import Result, rollup
from spark_rollups.jobs.settings import RollupSettings
from spark_rollups.jobs.spark_runner import SparkRunner
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
    """0 when the result is there, 1 when Spark failed, 2 when it cannot be; a line says what stays."""
    try:
        return _run(parser().parse_args(argv))
    except SparkFailedError as error:
        # A fault of Spark's, or ours in a worker: whoever mends it needs the whole story.
        sys.stderr.write(f"{error.story}\nstreamgauge: {_printable(str(error))}\n")
        return 1
    except RollupError as error:
        sys.stderr.write(f"streamgauge: {_printable(str(error))}\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write("streamgauge: interrupted; finished days are kept for the next run\n")
        return 130


def _run(words: argparse.Namespace) -> int:
    settings = RollupSettings(
        words.archive, words.out, words.first, words.last, words.from_raw, words.forecasts,
        folded=tuple(sorted({*FOLDED_LABELS, *words.fold})),
    )  # fmt: skip
    spark = SparkSettings(words.master, words.remote, dict(words.conf))
    publication = publication_of(words)
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
    _publish(Rollups(Place(settings.out), result.manifest), publication)
    return 0


def _publish(rollups: Rollups, publication: Publication) -> None:
    """The time of success is now, also where nothing had changed."""
    now = time.time()
    found = current_gauges(rollups, now, now, _say)
    rollups.place.write(FILE, text_of(found.gauges))
    publication.publish(found, now, _say)


def _summary(result: Result, out: str, seconds: float) -> str:
    made = len(result.read) + len(result.taken_up)
    kept = len(result.manifest.days) - made
    if not made and not result.asof:
        return f"{kept} days, nothing has changed\n"
    told = [f"{made} days made from {result.rows:,} rows in {seconds:.1f} s, {kept} kept"]
    if result.taken_up:
        told.append(f"{len(result.taken_up)} of them finished by a run that failed")
    if result.asof:
        told.append(f"forecasts as of {', '.join(result.asof)}")
    told.append(f"result {result.manifest.number} in {out}")
    return "\n".join(told) + "\n"


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def _printable(text: str) -> str:
    """Names from outside must not move a cursor."""
    return "".join(char if char.isprintable() else f"\\x{ord(char):02x}" for char in text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
