"""What a picture shows, as plain data; report_svg draws it. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from spark_rollups.report.facts.forecasts import ExpectedLevel


@dataclass(frozen=True, slots=True)
class Name:
    """Of what a picture or a row of it is about; the path tells where it belongs."""

    text: str
    path: str = ""


@dataclass(frozen=True, slots=True)
class FullRange:
    """When a limit is reached. None for likely or latest: beyond the end of the forecast."""

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
    """Days behind and the range ahead, against a limit. A day without data breaks the line."""

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
    shares: tuple[float, ...]  # in the order of the words


@dataclass(frozen=True, slots=True)
class Shares:
    """How a whole divides, as one bar a row."""

    title: str
    caption: str
    labels: tuple[str, ...]
    classes: tuple[str, ...]  # the colour of each word, by meaning
    rows: tuple[ShareRow, ...]


@dataclass(frozen=True, slots=True)
class DayRow:
    name: Name
    days: tuple[float | None, ...]  # 0 to 1; None: no data at all


@dataclass(frozen=True, slots=True)
class DayStrip:
    """One cell a day of the month."""

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
    """Where clocks were during the month, around zero, with the line of the alert."""

    title: str
    caption: str
    line: float
    rows: tuple[Offset, ...]


@dataclass(frozen=True, slots=True)
class Fill:
    """How much of a limit is used, and how much is expected in a month."""

    name: Name
    used: float
    limit: float
    expected: float | None


@dataclass(frozen=True, slots=True)
class Fills:
    title: str
    caption: str
    line: float  # share from which on an alert speaks
    rows: tuple[Fill, ...]


Figure = FullRanges | Fans | Shares | DayStrip | Offsets | Fills
