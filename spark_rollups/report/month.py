"""The month of a report (a calendar month in UTC), its error, and its progress lines."""

from __future__ import annotations

import calendar
import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta

Progress = Callable[[str], None]
_PATTERN = re.compile(r"(\d{4})-(\d{2})")


class ReportError(Exception):
    """The report cannot be built; the text is one line."""


@dataclass(frozen=True, slots=True, order=True)
class Month:
    year: int
    number: int  # 1 to 12

    def __str__(self) -> str:
        return f"{self.year:04}-{self.number:02}"

    @property
    def title(self) -> str:
        return f"{calendar.month_name[self.number]} {self.year}"

    @property
    def first(self) -> date:
        return date(self.year, self.number, 1)

    @property
    def last(self) -> date:
        return date(self.year, self.number, calendar.monthrange(self.year, self.number)[1])

    @property
    def before(self) -> Month:
        newest = self.first - timedelta(days=1)
        return Month(newest.year, newest.month)

    def all_days(self) -> tuple[date, ...]:
        return tuple(self.first + timedelta(days=day) for day in range(self.last.day))


def parse_month(text: str, today: date) -> Month:
    """`last` is the month before today."""
    if text == "last":
        return Month(today.year, today.month).before
    found = _PATTERN.fullmatch(text)
    # The month before must be a valid date too.
    if found is None or not 1 <= int(found[2]) <= 12 or int(found[1]) < 1970:
        raise ReportError(f"month {text}: not of the form YYYY-MM, like 2026-11")
    return Month(int(found[1]), int(found[2]))


def silent(_: str) -> None:
    """For callers that show no progress."""


def progress_lines() -> Progress:
    """On stderr. Each line has the seconds since the start, so that a slow step shows."""
    start = time.monotonic()

    def write(text: str) -> None:
        sys.stderr.write(f"{time.monotonic() - start:5.1f} s  {text}\n")
        sys.stderr.flush()

    return write
