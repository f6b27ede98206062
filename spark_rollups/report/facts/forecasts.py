"""Forecasts and trends of a snapshot."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from spark_rollups.forecasting.models.result import Outlook
from spark_rollups.report.facts.assets import Name, Source, Subject
from spark_rollups.rollup.tables.schemas import HORIZONS

_FILLING = (Outlook.REACHED, Outlook.ACT, Outlook.EXPECTED, Outlook.WATCH)


@dataclass(frozen=True, slots=True)
class ExpectedLevel:
    """A level expected on a day: low, middle, high."""

    day: date
    low: float
    middle: float
    high: float


@dataclass(frozen=True, slots=True)
class Forecast:
    """One level against one limit; docs/forecast.md explains the columns."""

    as_of: date
    subject: str  # stream, server or account
    metric: str
    limit_name: str  # bytes, messages, storage or memory; "storage R3" of a tier
    system: str
    account: str
    stream: str
    server: str
    level: float | None
    limit: float | None
    outlook: str
    reason: str
    earliest: date | None
    likely: date | None
    latest: date | None
    not_before: date | None
    model: str
    error: float | None
    linear_error: float | None
    growth_per_day: float | None
    days: int
    dropped: int
    ahead: tuple[ExpectedLevel, ...]

    @property
    def name(self) -> str:
        return self.stream or self.server or self.account

    @property
    def asset(self) -> Name:
        """The stream; without one, the name of the stream is empty."""
        return (self.system, self.account, self.stream)

    @property
    def identity(self) -> Name:
        """In tables of limits."""
        return (self.system, self.account if self.stream else "", self.name)

    @property
    def fill(self) -> float | None:
        return self.level / self.limit if self.level is not None and self.limit else None

    @property
    def key(self) -> tuple[str, ...]:
        return (self.metric, self.system, self.account, self.stream, self.server, self.limit_name)

    @property
    def tier(self) -> str:
        """The tier of an account limit, as in "storage R3"; else ""."""
        return self.limit_name.partition(" ")[2]

    @property
    def is_bytes(self) -> bool:
        return self.limit_name != "messages"

    @property
    def fills(self) -> bool:
        """Whether the limit is reached, or may be within the forecast horizon."""
        return self.outlook in _FILLING

    @property
    def first_date(self) -> date | None:
        return self.earliest or self.likely or self.latest

    def at(self, days: int) -> ExpectedLevel | None:
        wanted = self.as_of + timedelta(days=days)
        return next((ahead for ahead in self.ahead if ahead.day == wanted), None)


@dataclass(frozen=True, slots=True)
class Trend:
    metric: str
    name: tuple[str, ...]  # system, account, stream, consumer, server
    level: float | None
    per_day: float | None
    low: float | None
    high: float | None
    direction: str
    days: int


def newest_snapshot(source: Source, last: date) -> date | None:
    """The newest snapshot up to this day."""
    return max((day for day in source.snapshot_days() if day <= last), default=None)


def forecasts_of(source: Source, as_of: date | None) -> list[Forecast]:
    if as_of is None:
        return []
    rows = source.snapshot_table("forecasts", as_of).to_pylist()
    # Levels without a limit are forecast too.
    return [_forecast(row) for row in rows if row["limit"] is not None]


def _forecast(row: dict[str, Any]) -> Forecast:
    ahead = tuple(
        ExpectedLevel(
            row["as_of"] + timedelta(days=days), *(row[f"level_{days}d_q{q}"] for q in (10, 50, 90))
        )
        for days in HORIZONS
        if row[f"level_{days}d_q50"] is not None
    )
    fields = {name: row[name] for name in Forecast.__slots__ if name != "ahead"}
    return Forecast(**fields, ahead=ahead)


def trends_of(source: Source, as_of: date | None) -> list[Trend]:
    if as_of is None:
        return []
    rows = source.snapshot_table("trends", as_of).to_pylist()
    fields = [name for name in Trend.__slots__ if name != "name"]
    return [
        Trend(
            name=tuple(row[label] for label in Subject.__slots__), **{name: row[name] for name in fields}
        )
        for row in rows
    ]  # fmt: skip
