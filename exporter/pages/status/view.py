"""The data of the status page, and the sentences about it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from exporter.pages.status.conditions import NO_CONDITIONS, ConditionsView
from exporter.pages.status.level import Level

State = Literal["fresh", "stale", "waiting", "partial"]
Source = Literal["account", "system", "monitor"]

_MAX_NAMED = 3  # a sentence names this many items, then counts the others
_HEALTHY = frozenset({"", "ok", "idle", "paused", "busy with long jobs"})
_CRITICAL = frozenset({"no leader", "losing messages"})


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
class ServerView:
    name: str
    version: str
    up: bool
    detail: str = ""


@dataclass(frozen=True, slots=True)
class ConsumerView:
    """The numbers of a consumer that is not up are unknown and not shown."""

    account: str
    stream: str
    consumer: str
    up: bool
    backlog: int
    num_pending: int
    num_ack_pending: int
    max_ack_pending: int | None
    num_redelivered: int
    num_waiting: int | None
    ack_floor_gap: int | None
    paused: bool
    leader: str
    verdict: str = ""  # empty before two polls
    since_seconds: float | None = None  # since the verdict last changed
    evidence: str = ""  # the values behind it
    malformed: bool = False  # its row could not be decoded

    @property
    def condition(self) -> str:
        """The verdict, or what one poll alone shows; empty when nothing is known."""
        if not self.up:
            return "malformed row" if self.malformed else "no leader"
        if self.paused:
            return "paused"
        return self.verdict or ("ack-pending full" if self.ack_pending_full else "")

    @property
    def ack_pending_full(self) -> bool:
        return self.max_ack_pending is not None and self.num_ack_pending >= self.max_ack_pending

    @property
    def level(self) -> Level:
        if self.condition in _CRITICAL:
            return Level.CRITICAL
        return Level.OK if self.condition in _HEALTHY else Level.WARNING


@dataclass(frozen=True, slots=True)
class FoundView:
    where: str
    evidence: str
    muted_by: str = ""


@dataclass(frozen=True, slots=True)
class CheckView:
    """The findings of one check."""

    code: str
    severity: str
    title: str
    why: str
    remedy: str
    commands: tuple[str, ...]  # for the first finding
    found: tuple[FoundView, ...]
    more: int = 0  # findings that are not listed
    active: int = 0  # findings that are not muted

    @property
    def level(self) -> Level:
        if not self.active or self.severity == "info":
            return Level.OK
        return Level.CRITICAL if self.severity == "crit" else Level.WARNING


@dataclass(frozen=True, slots=True)
class AuditView:
    headline: str
    checks: tuple[CheckView, ...]  # the worst first
    not_evaluated: tuple[tuple[str, tuple[str, ...]], ...] = ()  # by reason: codes
    unknown_ignores: tuple[str, ...] = ()  # ignored codes that match no check

    @property
    def critical(self) -> tuple[CheckView, ...]:
        return tuple(check for check in self.checks if check.level is Level.CRITICAL)


@dataclass(frozen=True, slots=True)
class SystemView:
    name: str
    source: Source
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
    servers: tuple[ServerView, ...] = ()
    consumer_rows: tuple[ConsumerView, ...] = ()
    consumers_hidden: int = 0
    conditions: ConditionsView = NO_CONDITIONS
    notes: tuple[str, ...] = ()
    audit: AuditView | None = None  # None before the first audit, or when it is off

    @property
    def succeeded(self) -> int:
        return sum(request.ok for request in self.requests)

    @property
    def level(self) -> Level:
        return max((trouble.level for trouble in troubles(self)), default=Level.OK)


@dataclass(frozen=True, slots=True)
class StatusView:
    version: str
    now: float  # seconds since the epoch
    interval_seconds: float
    config_source: str
    systems: tuple[SystemView, ...]
    docs: tuple[DocLink, ...] = ()
    telemetry_path: str = "/metrics"


@dataclass(frozen=True, slots=True)
class Trouble:
    level: Level
    text: str


def span(seconds: float | None) -> str:
    """A duration in at most two units: "850 ms", "3 s", "2 h 5 min"."""
    if seconds is None:
        return "–"
    if seconds < 1:
        return f"{max(0.0, seconds) * 1000:.0f} ms"
    whole = int(seconds)
    for size, unit, part_size, part in ((86400, "d", 3600, "h"), (3600, "h", 60, "min")):
        if whole >= size:
            rest = whole % size // part_size
            return f"{whole // size} {unit}" + (f" {rest} {part}" if rest else "")
    return f"{whole // 60} min" if whole >= 60 else f"{whole} s"


def ago(seconds: float | None) -> str:
    if seconds is None:
        return "never"
    return "just now" if seconds < 1 else f"{span(seconds)} ago"


def count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def listed(names: Sequence[str]) -> str:
    if len(names) <= 1:
        return "".join(names)
    if len(names) <= _MAX_NAMED:
        return f"{', '.join(names[:-1])} and {names[-1]}"
    return f"{', '.join(names[:_MAX_NAMED])} and {len(names) - _MAX_NAMED:,} more"


def freshness(system: SystemView) -> str:
    if system.state == "waiting":
        return "waiting for the first response"
    return f"{system.state}, {ago(system.age_seconds)}"


def headline(system: SystemView) -> tuple[str, ...]:
    """The parts of the one-line summary of a system."""
    requests = count(len(system.requests), "request")
    parts = [freshness(system), f"{system.succeeded} of {requests} succeeded"]
    if system.servers_expected:
        parts.append(f"{system.servers_responding}/{system.servers_expected} servers")
    if system.state in ("fresh", "partial"):  # else the numbers are unknown
        parts += [count(system.streams, "stream"), count(system.consumers, "consumer")]
    return tuple(parts)


def troubles(system: SystemView, *, conditions: bool = True) -> tuple[Trouble, ...]:
    """The problems of a system, most severe first, one sentence each.

    `conditions`: with those of consumers, streams and servers, which are listed apart too."""
    found = [*_missing_responses(system), *_failed_requests(system)]
    if conditions:
        found += [*_unhealthy_consumers(system), *_unhealthy_others(system)]
    found += _critical_findings(system)
    if system.state == "partial" and not found:
        found.append(Trouble(Level.WARNING, "The last poll is incomplete."))
    return tuple(sorted(found, key=lambda trouble: -trouble.level))


def overall(view: StatusView) -> Trouble:
    """The summary of the page in one sentence."""
    if not view.systems:
        return Trouble(Level.WARNING, "No system is configured")
    worst = max(system.level for system in view.systems)
    if worst is Level.OK:
        return Trouble(worst, "All requests succeeded")
    worst_ones = [system for system in view.systems if system.level is worst]
    names, one = listed([system.name for system in worst_ones]), len(worst_ones) == 1
    if all(system.state == "waiting" for system in worst_ones):
        return Trouble(worst, f"{names} {'has' if one else 'have'} not responded yet")
    what = "critical problems" if worst is Level.CRITICAL else "warnings"
    return Trouble(worst, f"{names} {'has' if one else 'have'} {what}")


def _missing_responses(system: SystemView) -> Iterable[Trouble]:
    if system.state == "stale":
        yield Trouble(
            Level.CRITICAL,
            f"No usable response for {span(system.age_seconds)}. Its series are absent from /metrics "
            "until it responds again.",
        )
    if system.state == "waiting":
        yield Trouble(Level.WARNING, f"No response yet from {listed(system.targets)}.")


def _failed_requests(system: SystemView) -> Iterable[Trouble]:
    # While waiting, a request without a reason was not made yet.
    waiting = system.state == "waiting"
    failed: defaultdict[str, list[str]] = defaultdict(list)
    for request in system.requests:
        if not request.ok and (request.reason or not waiting):
            failed[request.why or "no reason given"].append(request.request)
    for why, names in failed.items():
        yield Trouble(Level.WARNING, f"{listed(names)} failed: {why}")
    missing = system.servers_expected - system.servers_responding
    if missing > 0 and not waiting:
        down = [server.name for server in system.servers if not server.up]
        which = f": {listed(down)}" if down else ""
        expected = count(system.servers_expected, "server")
        yield Trouble(Level.WARNING, f"{missing} of {expected} did not respond{which}")


def _unhealthy_consumers(system: SystemView) -> Iterable[Trouble]:
    unhealthy: defaultdict[tuple[Level, str], list[str]] = defaultdict(list)
    for row in system.consumer_rows:
        if row.level is not Level.OK:
            unhealthy[row.level, row.condition].append(f"{row.stream} › {row.consumer}")
    # Hidden rows may be unhealthy too.
    at_least = "At least " if system.consumers_hidden else ""
    for (level, condition), names in unhealthy.items():
        yield Trouble(
            level, f"{at_least}{count(len(names), 'consumer')}: {condition} ({listed(names)})"
        )


def _unhealthy_others(system: SystemView) -> Iterable[Trouble]:
    """Streams and servers. That a server is down is among the missing responses."""
    unhealthy: defaultdict[tuple[Level, str, str], list[str]] = defaultdict(list)
    for row in system.conditions.rows:
        if row.kind != "consumer" and row.word != "down":
            unhealthy[row.level, row.kind, row.text].append(row.where)
    for (level, kind, text), names in unhealthy.items():
        yield Trouble(level, f"{count(len(names), kind)}: {text} ({listed(names)})")


def _critical_findings(system: SystemView) -> Iterable[Trouble]:
    """Only critical findings; the others are in the audit section."""
    for check in system.audit.critical if system.audit else ():
        names = [found.where for found in check.found if not found.muted_by]
        yield Trouble(
            Level.WARNING, f"The audit found {check.code}: {check.title} ({listed(names)})"
        )
