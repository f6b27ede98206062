"""The report as plain data: chapters, tables, figures, findings.

None means unknown and infinity means no limit; renderers never write 0 for either.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime

from spark_rollups.report import formatting as fmt
from spark_rollups.report.actions import Action
from spark_rollups.report.facts.assets import Subject
from spark_rollups.report.facts.owners import Owner
from spark_rollups.report.figures import Figure
from spark_rollups.report.findings.finding import Finding
from spark_rollups.report.formatting import Kind, Level, Value
from spark_rollups.report.month import Month


@dataclass(frozen=True, slots=True)
class Column:
    key: str  # in CSV and JSON
    title: str
    kind: Kind = Kind.TEXT
    hint: str = ""
    shown: bool = True  # False: only in CSV and JSON
    line: float | None = None  # values from this threshold on are marked
    falling: bool = False  # values below the threshold are marked instead

    def is_beyond(self, value: Value) -> bool:
        if self.line is None or not isinstance(value, int | float) or math.isinf(value):
            return False
        return value <= self.line if self.falling else value >= self.line


@dataclass(frozen=True, slots=True)
class Row:
    values: tuple[Value, ...]
    level: Level = Level.NORMAL
    days: tuple[float | None, ...] = ()  # of the month, for a sparkline


@dataclass(frozen=True, slots=True)
class Table:
    """The `identity` columns come first. The page joins them in one cell; the last is the name."""

    key: str  # the name of its CSV file
    title: str
    identity: tuple[Column, ...]
    columns: tuple[Column, ...]
    rows: Sequence[Row]
    note: str = ""
    empty: str = "Nothing to show."  # shown in place of an empty table
    days_of: Column | None = None  # what the sparklines show
    source: str = ""  # the tables that it was made from, and how many days of them

    @property
    def all_columns(self) -> tuple[Column, ...]:
        return (*self.identity, *self.columns)


@dataclass(frozen=True, slots=True)
class Chapter:
    key: str  # the anchor in the page
    title: str
    sentences: tuple[str, ...]
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()
    source: str = ""  # of its figures


@dataclass(frozen=True, slots=True)
class Comparison:
    """One number of the whole system, this month and the month before."""

    key: str
    title: str
    kind: Kind
    now: float | None
    before: float | None
    more_is_bad: bool | None = None  # None: neither good nor bad
    basis: str = "at the end"  # the period of the number

    @property
    def level(self) -> Level:
        """WARNING if worse by 10 % or more."""
        if self.more_is_bad is None or self.now is None or self.before is None:
            return Level.NORMAL
        worse = self.now - self.before if self.more_is_bad else self.before - self.now
        return Level.WARNING if worse > 0 and worse >= 0.1 * abs(self.before) else Level.NORMAL


@dataclass(frozen=True, slots=True)
class FrontPage:
    """The first page, a summary for managers."""

    headline: str
    level: Level
    sentences: tuple[str, ...]
    full: Figure | None  # when limits are reached
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
    actions: tuple[Action, ...]
    findings: tuple[Finding, ...]
    chapters: tuple[Chapter, ...]
    owners: Mapping[Subject, Owner] = field(default_factory=dict)  # of assets
    owner: str = ""  # of a page for one owner

    def tables(self) -> list[Table]:
        return [table for chapter in self.chapters for table in chapter.tables]

    @property
    def title(self) -> str:
        return f"Capacity report, {self.month.title}{f', {self.owner}' if self.owner else ''}"

    @property
    def coverage(self) -> str:
        first, last = self.covered[0], self.covered[-1]
        whole = len(self.month.all_days())
        return f"{fmt.day_range(first, last)}, {len(self.covered)} of {whole} days"

    @property
    def can_compare(self) -> bool:
        return any(each.before is not None for each in self.front.comparisons)
