"""What is unwell in all systems of an exporter, gravest first: for terminals and scripts."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from exporter.pages.status.conditions import ConditionView
from exporter.pages.status.level import Level
from exporter.pages.status.view import StatusView, SystemView, freshness, span, troubles

PATH = "/api/unwell"
MAX_ROWS = 200


class UnwellRow(Struct, frozen=True):
    level: int  # of pages.status.level
    system: str
    where: str  # empty: the system itself
    what: str
    since_seconds: float | None = None
    evidence: str = ""

    @property
    def since(self) -> str:
        return span(self.since_seconds) if self.since_seconds is not None else ""


class SystemSummary(Struct, frozen=True):
    name: str
    state: str  # fresh, partial, stale or waiting
    freshness: str
    streams: int
    consumers: int


class UnwellReport(Struct, frozen=True):
    """The body of `GET /api/unwell`."""

    version: str
    now: float
    systems: tuple[SystemSummary, ...]
    rows: tuple[UnwellRow, ...]
    hidden: int = 0  # rows beyond the maximum

    @property
    def level(self) -> Level:
        return Level(max((row.level for row in self.rows), default=Level.OK))

    @property
    def responded(self) -> bool:
        """Whether every system has usable data."""
        return bool(self.systems) and all(
            each.state in ("fresh", "partial") for each in self.systems
        )


def unwell_report(view: StatusView) -> UnwellReport:
    rows = [row for system in view.systems for row in _rows(system)]
    rows.sort(key=lambda row: (-row.level, -(row.since_seconds or 0.0), row.where))
    hidden = sum(system.conditions.hidden for system in view.systems)
    return UnwellReport(
        version=view.version,
        now=view.now,
        systems=tuple(map(_summary, view.systems)),
        rows=tuple(rows[:MAX_ROWS]),
        hidden=hidden + max(0, len(rows) - MAX_ROWS),
    )


def _summary(system: SystemView) -> SystemSummary:
    return SystemSummary(
        system.name, system.state, freshness(system), system.streams, system.consumers
    )


def _rows(system: SystemView) -> Iterator[UnwellRow]:
    evidence = {
        f"{row.account} › {row.stream} › {row.consumer}": row.evidence
        for row in system.consumer_rows
    }
    for row in system.conditions.rows:
        if row.level is not Level.OK:
            yield _condition(system.name, row, evidence.get(row.where, ""))
    for trouble in troubles(system, conditions=False):
        yield UnwellRow(trouble.level, system.name, "", trouble.text)


def _condition(system: str, row: ConditionView, evidence: str) -> UnwellRow:
    where = row.where if row.kind != "server" else f"server {row.where}"
    return UnwellRow(row.level, system, where, row.text, row.since_seconds, evidence)
