"""What was heard -> columns, in the order of the rows that it belongs to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from exporter import catalog
from exporter.events.counts import ConsumerCounts, EventCounts, StreamCounts
from exporter.events.publish_acks import UNNAMED_STREAM
from exporter.exposition import Column, extend_head, label_head
from exporter.metric import Metric
from exporter.model import Consumer, Stream
from exporter.samples.self_metrics import SelfSample

Number = int | float


def consumer_event_columns(
    rows: Sequence[Consumer], heads: Sequence[str], counts: EventCounts
) -> Iterator[Column]:
    """A counter appears with its first event: that none was heard proves nothing."""
    pairs = [
        (heard, head)
        for row, head in zip(rows, heads, strict=True)
        if (heard := counts.consumers.get((row.account, row.stream, row.name))) is not None
    ]
    heads = [head for _, head in pairs]
    yield Column(catalog.CONSUMER_NAKS, heads, (c.naks or None for c, _ in pairs))
    yield Column(catalog.CONSUMER_EXHAUSTED, heads, (c.exhausted or None for c, _ in pairs))
    last = (c.last_exhausted_seq for c, _ in pairs)
    yield Column(catalog.CONSUMER_LAST_EXHAUSTED_STREAM_SEQ, heads, last)
    yield _terms(pairs)
    yield Column(catalog.CONSUMER_ACK_SECONDS, heads, (c.ack_times for c, _ in pairs))


def _terms(pairs: Sequence[tuple[ConsumerCounts, str]]) -> Column:
    ended = [
        (extend_head(head, ("by",), (cause,)), number)
        for heard, head in pairs
        for cause, number in heard.terms
    ]
    return _column(catalog.CONSUMER_TERMS, ended)


def stream_event_columns(
    rows: Sequence[Stream], heads: Sequence[str], counts: EventCounts
) -> Iterator[Column]:
    pairs = [
        (heard, head)
        for row, head in zip(rows, heads, strict=True)
        if (heard := counts.streams.get((row.account, row.name))) is not None
    ]
    heads = [head for _, head in pairs]
    yield Column(catalog.STREAM_QUORUM_LOST, heads, (s.quorum_lost or None for s, _ in pairs))
    yield Column(catalog.STREAM_RESTORES, heads, (s.restores or None for s, _ in pairs))
    yield _rejections(pairs)


def _rejections(pairs: Sequence[tuple[StreamCounts, str]]) -> Column:
    rejected = [
        (extend_head(head, ("code",), (str(code),)), number)
        for heard, head in pairs
        for code, number in heard.rejections
    ]
    return _column(catalog.STREAM_PUBLISH_REJECTIONS, rejected)


def account_event_columns(system: str, counts: EventCounts) -> Iterator[Column]:
    """What belongs to no row: advisories by kind, and rejections that name no stream."""
    heard = [
        (label_head(catalog.ADVISORIES.labels, (system, account, kind)), number)
        for (account, kind), number in sorted(counts.advisories.items())
    ]
    yield _column(catalog.ADVISORIES, heard)
    unnamed = [
        (label_head(catalog.STREAM, (system, account, stream)), told)
        for (account, stream), told in sorted(counts.streams.items())
        if stream == UNNAMED_STREAM
    ]
    yield _rejections([(told, head) for head, told in unnamed])


def event_self_samples(system: str, counts: EventCounts) -> Iterator[SelfSample]:
    """What the exporter says of its own listening; true at the moment it is asked."""
    since, tap = counts.connected_since, counts.tap
    if since is not None:
        yield SelfSample(catalog.ADVISORIES_CONNECTED_TIMESTAMP_SECONDS, (system,), since)
    if tap is not None:
        yield SelfSample(catalog.PUBLISH_ACK_TAP_ACTIVE, (system,), int(tap.active))
        yield SelfSample(catalog.PUBLISH_ACK_TAP_DROPPED, (system,), tap.dropped)


def _column(metric: Metric, pairs: Sequence[tuple[str, Number]]) -> Column:
    return Column(metric, [head for head, _ in pairs], [number for _, number in pairs])
