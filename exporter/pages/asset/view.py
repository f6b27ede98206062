"""The page of one asset: numbers, problems, charts, configuration, replicas."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from exporter.model import OwnerNotes, Replica
from exporter.pages.status import links
from exporter.pages.status.level import Level
from exporter.pages.status.problems import Facts, Problem, level_of
from exporter.pages.status.sparkline import Sparkline, rates, sparkline
from exporter.pages.status.wording import UNKNOWN, ago, number, span
from exporter.pages.tables.table import Cell
from exporter.polling.history import History
from exporter.signals.clock import on_exporter_clock
from exporter.signals.conditions.words import Unjudged


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
    tables: tuple[FactTable, ...]
    unjudged: tuple[tuple[str, str], ...]  # reason, conditions
    board: str
    now: float

    @property
    def level(self) -> Level:
        return level_of(self.problems)


@dataclass(frozen=True, slots=True)
class PageSource:
    """What the pages of all assets of a system are made from."""

    system: str
    facts: Facts
    history: History
    grafana: str

    def view(
        self,
        kind: str,
        key: tuple[str, ...],
        state: str,
        problems: tuple[Problem, ...],
        wanted: Iterable[Chart],
        *,
        path: tuple[Fact, ...],
        numbers: Iterable[Fact],
        configuration: tuple[Fact, ...],
        tables: tuple[FactTable, ...] = (),
        unjudged: Unjudged = (),
    ) -> AssetView:
        now = self.facts.now
        return AssetView(
            kind, self.system, key[-1], state, path, problems, tuple(numbers),
            charts(wanted, self.history.columns((kind, *key)), now, problems),
            configuration, tables, by_reason(unjudged), links.board(self.grafana, kind, self.system, key), now,
        )  # fmt: skip

    def moments(
        self, leader: str, moments: Iterable[tuple[str, datetime | None]]
    ) -> Iterator[Fact]:
        """How long ago each was, on the clock of the leader."""
        for title, moment in moments:
            at = on_exporter_clock(moment, leader, self.facts.offsets)
            yield Fact(title, ago(None if at is None else self.facts.now - at))


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


def by_reason(unjudged: Unjudged) -> tuple[tuple[str, str], ...]:
    """Each reason with its conditions."""
    found: dict[str, list[str]] = {}
    for word, reason in unjudged:
        found.setdefault(reason, []).append(word.replace("_", " "))
    return tuple((reason, ", ".join(words)) for reason, words in found.items())


def per_second(value: float) -> str:
    return f"{number(value)}/s"


def shown(facts: Iterable[tuple[str, object]]) -> tuple[Fact, ...]:
    """Configuration as it is set: empty and unlimited values are left out."""
    return tuple(
        Fact(title, _text(value)) for title, value in facts if value not in (None, "", (), False)
    )


def owner_notes(notes: OwnerNotes) -> tuple[tuple[str, object], ...]:
    return (
        ("Owner", notes.owner),
        ("Team", notes.team),
        ("Highest severity", notes.severity),
        ("Muted", notes.ignore),
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
