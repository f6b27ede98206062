"""The data of the overview, and its headline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from exporter.pages.status.audit_view import AuditView
from exporter.pages.status.level import Level
from exporter.pages.status.unwell import MAX_ROWS, UnwellRow, gravest_first
from exporter.pages.status.wording import ago, count, listed

_MIN_GROUP = 4

State = Literal["fresh", "stale", "waiting", "partial"]


@dataclass(frozen=True, slots=True)
class DocLink:
    title: str
    href: str


@dataclass(frozen=True, slots=True)
class RequestView:
    request: str
    ok: bool
    seconds: float | None  # duration of the last request; None before the first
    age_seconds: float | None  # since the last successful response; None without one
    reason: str = ""  # a reason of poll_errors_total
    detail: str = ""

    @property
    def why(self) -> str:
        return ": ".join(filter(None, (self.reason, self.detail)))


@dataclass(frozen=True, slots=True)
class SystemView:
    name: str
    source: str
    targets: tuple[str, ...]
    state: State
    age_seconds: float | None
    poll_seconds: float | None
    servers_responding: int
    servers_expected: int
    accounts: int
    streams: int
    consumers: int
    series: int
    requests: tuple[RequestView, ...] = ()
    unwell: tuple[UnwellRow, ...] = ()
    hidden: int = 0  # unwell assets beyond the maximum
    unjudged: tuple[tuple[str, str, int], ...] = ()  # condition, reason, number of assets
    notes: tuple[str, ...] = ()
    audit: AuditView | None = None  # None before the first audit, or when it is off

    @property
    def succeeded(self) -> int:
        return sum(request.ok for request in self.requests)

    @property
    def level(self) -> Level:
        return Level(max((row.level for row in self.unwell), default=Level.OK))

    @property
    def freshness(self) -> str:
        if self.state == "waiting":
            return "waiting for the first response"
        return f"{self.state}, {ago(self.age_seconds)}"

    @property
    def summary(self) -> tuple[str, ...]:
        """The parts of its one line."""
        requests = count(len(self.requests), "request")
        parts = [self.freshness, f"{self.succeeded} of {requests} succeeded"]
        if self.servers_expected:
            parts.append(f"{self.servers_responding}/{self.servers_expected} servers")
        if self.state in ("fresh", "partial"):  # else the numbers are unknown
            parts += [count(self.streams, "stream"), count(self.consumers, "consumer")]
        return tuple(parts)


@dataclass(frozen=True, slots=True)
class RowGroup:
    """Assets with the same problem from the same cause, as streams with a replica on one server."""

    rows: tuple[UnwellRow, ...]

    @property
    def first(self) -> UnwellRow:
        return self.rows[0]


def grouped(rows: tuple[UnwellRow, ...]) -> list[RowGroup]:
    """In the order of their first rows; a few equal ones stay apart."""
    found: dict[object, list[UnwellRow]] = {}
    for row in rows:
        also = tuple(problem.word for problem in row.also)
        found.setdefault((row.system, row.kind, row.what, row.evidence, also), []).append(row)
    apart: list[RowGroup] = []
    for row in rows:
        also = tuple(problem.word for problem in row.also)
        equal = found[row.system, row.kind, row.what, row.evidence, also]
        if len(equal) < _MIN_GROUP:
            apart.append(RowGroup((row,)))
        elif equal[0] is row:
            apart.append(RowGroup(tuple(equal)))
    return apart


@dataclass(frozen=True, slots=True)
class StatusView:
    version: str
    now: float  # seconds since the epoch
    interval_seconds: float
    config_source: str
    systems: tuple[SystemView, ...]
    docs: tuple[DocLink, ...] = ()
    telemetry_path: str = "/metrics"
    own: tuple[UnwellRow, ...] = ()  # troubles of the exporter that concern no system

    @property
    def rows(self) -> tuple[UnwellRow, ...]:
        """All that is unwell, gravest first."""
        found = [*self.own, *(row for system in self.systems for row in system.unwell)]
        return tuple(gravest_first(found)[:MAX_ROWS])

    @property
    def groups(self) -> list[RowGroup]:
        return grouped(self.rows)

    @property
    def hidden(self) -> int:
        found = len(self.own) + sum(len(system.unwell) for system in self.systems)
        return max(0, found - MAX_ROWS) + sum(system.hidden for system in self.systems)

    @property
    def level(self) -> Level:
        if not self.systems:
            return Level.WARNING
        levels = (*(row.level for row in self.own), *(each.level for each in self.systems))
        return Level(max(levels))

    @property
    def headline(self) -> str:
        """What pages and what raises a ticket, in one line."""
        if not self.systems:
            return "No system is configured"
        if self.level is Level.OK:
            return "Nothing is unwell"
        waiting = [system.name for system in self.systems if system.state == "waiting"]
        if len(waiting) == len(self.systems) and self.level is Level.WARNING:
            verb = "has" if len(waiting) == 1 else "have"
            return f"{listed(waiting)} {verb} not responded yet"
        levels = [row.level for row in self.rows]
        critical, warnings = levels.count(Level.CRITICAL), levels.count(Level.WARNING)
        at_least = "at least " if self.hidden else ""
        parts = [f"{critical:,} critical"] if critical else []
        parts += [f"{at_least}{count(warnings, 'warning')}"] if warnings or self.hidden else []
        return ", ".join(parts)
