"""The page of one asset: numbers, problems, charts, configuration, replicas."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from exporter.model import Replica
from exporter.pages.status.level import Level
from exporter.pages.status.problems import Problem, level_of
from exporter.pages.status.sparkline import Sparkline, rates, sparkline
from exporter.pages.status.wording import UNKNOWN, ago, number, span
from exporter.pages.tables.table import Cell


@dataclass(frozen=True, slots=True)
class Fact:
    title: str
    text: str
    small: str = ""
    href: str = ""


@dataclass(frozen=True, slots=True)
class FactTable:
    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True, slots=True)
class AssetView:
    kind: str
    system: str
    name: str
    state: str
    path: tuple[Fact, ...]  # the assets that it belongs to, with links
    problems: tuple[Problem, ...]
    numbers: tuple[Fact, ...]
    charts: tuple[Sparkline, ...]
    configuration: tuple[Fact, ...]
    tables: tuple[FactTable, ...] = ()
    unjudged: tuple[tuple[str, str], ...] = ()  # reason, conditions
    board: str = ""
    now: float = 0.0

    @property
    def level(self) -> Level:
        return level_of(self.problems)


@dataclass(frozen=True, slots=True)
class Chart:
    column: str
    title: str
    text: Callable[[float], str]
    rate: bool = False  # the growth a second of a counter


def charts(
    wanted: Iterable[Chart],
    columns: Mapping[str, Sequence[float]],
    now: float,
    problems: Sequence[Problem],
) -> tuple[Sparkline, ...]:
    """Those with a known value; none without a history."""
    if not columns:
        return ()
    times, gravest = columns["at"], problems[0].since_seconds if problems else None
    since = None if gravest is None else now - gravest
    drawn = (
        sparkline(
            chart.title,
            times,
            rates(times, columns[chart.column]) if chart.rate else columns[chart.column],
            chart.text,
            now,
            since,
        )
        for chart in wanted
    )
    return tuple(each for each in drawn if each is not None)


def per_second(value: float) -> str:
    return f"{number(value)}/s"


def shown(facts: Iterable[tuple[str, object]]) -> tuple[Fact, ...]:
    """Configuration as it is set: empty and unlimited values are left out."""
    return tuple(
        Fact(title, _text(value)) for title, value in facts if value not in (None, "", (), False)
    )


def _text(value: object) -> str:
    if value is True:
        return "yes"
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) else str(value)


def seconds(value: float | None) -> str | None:
    return None if value is None else span(value)


def replica_table(leader: str, replicas: Sequence[Replica], unit: str) -> tuple[FactTable, ...]:
    if not replicas:
        return ()
    rows = [(Cell(leader or UNKNOWN), Cell("leader"), Cell(UNKNOWN), Cell(UNKNOWN))]
    rows += [
        (
            Cell(each.server),
            Cell("offline", level=Level.WARNING) if each.offline else Cell("follower"),
            Cell(f"{each.lag:,}"),
            Cell(ago(each.active_seconds)),
        )
        for each in replicas
    ]
    return (FactTable("Replicas", ("Server", "Role", f"Lag ({unit})", "Last seen"), tuple(rows)),)
