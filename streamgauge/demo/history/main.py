"""Writes an invented history of a small NATS system into a new archive directory.

`python -m streamgauge.demo.history.main --out DIR [--until DAY] [--days 60]`; always the same values.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Final

from archive.progress import ConsoleProgress
from archive.tables.storage import StorageError
from streamgauge.demo.history.archive_writer import Written, write_archive
from streamgauge.demo.history.openmetrics import write_openmetrics
from streamgauge.demo.history.recorded_series import HistoryError
from streamgauge.demo.history.recording import record
from streamgauge.demo.history.time_grid import make_grid

DAYS: Final = 60
STEP_SECONDS: Final = 300
_STEPS: Final = (60, 300, 600)


def write_history(
    folder: Path,
    until: date,
    days: int = DAYS,
    step: int = STEP_SECONDS,
    progress: ConsoleProgress | None = None,
    openmetrics: Path | None = None,
) -> Written:
    """Raises HistoryError or StorageError."""
    recording = record(make_grid(until, days, step))
    if openmetrics is not None:
        write_openmetrics(recording, openmetrics)
    with (progress or ConsoleProgress()).work("writing the history", days) as done:
        return write_archive(recording, folder, done)


def main(argv: Sequence[str] | None = None) -> int:
    words = _parser().parse_args(argv)
    try:
        written = write_history(
            Path(words.out), words.until, words.days, words.step, openmetrics=words.openmetrics
        )
    except (HistoryError, StorageError) as error:
        sys.stderr.write(f"history: {error}\n")
        return 2
    print(
        f"{written.samples:,} samples of {written.series:,} series on {_counted(written.days)}, "
        f"{written.size / 1e6:.1f} MB, in {words.out}"
    )
    return 0


def _counted(days: int) -> str:
    return "1 day" if days == 1 else f"{days} days"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m streamgauge.demo.history.main", description=__doc__.split("\n")[0]
    )
    yesterday = datetime.now(UTC).date() - timedelta(days=1)
    parser.add_argument("--out", required=True, metavar="DIR", help="the new archive directory")
    parser.add_argument(
        "--until", type=_day, default=yesterday, metavar="DAY",
        help="the last whole day (UTC), like 2026-11-15 (default: yesterday)",
    )  # fmt: skip
    parser.add_argument("--days", type=_days, default=DAYS, metavar="N", help=f"({DAYS})")
    parser.add_argument(
        "--step", type=int, choices=_STEPS, default=STEP_SECONDS,
        help=f"seconds between two samples ({STEP_SECONDS})",
    )  # fmt: skip
    parser.add_argument(
        "--openmetrics", type=Path, metavar="FILE", help="also as text, for promtool"
    )
    return parser


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not a day like 2026-11-15") from error


def _days(text: str) -> int:
    if text.isdecimal() and 1 <= int(text) <= 400:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a number of days from 1 to 400")


if __name__ == "__main__":
    sys.exit(main())
