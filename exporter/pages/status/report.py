"""The report for terminals and scripts: the same rows as on the overview."""

from __future__ import annotations

from msgspec import Struct

from exporter.pages.status.level import Level
from exporter.pages.status.unwell import UnwellRow
from exporter.pages.status.view import StatusView, SystemView


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
    headline: str
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
    systems = tuple(map(_summary, view.systems))
    return UnwellReport(view.version, view.now, view.headline, systems, view.rows, view.hidden)


def _summary(system: SystemView) -> SystemSummary:
    return SystemSummary(
        system.name, system.state, system.freshness, system.streams, system.consumers
    )
