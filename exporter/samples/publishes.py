"""Columns of the publish, ack and pull counters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from exporter import catalog
from exporter.exposition.text_format import Column
from exporter.samples.rows import known_rows
from exporter.signals.publishes.engine import ConsumerReplies, StreamPublishes
from exporter.subscription_counts import ConsumerKey, StreamKey


def stream_publish_columns(
    keys: Sequence[StreamKey], heads: Sequence[str], signals: Mapping[StreamKey, StreamPublishes]
) -> Iterator[Column]:
    heads, results = known_rows(keys, heads, signals)
    yield Column(catalog.STREAM_PUBLISHES_RECEIVED, heads, (s.received for s in results))
    yield Column(catalog.STREAM_PUBLISHES_UNSTORED, heads, (s.unstored for s in results))
    yield Column(catalog.STREAM_DEDUPE_HITS, heads, (s.dedupe_hits for s in results))
    yield Column(catalog.STREAM_DEDUPE_EXACT, heads, (s.dedupe_exact for s in results))


def consumer_reply_columns(
    keys: Sequence[ConsumerKey],
    heads: Sequence[str],
    signals: Mapping[ConsumerKey, ConsumerReplies],
) -> Iterator[Column]:
    heads, results = known_rows(keys, heads, signals)
    yield Column(catalog.CONSUMER_ACKS, heads, (s.acks for s in results))
    yield Column(catalog.CONSUMER_PULLS, heads, (s.pulls for s in results))
    captured = (s.dead_letter_captured for s in results)
    yield Column(catalog.CONSUMER_DEAD_LETTER_CAPTURED, heads, captured)
