"""The data of each figure; report.charts draws it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from spark_rollups.report.facts.forecasts import ExpectedLevel


@dataclass(frozen=True, slots=True)
class Name:
    """The name of a figure or row; `path` holds its parents, from the system down."""

    text: str
    path: str = ""


@dataclass(frozen=True, slots=True)
class FullRange:
    """When a limit is reached. `likely` or `latest` is None if beyond the forecast horizon."""

    name: Name
    earliest: date
    likely: date | None
    latest: date | None
    urgent: bool
    note: str = ""


@dataclass(frozen=True, slots=True)
class FullRanges:
    title: str
    caption: str
    start: date
    end: date
    rows: tuple[FullRange, ...]


@dataclass(frozen=True, slots=True)
class Fan:
    """Past levels and the forecast range against a limit. A day without data interrupts the line."""

    name: Name
    caption: str
    days: tuple[tuple[date, float], ...]
    ahead: tuple[ExpectedLevel, ...]
    limit: float | None
    is_bytes: bool


@dataclass(frozen=True, slots=True)
class Fans:
    title: str
    caption: str
    fans: tuple[Fan, ...]


@dataclass(frozen=True, slots=True)
class ShareRow:
    name: Name
    shares: tuple[float, ...]  # in the order of `labels`


@dataclass(frozen=True, slots=True)
class Shares:
    """Shares of a whole, one bar per row."""

    title: str
    caption: str
    labels: tuple[str, ...]
    classes: tuple[str, ...]  # CSS class of each label
    well: tuple[int, ...]  # labels that need no action
    rows: tuple[ShareRow, ...]


@dataclass(frozen=True, slots=True)
class DayRow:
    name: Name
    days: tuple[float | None, ...]  # 0 to 1; None: no data at all


@dataclass(frozen=True, slots=True)
class DayStrip:
    """One cell per day of the month."""

    title: str
    caption: str
    first: date
    rows: tuple[DayRow, ...]


@dataclass(frozen=True, slots=True)
class Offset:
    name: Name
    low: float
    high: float
    uncertainty: float


@dataclass(frozen=True, slots=True)
class Offsets:
    """Clock offsets during the month, with the threshold of the alert."""

    title: str
    caption: str
    line: float
    rows: tuple[Offset, ...]


@dataclass(frozen=True, slots=True)
class Fill:
    """How much of a limit is used now, and how much is expected in 30 days."""

    name: Name
    used: float
    limit: float
    expected: float | None


@dataclass(frozen=True, slots=True)
class Fills:
    title: str
    caption: str
    line: float  # the threshold of the alert, as a share
    rows: tuple[Fill, ...]


@dataclass(frozen=True, slots=True)
class Bar:
    label: str
    value: float
    text: str


@dataclass(frozen=True, slots=True)
class Bars:
    """Upright bars from zero."""

    title: str
    caption: str
    bars: tuple[Bar, ...]


Figure = FullRanges | Fans | Shares | DayStrip | Offsets | Fills | Bars
