"""What was published, acknowledged and asked for -> columns, in the order of the rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from exporter import catalog
from exporter.exposition import Column
from exporter.model import Consumer, Stream
from exporter.signals.publishes import ConsumerReplies, StreamPublishes
from exporter.subscriptions import ConsumerKey, StreamKey


def stream_publish_columns(
    rows: Sequence[Stream], heads: Sequence[str], signals: Mapping[StreamKey, StreamPublishes]
) -> Iterator[Column]:
    pairs = [
        (told, head)
        for row, head in zip(rows, heads, strict=True)
        if (told := signals.get((row.account, row.name))) is not None
    ]
    heads = [head for _, head in pairs]
    yield Column(catalog.STREAM_PUBLISHES_RECEIVED, heads, (s.received for s, _ in pairs))
    yield Column(catalog.STREAM_PUBLISHES_UNSTORED, heads, (s.unstored for s, _ in pairs))
    yield Column(catalog.STREAM_DEDUPE_HITS, heads, (s.dedupe_hits for s, _ in pairs))
    yield Column(catalog.STREAM_DEDUPE_EXACT, heads, (s.dedupe_exact for s, _ in pairs))


def consumer_reply_columns(
    rows: Sequence[Consumer], heads: Sequence[str], signals: Mapping[ConsumerKey, ConsumerReplies]
) -> Iterator[Column]:
    pairs = [
        (told, head)
        for row, head in zip(rows, heads, strict=True)
        if (told := signals.get((row.account, row.stream, row.name))) is not None
    ]
    heads = [head for _, head in pairs]
    yield Column(catalog.CONSUMER_ACKS, heads, (s.acks for s, _ in pairs))
    yield Column(catalog.CONSUMER_PULLS, heads, (s.pulls for s, _ in pairs))
    captured = (s.dead_letter_captured for s, _ in pairs)
    yield Column(catalog.CONSUMER_DEAD_LETTER_CAPTURED, heads, captured)
