"""Columns of the event counters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from exporter import catalog
from exporter.events.counts import (
    ConsumerCounts,
    ConsumerKey,
    EventCounts,
    StreamCounts,
    StreamKey,
)
from exporter.events.publish_acks import UNNAMED_STREAM
from exporter.exposition.text_format import Column, extend_head, label_head
from exporter.metric import Metric
from exporter.model import Consumer
from exporter.samples.rows import known_rows
from exporter.samples.self_metrics import SelfSample

Number = int | float


def consumer_event_columns(
    found: Sequence[Consumer],
    keys: Sequence[ConsumerKey],
    heads: Sequence[str],
    counts: EventCounts,
) -> Iterator[Column]:
    """A counter appears with its first event: without events it is unknown, not 0."""
    if not counts.consumers:
        return
    yield _unconfirmed(found, keys, heads, counts)
    heads, rows = known_rows(keys, heads, counts.consumers)
    yield Column(catalog.CONSUMER_NAKS, heads, (c.naks or None for c in rows))
    yield Column(catalog.CONSUMER_EXHAUSTED, heads, (c.exhausted or None for c in rows))
    yield Column(
        catalog.CONSUMER_EXHAUSTED_LAST_EVENT_TIMESTAMP_SECONDS,
        heads,
        (c.exhausted_at for c in rows),
    )
    last = (c.last_exhausted_seq for c in rows)
    yield Column(catalog.CONSUMER_LAST_EXHAUSTED_STREAM_SEQ, heads, last)
    yield _terms(heads, rows)
    yield Column(catalog.CONSUMER_ACK_SECONDS, heads, (c.ack_times for c in rows))


def _unconfirmed(
    found: Sequence[Consumer],
    keys: Sequence[ConsumerKey],
    heads: Sequence[str],
    counts: EventCounts,
) -> Column:
    shown = [
        (head, 1)
        for row, key, head in zip(found, keys, heads, strict=True)
        if (one := counts.consumers.get(key)) and _contradicts(row, one)
    ]
    return _column(catalog.CONSUMER_EXHAUSTED_UNCONFIRMED, shown)


def _contradicts(row: Consumer, counts: ConsumerCounts) -> bool:
    """An exhausted message stays among the redelivered ones; with max_deliver 1 none is counted."""
    if not counts.exhausted or not row.up or row.config is None or row.config.max_deliver == 1:
        return False
    return row.num_redelivered == 0 or row.config.max_deliver is None


def _terms(heads: Sequence[str], rows: Sequence[ConsumerCounts]) -> Column:
    ended = [
        (extend_head(head, ("by",), (cause,)), number)
        for head, one in zip(heads, rows, strict=True)
        for cause, number in one.terms
    ]
    return _column(catalog.CONSUMER_TERMS, ended)


def stream_event_columns(
    keys: Sequence[StreamKey], heads: Sequence[str], counts: EventCounts
) -> Iterator[Column]:
    heads, rows = known_rows(keys, heads, counts.streams)
    yield Column(catalog.STREAM_QUORUM_LOST, heads, (s.quorum_lost or None for s in rows))
    lost_at = (s.quorum_lost_at for s in rows)
    yield Column(catalog.STREAM_QUORUM_LOST_LAST_EVENT_TIMESTAMP_SECONDS, heads, lost_at)
    yield Column(catalog.STREAM_RESTORES, heads, (s.restores or None for s in rows))
    restored_at = (s.restored_at for s in rows)
    yield Column(catalog.STREAM_RESTORES_LAST_EVENT_TIMESTAMP_SECONDS, heads, restored_at)
    yield _rejections(heads, rows)


def _rejections(heads: Sequence[str], rows: Sequence[StreamCounts]) -> Column:
    rejected = [
        (extend_head(head, ("code",), (str(code),)), number)
        for head, one in zip(heads, rows, strict=True)
        for code, number in one.rejections
    ]
    return _column(catalog.STREAM_PUBLISH_REJECTIONS, rejected)


def account_event_columns(system: str, counts: EventCounts) -> Iterator[Column]:
    """Advisories by kind, and rejections without a stream name."""
    received = [
        (label_head(catalog.ADVISORIES.labels, (system, account, kind)), number)
        for (account, kind), number in sorted(counts.advisories.items())
    ]
    yield _column(catalog.ADVISORIES, received)
    unnamed = [key for key in sorted(counts.streams) if key[1] == UNNAMED_STREAM]
    heads = [label_head(catalog.STREAM, (system, *key)) for key in unnamed]
    yield _rejections(heads, [counts.streams[key] for key in unnamed])


def event_self_samples(system: str, counts: EventCounts) -> Iterator[SelfSample]:
    """Self metrics of the event subscriptions, at the time of the scrape."""
    since, tap = counts.connected_since, counts.tap
    if since is not None:
        yield SelfSample(catalog.ADVISORIES_CONNECTED_TIMESTAMP_SECONDS, (system,), since)
    if counts.dropped:
        yield SelfSample(catalog.EVENTS_DROPPED, (system,), counts.dropped)
    if tap is not None:
        yield SelfSample(catalog.PUBLISH_ACK_TAP_ACTIVE, (system,), int(tap.active))
        yield SelfSample(catalog.PUBLISH_ACK_TAP_DROPPED, (system,), tap.dropped)


def _column(metric: Metric, pairs: Sequence[tuple[str, Number]]) -> Column:
    # A generator, not a list: the heads are made for this poll only.
    return Column(metric, (head for head, _ in pairs), [number for _, number in pairs])
