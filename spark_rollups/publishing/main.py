"""`python -m spark_rollups.publishing.main --rollups DIR ...`: publishes the newest forecasts."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from typing import Final

from spark_rollups.command_line import add_publication_arguments
from spark_rollups.filesystem import RollupError
from spark_rollups.publishing.publication import (
    Log,
    Publication,
    current_gauges,
    last_success,
    publication_of,
)
from spark_rollups.rollup.tables.reader import open_rollups

_LEAST_PAUSE: Final = 1.0


def main(argv: Sequence[str] | None = None) -> int:
    arguments = _parser().parse_args(argv)
    try:
        _publish(arguments, _chosen(arguments))
    except RollupError as error:
        sys.stderr.write(f"streamgauge: {error}\n")
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


def _chosen(arguments: argparse.Namespace) -> Publication:
    publication = publication_of(arguments)
    if publication.textfile is None and publication.receiver is None:
        raise RollupError("nothing to do: set --textfile or --remote-write")
    return publication


def _publish(arguments: argparse.Namespace, publication: Publication) -> None:
    if arguments.every is None:
        _publish_once(arguments.rollups, publication, _log)
        return
    logged: list[str] = []
    while True:
        logged = _log_changes(_round(arguments.rollups, publication), logged)
        time.sleep(arguments.every)


def _publish_once(path: str, publication: Publication, log: Log) -> None:
    now, rollups = time.time(), open_rollups(path)
    publication.publish(
        current_gauges(rollups, last_success(rollups), now, log, publication.reports), now, log
    )


def _round(path: str, publication: Publication) -> list[str]:
    """The lines to log. Retries on errors: the receiver or the rollups may come back."""
    lines: list[str] = []
    try:
        _publish_once(path, publication, lines.append)
    except RollupError as error:
        return [f"streamgauge: {error}; retrying"]
    return lines


def _log_changes(lines: list[str], before: list[str]) -> list[str]:
    """Logs the lines only if they differ from the last round."""
    if lines != before:
        for line in lines:
            _log(line)
    return lines


def _log(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m spark_rollups.publishing.main",
        description="Publishes the newest forecasts.",
    )
    parser.add_argument(
        "--rollups", required=True, metavar="PATH", help="folder or URL of the rollups"
    )
    parser.add_argument(
        "--every", type=_seconds, metavar="SECONDS",
        help="repeat at this interval: Prometheus drops samples from queries after five minutes",
    )  # fmt: skip
    add_publication_arguments(parser)
    return parser


def _seconds(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not _LEAST_PAUSE <= found < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds of at least 1")
    return found


if __name__ == "__main__":
    sys.exit(main())
