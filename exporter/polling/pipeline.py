"""From what one poll found and heard to signals and text. Pure and heavy: runs off the event loop."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field

from exporter.audit.context import AuditContext
from exporter.audit.periodic_audit import AuditState
from exporter.audit.report import Report
from exporter.events.counts import NO_EVENTS, ConsumerKey, EventCounts, StreamKey
from exporter.model import Snapshot
from exporter.samples.render import Rendered, Renderer
from exporter.signals.engine import SignalState
from exporter.signals.events_input import EventsInput, FilteredCount, LagMeasurement
from exporter.signals.publishes.engine import PublishSignals, PublishState, TapCounts
from exporter.signals.results import Signals


@dataclass(frozen=True, slots=True)
class Found:
    """What a poll brings beside its snapshot."""

    events: EventCounts = NO_EVENTS
    listening: frozenset[str] = frozenset()  # accounts whose delivery advisories are heard
    lags: dict[ConsumerKey, LagMeasurement] = field(default_factory=dict)
    counts: dict[ConsumerKey, FilteredCount] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Digested:
    rendered: Rendered
    signals: Signals
    consumers: Set[ConsumerKey]  # all that are there
    streams: Set[StreamKey]
    report: Report | None = None  # of the last audit, which may be older than this poll


@dataclass(slots=True)
class Digest:
    """Keeps what signals need to remember of one system."""

    renderer: Renderer
    signals: SignalState = field(default_factory=SignalState)
    publishes: PublishState = field(default_factory=PublishState)
    audit: AuditState | None = None

    def take(self, snapshot: Snapshot, found: Found) -> Digested:
        scene = learn(self.signals, self.publishes, snapshot, found)
        report = self.audit.update(scene) if self.audit is not None else None
        signals, published = scene.signals, scene.publishes
        rendered = self.renderer.render(snapshot, signals, published, found.events, report)
        return Digested(
            rendered,
            signals,
            signals.consumers.keys(),
            frozenset((row.account, row.name) for row in snapshot.streams),
            report,
        )


def learn(
    book: SignalState, publish_book: PublishState, snapshot: Snapshot, found: Found
) -> AuditContext:
    """What the books make of one more poll."""
    published = publish_book.update(snapshot.subscriptions, snapshot, _tap_counts(found.events))
    return AuditContext(
        snapshot=snapshot,
        now=snapshot.taken,
        signals=book.update(snapshot, _heard(found, published)),
        publishes=published,
        events=found.events,
        listening=found.listening,
    )


def _heard(found: Found, published: PublishSignals) -> EventsInput:
    consumers = found.events.consumers
    return EventsInput(
        # Only what says something: of whom more is known than their rows say, more work is made.
        exhausted={
            key: told.exhausted_seqs for key, told in consumers.items() if told.exhausted_seqs
        },
        naks={key: told.naks for key, told in consumers.items() if told.naks},
        acks={key: told.acks for key, told in published.consumers.items() if told.acks is not None},
        lags=found.lags,
        counts=found.counts,
        listening=found.listening,
    )


def _tap_counts(events: EventCounts) -> TapCounts | None:
    """None while nobody listens: what is not heard must not count as nothing."""
    tap = events.tap
    if tap is None or not tap.active:
        return None
    duplicates = {key: told.duplicates for key, told in events.streams.items()}
    return TapCounts(frozenset({tap.account}), duplicates, tap.breaks)
