"""What a report is, before anybody draws it: chapters of tables and pictures, as plain data. Pure.

None is unknown and infinity is "no limit"; the renderers say so in words and never write 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from spark_rollups.report.cell_values import Kind, Level, Value
from spark_rollups.report.figure_data import Figure
from spark_rollups.report.findings.finding import Finding
from spark_rollups.report.month import Month


@dataclass(frozen=True, slots=True)
class Column:
    key: str  # stands in CSV and JSON: never rename
    title: str
    kind: Kind = Kind.TEXT
    hint: str = ""
    shown: bool = True  # False: only in CSV and JSON
    line: float | None = None  # from here on a value is marked
    falling: bool = False  # the line is a floor, not a ceiling

    def is_beyond(self, value: Value) -> bool:
        if self.line is None or not isinstance(value, int | float) or math.isinf(value):
            return False
        return value <= self.line if self.falling else value >= self.line


@dataclass(frozen=True, slots=True)
class Row:
    values: tuple[Value, ...]
    level: Level = Level.NORMAL


@dataclass(frozen=True, slots=True)
class Table:
    """`identity` columns come first and become one cell on the page: the last one is the name."""

    key: str  # the name of its CSV file: never rename
    title: str
    identity: tuple[Column, ...]
    columns: tuple[Column, ...]
    rows: Sequence[Row]
    note: str = ""
    empty: str = "Nothing to show."  # what an empty table means

    @property
    def all_columns(self) -> tuple[Column, ...]:
        return (*self.identity, *self.columns)


@dataclass(frozen=True, slots=True)
class Chapter:
    key: str  # the anchor: never rename
    title: str
    sentences: tuple[str, ...]
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()
    as_list: bool = False  # the sentences do not belong together


@dataclass(frozen=True, slots=True)
class Comparison:
    """One number of the whole system, this month and the month before."""

    key: str
    title: str
    kind: Kind
    now: float | None
    before: float | None
    more_is_bad: bool | None = None  # None: neither good nor bad
    basis: str = "at the end"  # what the number is taken over

    @property
    def level(self) -> Level:
        """Worse by a tenth and more is worth a look."""
        if self.more_is_bad is None or self.now is None or self.before is None:
            return Level.NORMAL
        worse = self.now - self.before if self.more_is_bad else self.before - self.now
        return Level.WARNING if worse > 0 and worse >= 0.1 * abs(self.before) else Level.NORMAL


@dataclass(frozen=True, slots=True)
class FrontPage:
    """The page that a manager reads."""

    headline: str
    level: Level
    sentences: tuple[str, ...]
    full: Figure | None  # what will be full and when
    comparisons: tuple[Comparison, ...]
    worse: tuple[str, ...]
    better: tuple[str, ...]
    unknown: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Report:
    month: Month
    made: datetime
    systems: tuple[str, ...]
    covered: tuple[date, ...]  # days of the month with data
    front: FrontPage
    findings: tuple[Finding, ...]
    chapters: tuple[Chapter, ...]

    def tables(self) -> list[Table]:
        return [table for chapter in self.chapters for table in chapter.tables]


def sorted_rows(rows: Sequence[Row], key: Callable[[Row], float | None]) -> list[Row]:
    """The largest first; what is unknown comes last; else as given."""

    def order(row: Row) -> tuple[bool, float]:
        value = key(row)
        return value is None, -(value or 0.0)

    return sorted(rows, key=order)
