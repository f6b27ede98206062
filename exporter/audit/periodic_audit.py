"""The audit of one running system: schedule, comparison with earlier polls, carried findings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from exporter.audit.check import Check, Finding
from exporter.audit.context import AuditContext, AuditSettings, History
from exporter.audit.evaluation import evaluate
from exporter.audit.registry import all_checks, codes
from exporter.audit.report import Report, ReportedFinding, in_order
from exporter.signals.publishes.engine import PublishSignals
from exporter.tempo import scaled

# Minimum age of the poll that an audit compares with. Publishes are fetched once a minute, so a
# shorter distance would give poor rates.
MIN_COMPARISON_SECONDS = scaled(300.0)
# With more consumers than this, an earlier poll keeps only the consumers with a lagging replica.
MAX_EARLIER_CONSUMERS = 20_000
# The share of time that audits may take: on very large systems they run less often.
MAX_TIME_SHARE = 0.05
# How long the findings of an asset that does not respond are kept.
CARRIED_SECONDS = 3600.0

Key = tuple[str, str, str, str, str]


def _no_history() -> History | None:
    return None


@dataclass(slots=True)
class AuditState:
    """State between audits. `history` may read files, so audits run off the event loop."""

    interval: float = 60.0
    settings: AuditSettings = field(default_factory=AuditSettings)
    history: Callable[[], History | None] = _no_history
    checks: Sequence[Check] = field(default_factory=all_checks)
    report: Report | None = None  # of the last audit
    _earlier: list[AuditContext] = field(default_factory=list)  # the oldest first
    _carried: dict[Key, float] = field(default_factory=dict)  # -> since when

    def update(self, context: AuditContext) -> Report | None:
        """The last report, or a new one if the interval is over. `context`: the current poll."""
        now = context.now
        if self.report is not None and 0 <= now - self.report.taken < self._pause(self.report):
            return self.report
        earlier = self._earlier[0] if self._earlier else None
        seconds = now - earlier.now if earlier else 0.0
        context = replace(
            context,
            earlier=earlier,
            seconds=seconds,
            settings=self.settings,
            history=self.history(),
        )
        found = evaluate(context, self.checks, codes())
        self.report = self._with_carried(found, context)
        self._remember(context)
        return self.report

    def _pause(self, report: Report) -> float:
        return max(self.interval, report.seconds / MAX_TIME_SHARE)

    def _remember(self, context: AuditContext) -> None:
        if self._earlier and context.now - self._earlier[-1].now < MIN_COMPARISON_SECONDS:
            return
        self._earlier.append(_reduced(context))
        del self._earlier[:-2]

    def _with_carried(self, found: Report, context: AuditContext) -> Report:
        """Keeps the findings of assets that do not respond: they are not fixed."""
        carried = {one.key: one for one in self._not_reevaluated(found, context)}
        self._carried = {key: self._carried.get(key, context.now) for key in carried}
        kept = [
            one
            for key, one in carried.items()
            if context.now - self._carried[key] <= CARRIED_SECONDS
        ]
        return replace(found, findings=in_order((*found.findings, *kept))) if kept else found

    def _not_reevaluated(self, found: Report, context: AuditContext) -> Iterator[ReportedFinding]:
        if self.report is None or _all_responding(context):
            return
        present = {one.key for one in found.findings}
        for one in self.report.findings:
            if one.key not in present and not _was_evaluated(context, one.finding):
                yield one


def _all_responding(context: AuditContext) -> bool:
    snapshot = context.snapshot
    return (
        snapshot.complete
        and all(row.up for row in snapshot.servers)
        and all(row.up and row.config is not None for row in snapshot.streams)
        and all(row.up and row.config is not None for row in snapshot.consumers)
    )


def _was_evaluated(context: AuditContext, finding: Finding) -> bool:
    """Whether this audit could have found it again. A deleted asset counts as evaluated."""
    if finding.consumer:
        consumer = context.consumer_by_key.get((finding.account, finding.stream, finding.consumer))
        if consumer is not None:
            return consumer.up and consumer.config is not None
    elif finding.stream:
        stream = context.stream_by_key.get((finding.account, finding.stream))
        if stream is not None:
            return stream.up and stream.config is not None
    elif finding.server:
        return any(row.up for row in context.servers if row.name == finding.server)
    return context.snapshot.complete


def _reduced(context: AuditContext) -> AuditContext:
    """The part of a context that later audits compare with, to save memory."""
    snapshot = context.snapshot
    consumers = snapshot.consumers
    if len(consumers) > MAX_EARLIER_CONSUMERS:
        consumers = tuple(row for row in consumers if any(peer.lag for peer in row.replicas))
    kept = msgspec.structs.replace(snapshot, consumers=consumers, subscriptions=None)
    publishes = PublishSignals(context.publishes.streams, {})
    return AuditContext(
        snapshot=kept, now=context.now, publishes=publishes, settings=context.settings
    )
