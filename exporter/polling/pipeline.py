"""From what one poll found and heard to signals and text. Pure and heavy: runs off the event loop."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field

from exporter.audit.context import Scene
from exporter.audit.periodic_audit import AuditBook
from exporter.audit.report import Report
from exporter.events.counts import NOTHING_HEARD, ConsumerKey, EventCounts, StreamKey
from exporter.model import Snapshot
from exporter.samples.render import Rendered, Renderer
from exporter.signals.engine import SignalBook
from exporter.signals.events_input import FilteredCount, Heard, LagReading
from exporter.signals.publishes.engine import PublishBook, PublishSignals, TapCounts
from exporter.signals.results import Signals


@dataclass(frozen=True, slots=True)
class Found:
    """What a poll brings beside its snapshot."""

    events: EventCounts = NOTHING_HEARD
    listening: frozenset[str] = frozenset()  # accounts whose delivery advisories are heard
    lags: dict[ConsumerKey, LagReading] = field(default_factory=dict)
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
    signals: SignalBook = field(default_factory=SignalBook)
    publishes: PublishBook = field(default_factory=PublishBook)
    audit: AuditBook | None = None

    def take(self, snapshot: Snapshot, found: Found) -> Digested:
        scene = learn(self.signals, self.publishes, snapshot, found)
        report = self.audit.look(scene) if self.audit is not None else None
        signals, published = scene.signals, scene.publishes
        rendered = self.renderer.render(snapshot, signals, published, found.events, report)
        return Digested(
            rendered,
            signals,
            signals.consumers.keys(),
            frozenset((row.account, row.name) for row in snapshot.streams),
            report,
        )


def learn(book: SignalBook, publish_book: PublishBook, snapshot: Snapshot, found: Found) -> Scene:
    """What the books make of one more poll."""
    published = publish_book.update(snapshot.subscriptions, snapshot, _tap_counts(found.events))
    return Scene(
        snapshot=snapshot,
        now=snapshot.taken,
        signals=book.update(snapshot, _heard(found, published)),
        publishes=published,
        events=found.events,
        listening=found.listening,
    )


def _heard(found: Found, published: PublishSignals) -> Heard:
    consumers = found.events.consumers
    return Heard(
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
