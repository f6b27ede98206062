"""What the status page is about, as plain data, and what that data says in words. Pure.

The poller's side fills the views; status_page draws them and decides nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

State = Literal["fresh", "stale", "waiting", "partial"]
Source = Literal["account", "system", "monitor"]

_NAMED = 3  # a sentence names this many things, then counts the rest
_CALM = frozenset({"", "ok", "idle", "paused"})
_GRAVE = frozenset({"no leader", "losing messages"})


class Level(IntEnum):
    FINE = 0
    LOOK = 1
    WRONG = 2


@dataclass(frozen=True, slots=True)
class DocLink:
    title: str
    href: str


@dataclass(frozen=True, slots=True)
class RequestView:
    request: str
    ok: bool
    seconds: float | None  # how long the last try took; None when it was never tried
    age_seconds: float | None  # since the last good answer; None when there was none
    reason: str = ""  # a word of the closed list of poll_errors_total
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
    """The numbers of a consumer that is not up are not known and are not shown."""

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
    verdict: str = ""  # empty before two snapshots
    since_seconds: float | None = None  # how long the verdict has held
    evidence: str = ""  # the numbers behind it

    @property
    def condition(self) -> str:
        """The verdict, or what one snapshot alone already shows; empty when nothing is known."""
        if not self.up:
            return "no leader"
        if self.paused:
            return "paused"
        return self.verdict or ("ack-pending full" if self.ack_pending_full else "")

    @property
    def ack_pending_full(self) -> bool:
        return self.max_ack_pending is not None and self.num_ack_pending >= self.max_ack_pending

    @property
    def level(self) -> Level:
        if self.condition in _GRAVE:
            return Level.WRONG
        return Level.FINE if self.condition in _CALM else Level.LOOK


@dataclass(frozen=True, slots=True)
class FoundView:
    where: str
    evidence: str
    muted_by: str = ""


@dataclass(frozen=True, slots=True)
class CheckView:
    """All that one check found."""

    code: str
    severity: str
    title: str
    why: str
    remedy: str
    commands: tuple[str, ...]  # for the first of them
    found: tuple[FoundView, ...]
    more: int = 0  # that are not listed
    active: int = 0  # how many are not muted

    @property
    def level(self) -> Level:
        if not self.active or self.severity == "info":
            return Level.FINE
        return Level.WRONG if self.severity == "crit" else Level.LOOK


@dataclass(frozen=True, slots=True)
class AuditView:
    headline: str
    checks: tuple[CheckView, ...]  # the worst first
    not_judged: tuple[tuple[str, tuple[str, ...]], ...] = ()  # by reason: codes
    strays: tuple[str, ...] = ()  # mutes that name no check

    @property
    def grave(self) -> tuple[CheckView, ...]:
        return tuple(check for check in self.checks if check.level is Level.WRONG)


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
    notes: tuple[str, ...] = ()
    audit: AuditView | None = None  # None before the first one, or when it is switched off

    @property
    def succeeded(self) -> int:
        return sum(request.ok for request in self.requests)

    @property
    def level(self) -> Level:
        return max((trouble.level for trouble in troubles(self)), default=Level.FINE)


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
    """A length of time in the two units a person would use: "850 ms", "3 s", "2 h 5 min"."""
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
    if len(names) <= _NAMED:
        return f"{', '.join(names[:-1])} and {names[-1]}"
    return f"{', '.join(names[:_NAMED])} and {len(names) - _NAMED:,} more"


def freshness(system: SystemView) -> str:
    if system.state == "waiting":
        return "waiting for the first answer"
    return f"{system.state}, {ago(system.age_seconds)}"


def headline(system: SystemView) -> tuple[str, ...]:
    """The system in one line; the page puts the name before it and dots between the parts."""
    asked = count(len(system.requests), "request")
    parts = [freshness(system), f"{system.succeeded} of {asked} answered"]
    if system.servers_expected:
        parts.append(f"{system.servers_responding}/{system.servers_expected} servers")
    if system.state in ("fresh", "partial"):  # else nobody knows how many there are now
        parts += [count(system.streams, "stream"), count(system.consumers, "consumer")]
    return tuple(parts)


def troubles(system: SystemView) -> tuple[Trouble, ...]:
    """All that is not right with a system, gravest first, each in one sentence."""
    found = [
        *_silent(system),
        *_unanswered(system),
        *_sick_consumers(system),
        *_grave_findings(system),
    ]
    if system.state == "partial" and not found:
        found.append(Trouble(Level.LOOK, "A part of the last poll is missing."))
    return tuple(sorted(found, key=lambda trouble: -trouble.level))


def overall(view: StatusView) -> Trouble:
    """The whole page in one sentence."""
    if not view.systems:
        return Trouble(Level.LOOK, "No system is configured")
    worst = max(system.level for system in view.systems)
    if worst is Level.FINE:
        return Trouble(worst, "Every request was answered")
    worst_ones = [system for system in view.systems if system.level is worst]
    names, one = listed([system.name for system in worst_ones]), len(worst_ones) == 1
    if all(system.state == "waiting" for system in worst_ones):
        return Trouble(worst, f"{names} {'has' if one else 'have'} not answered yet")
    what = "attention" if worst is Level.WRONG else "a look"
    return Trouble(worst, f"{names} {'needs' if one else 'need'} {what}")


def _silent(system: SystemView) -> Iterable[Trouble]:
    if system.state == "stale":
        yield Trouble(
            Level.WRONG,
            f"No usable answer for {span(system.age_seconds)}. Its series are left out of /metrics "
            "until it answers again.",
        )
    if system.state == "waiting":
        yield Trouble(Level.LOOK, f"No answer yet from {listed(system.targets)}.")


def _unanswered(system: SystemView) -> Iterable[Trouble]:
    # While waiting, a request without a reason has simply not been asked yet.
    waiting = system.state == "waiting"
    failed: defaultdict[str, list[str]] = defaultdict(list)
    for request in system.requests:
        if not request.ok and (request.reason or not waiting):
            failed[request.why or "no reason given"].append(request.request)
    for why, names in failed.items():
        were = "was" if len(names) == 1 else "were"
        yield Trouble(Level.LOOK, f"{listed(names)} {were} not answered: {why}")
    missing = system.servers_expected - system.servers_responding
    if missing > 0 and not waiting:
        down = [server.name for server in system.servers if not server.up]
        which = f": {listed(down)}" if down else ""
        expected = count(system.servers_expected, "server")
        yield Trouble(Level.LOOK, f"{missing} of {expected} did not answer{which}")


def _sick_consumers(system: SystemView) -> Iterable[Trouble]:
    sick: defaultdict[tuple[Level, str], list[str]] = defaultdict(list)
    for row in system.consumer_rows:
        if row.level is not Level.FINE:
            sick[row.level, row.condition].append(f"{row.stream} › {row.consumer}")
    # The rows that were cut off may be sick as well: the page must not sound complete.
    at_least = "At least " if system.consumers_hidden else ""
    for (level, condition), names in sick.items():
        yield Trouble(
            level, f"{at_least}{count(len(names), 'consumer')}: {condition} ({listed(names)})"
        )


def _grave_findings(system: SystemView) -> Iterable[Trouble]:
    """Lesser ones are for a quiet day: they stand in their section."""
    for check in system.audit.grave if system.audit else ():
        names = [found.where for found in check.found if not found.muted_by]
        yield Trouble(Level.LOOK, f"The audit found {check.code}: {check.title} ({listed(names)})")
