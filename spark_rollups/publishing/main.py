"""`python -m spark_rollups.publishing.main --rollups DIR ...`: the last rollup's forecasts, sent again."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from typing import Final

from spark_rollups.command_line import add_publication_arguments
from spark_rollups.filesystem import RollupError
from spark_rollups.publishing.publication import (
    Publication,
    Say,
    current_gauges,
    last_success,
    publication_of,
)
from spark_rollups.rollup.tables.reader import open_rollups

_LEAST_PAUSE: Final = 1.0


def main(argv: Sequence[str] | None = None) -> int:
    words = _parser().parse_args(argv)
    try:
        _publish(words, _chosen(words))
    except RollupError as error:
        sys.stderr.write(f"streamgauge: {error}\n")
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


def _chosen(words: argparse.Namespace) -> Publication:
    publication = publication_of(words)
    if publication.textfile is None and publication.receiver is None:
        raise RollupError("nothing to do: give --textfile or --remote-write")
    return publication


def _publish(words: argparse.Namespace, publication: Publication) -> None:
    if words.every is None:
        _publish_once(words.rollups, publication, _say)
        return
    told: list[str] = []
    while True:
        told = _told_anew(_round(words.rollups, publication), told)
        time.sleep(words.every)


def _publish_once(path: str, publication: Publication, say: Say) -> None:
    now, rollups = time.time(), open_rollups(path)
    publication.publish(current_gauges(rollups, last_success(rollups), now, say), now, say)


def _round(path: str, publication: Publication) -> list[str]:
    """What there is to tell. A receiver that is away, or rollups that are, may come back."""
    lines: list[str] = []
    try:
        _publish_once(path, publication, lines.append)
    except RollupError as error:
        return [f"streamgauge: {error}; trying again"]
    return lines


def _told_anew(lines: list[str], before: list[str]) -> list[str]:
    """Each minute says the same, so it is told only where it is other than the minute before."""
    if lines != before:
        for line in lines:
            _say(line)
    return lines


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m spark_rollups.publishing.main", description="Sends the newest forecasts."
    )
    parser.add_argument("--rollups", required=True, metavar="PATH", help="the rollups' folder")
    parser.add_argument(
        "--every", type=_seconds, metavar="SECONDS",
        help="again and again: Prometheus forgets what was sent once after five minutes",
    )  # fmt: skip
    add_publication_arguments(parser)
    return parser


def _seconds(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not _LEAST_PAUSE <= found < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds from 1 on")
    return found


if __name__ == "__main__":
    sys.exit(main())
