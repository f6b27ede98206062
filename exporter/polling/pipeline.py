"""From a snapshot and events to signals and rendered samples. CPU-heavy: runs in a thread."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field

from msgspec.structs import replace

from exporter.audit.context import AuditContext
from exporter.audit.periodic_audit import AuditState
from exporter.audit.report import Report
from exporter.events.counts import NO_EVENTS, ConsumerKey, EventCounts, StreamKey
from exporter.model import Snapshot, SubjectCounts
from exporter.polling.history import History
from exporter.samples.render import Rendered, Renderer
from exporter.signals.engine import SignalState
from exporter.signals.events_input import EventsInput, FilteredCount, LagMeasurement
from exporter.signals.publishes.engine import PublishSignals, PublishState, TapCounts
from exporter.signals.results import Signals


@dataclass(frozen=True, slots=True)
class PollExtras:
    """The results of a poll beside its snapshot."""

    events: EventCounts = NO_EVENTS
    listening: frozenset[str] = frozenset()  # accounts whose delivery advisories are received
    lags: dict[ConsumerKey, LagMeasurement] = field(default_factory=dict)
    counts: dict[ConsumerKey, FilteredCount] = field(default_factory=dict)
    subjects: Mapping[StreamKey, SubjectCounts] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PollResult:
    rendered: Rendered
    signals: Signals
    consumers: Set[ConsumerKey]  # all that exist
    streams: Set[StreamKey]
    report: Report | None = None  # of the last audit, which may be older than this poll
    history_dropped: int = 0  # unwell assets without a history


@dataclass(slots=True)
class Pipeline:
    """Holds the state of one system that signals need between polls."""

    renderer: Renderer
    signals: SignalState = field(default_factory=SignalState)
    publishes: PublishState = field(default_factory=PublishState)
    audit: AuditState | None = None
    history: History = field(default_factory=History)

    def process(self, snapshot: Snapshot, found: PollExtras) -> PollResult:
        context = update_signals(self.signals, self.publishes, snapshot, found)
        report = self.audit.update(context) if self.audit is not None else None
        signals, published = context.signals, context.publishes
        self.history.update(snapshot, signals)
        rendered = self.renderer.render(
            snapshot, signals, published, found.events, report, found.subjects
        )
        return PollResult(
            rendered,
            signals,
            signals.consumers.keys(),
            frozenset((row.account, row.name) for row in snapshot.streams),
            report,
            self.history.dropped,
        )

    def process_outage(self, snapshot: Snapshot, last: Rendered) -> Rendered:
        """Without any response only the servers are known: they are down. Past events stay."""
        down = replace(snapshot, streams=(), consumers=(), accounts=(), meta=None)
        conditions, _ = self.signals.judge_servers(down.servers, down.taken)
        # A renderer of its own: an empty snapshot must not clear the cache of the main one.
        renderer = self.renderer.renamed(self.renderer.system)
        rendered = renderer.render(down, Signals(server_conditions=conditions))
        return rendered.joined(last.events())


def update_signals(
    signal_state: SignalState, publish_state: PublishState, snapshot: Snapshot, found: PollExtras
) -> AuditContext:
    """Updates both states with one more poll."""
    published = publish_state.update(snapshot.subscriptions, snapshot, _tap_counts(found.events))
    return AuditContext(
        snapshot=snapshot,
        now=snapshot.taken,
        signals=signal_state.update(snapshot, _events_input(found, published)),
        publishes=published,
        events=found.events,
        listening=found.listening,
    )


def _events_input(found: PollExtras, published: PublishSignals) -> EventsInput:
    consumers = found.events.consumers
    return EventsInput(
        # Only non-empty values: a consumer with events takes a slower path.
        exhausted={
            key: counts.exhausted_seqs for key, counts in consumers.items() if counts.exhausted_seqs
        },
        naks={key: counts.naks for key, counts in consumers.items() if counts.naks},
        acks={
            key: counts.acks
            for key, counts in published.consumers.items()
            if counts.acks is not None
        },
        lags=found.lags,
        counts=found.counts,
        listening=found.listening,
    )


def _tap_counts(events: EventCounts) -> TapCounts | None:
    """None while the tap is not active: unknown is not zero."""
    tap = events.tap
    if tap is None or not tap.active:
        return None
    duplicates = {key: counts.duplicates for key, counts in events.streams.items()}
    return TapCounts(frozenset({tap.account}), duplicates, tap.breaks)
