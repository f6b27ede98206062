"""The state of one system after its polls, and what of it may still be served."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import inf
from types import MappingProxyType
from typing import TypeVar

from exporter.audit.report import Report
from exporter.events.counts import NO_EVENTS, EventCounts
from exporter.model import Outcome, Server, Skipped, Snapshot
from exporter.samples.render import NO_SIGNALS, Rendered
from exporter.signals.conditions.limits import DEFAULT_LIMITS, Limits
from exporter.signals.results import Signals

# After so many intervals series are dropped: a frozen value is worse than none.
STALE_AFTER_INTERVALS = 3
NOTHING = Rendered((), 0, 0, 0)

Key = TypeVar("Key")
Value = TypeVar("Value")


def _empty() -> Mapping[Key, Value]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class RequestRecord:
    """The last outcome of a request."""

    outcome: Outcome
    succeeded: float | None  # time.time() of its last success


@dataclass(frozen=True, slots=True)
class SystemState:
    """Immutable and replaced as a whole: pages and scrapes read it from other threads."""

    stale_after: float  # seconds
    limits: Limits = DEFAULT_LIMITS  # by which conditions are judged
    snapshot: Snapshot | None = None  # the last one with a response from any server
    signals: Signals = NO_SIGNALS  # of that snapshot
    rendered: Rendered = NOTHING  # likewise
    outage: Rendered = NOTHING  # served once `rendered` is stale: events, and servers that are down
    servers: tuple[Server, ...] = ()  # as of the last poll, successful or not
    polls: int = 0
    poll_seconds: float | None = None
    complete: bool = False
    first_response: float | None = None  # time.time()
    last_response: float | None = None
    last_response_ticks: float = inf  # time.monotonic()
    servers_expected: int | None = None
    servers_responding: int | None = None
    requests: Mapping[str, RequestRecord] = field(default_factory=_empty)
    skipped: tuple[Skipped, ...] = ()
    errors: Mapping[tuple[str, str], int] = field(default_factory=_empty)
    series_dropped: int = 0
    events: EventCounts = NO_EVENTS  # as of the last poll
    problems: tuple[str, ...] = ()  # why some events are not received
    report: Report | None = None  # of the last audit; None before the first, or without audits
    history_dropped: int = 0  # unwell assets without a history

    def age(self, now: float) -> float | None:
        """By both clocks: one that was set back must not make old values look young."""
        if self.last_response is None:
            return None
        return max(0.0, now - self.last_response, time.monotonic() - self.last_response_ticks)

    def is_stale(self, now: float) -> bool:
        age = self.age(now)
        return age is None or age > self.stale_after

    def served(self, now: float) -> Rendered:
        """What a scrape gets. The age is judged at the scrape, because a poll may hang."""
        return self.outage if self.is_stale(now) else self.rendered

    def with_outcomes(self, snapshot: Snapshot, now: float) -> SystemState:
        """The state after the requests of a poll, before its snapshot is rendered."""
        requests, errors = dict(self.requests), Counter(self.errors)
        for outcome in snapshot.outcomes:
            before = requests.get(outcome.request)
            succeeded = now if outcome.ok else before.succeeded if before else None
            requests[outcome.request] = RequestRecord(outcome, succeeded)
            if not outcome.ok:
                errors[outcome.request, outcome.reason] += 1
        for fault in snapshot.faults:
            errors[fault.request, fault.reason] += fault.count
        return replace(
            self,
            complete=snapshot.complete,
            servers=snapshot.servers,
            servers_expected=snapshot.servers_expected,
            servers_responding=snapshot.servers_responding,
            requests=requests,
            skipped=snapshot.skipped,
            errors=errors,
        )

    def succeeded(
        self, snapshot: Snapshot, rendered: Rendered, signals: Signals = NO_SIGNALS
    ) -> SystemState:
        return replace(
            self,
            snapshot=snapshot,
            signals=signals,
            rendered=rendered,
            outage=rendered.events(),
            first_response=snapshot.taken if self.first_response is None else self.first_response,
            last_response=snapshot.taken,
            last_response_ticks=time.monotonic(),
            series_dropped=self.series_dropped + rendered.dropped,
        )

    def audited(self, report: Report | None) -> SystemState:
        """Counts checks that failed by a bug once for each audit."""
        if report is self.report or report is None:
            return self
        errors = Counter(self.errors)
        if broken := len(report.broken()):
            errors["audit", "internal"] += broken
        return replace(self, report=report, errors=errors)

    def recorded(self, history_dropped: int) -> SystemState:
        return replace(self, history_dropped=history_dropped)

    def with_events(self, events: EventCounts, problems: tuple[str, ...]) -> SystemState:
        return replace(self, events=events, problems=problems)

    def without_response(self, outage: Rendered) -> SystemState:
        return replace(self, outage=outage)

    def failed(self) -> SystemState:
        """The state after a bug of the exporter, which counts as an error too."""
        errors = Counter(self.errors)
        errors["poll", "internal"] += 1
        return replace(self, complete=False, errors=errors)

    def polled(self, seconds: float) -> SystemState:
        return replace(self, polls=self.polls + 1, poll_seconds=seconds)
