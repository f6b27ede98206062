"""A calendar month in UTC: what a report is about."""

from __future__ import annotations

import calendar
import re
from dataclasses import dataclass
from datetime import date, timedelta

_WRITTEN = re.compile(r"(\d{4})-(\d{2})")


class ReportError(Exception):
    """One line that names what is wrong and where; the command ends with it."""


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


def parse_month(written: str) -> Month:
    found = _WRITTEN.fullmatch(written)
    # The year before must be one that dates know.
    if found is None or not 1 <= int(found[2]) <= 12 or int(found[1]) < 1970:
        raise ReportError(f"month {written}: write it as YYYY-MM, like 2026-11")
    return Month(int(found[1]), int(found[2]))
