"""Columns of the signals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from exporter import catalog
from exporter.exposition.text_format import Column, extend_head
from exporter.samples.conditions import consumer_condition_column
from exporter.samples.rows import known_rows
from exporter.signals.events_input import ConsumerKey, StreamKey
from exporter.signals.results import ConsumerSignals, StreamSignals


def consumer_signal_columns(
    keys: Sequence[ConsumerKey],
    heads: Sequence[str],
    signals: Mapping[ConsumerKey, ConsumerSignals],
) -> Iterator[Column]:
    heads, results = known_rows(keys, heads, signals)
    yield Column(catalog.CONSUMER_VERDICT, heads, (s.verdict for s in results))
    yield from _redelivery_and_loss(results, heads)
    yield from _ack_floor_gap(results, heads)
    yield from _time(results, heads)
    yield consumer_condition_column(heads, results)


def _redelivery_and_loss(
    results: Sequence[ConsumerSignals], heads: Sequence[str]
) -> Iterator[Column]:
    yield Column(catalog.CONSUMER_REDELIVERIES, heads, (s.redeliveries for s in results))
    ratio = (s.redelivery_ratio for s in results)
    yield Column(catalog.CONSUMER_REDELIVERY_RATIO, heads, ratio)
    exact = (s.redelivery_exact for s in results)
    yield Column(catalog.CONSUMER_REDELIVERY_EXACT, heads, exact)
    cause = (s.redelivery_cause for s in results)
    yield Column(catalog.CONSUMER_REDELIVERY_CAUSE, heads, cause)
    waiting = (s.lost_waiting for s in results)
    yield Column(catalog.CONSUMER_LOST_WAITING_MESSAGES, heads, waiting)
    yield Column(catalog.CONSUMER_LOST_EXACT, heads, (s.lost_exact for s in results))
    yield Column(catalog.CONSUMER_AHEAD_OF_STREAM_MESSAGES, heads, (s.ahead for s in results))


def _ack_floor_gap(results: Sequence[ConsumerSignals], heads: Sequence[str]) -> Iterator[Column]:
    yield Column(catalog.CONSUMER_ACK_FLOOR_GAP, heads, (s.ack_floor_gap for s in results))
    deliveries = (s.ack_floor_gap_deliveries for s in results)
    yield Column(catalog.CONSUMER_ACK_FLOOR_GAP_DELIVERIES, heads, deliveries)
    ratio = (s.ack_floor_gap_ratio for s in results)
    yield Column(catalog.CONSUMER_ACK_FLOOR_GAP_RATIO, heads, ratio)


def _time(results: Sequence[ConsumerSignals], heads: Sequence[str]) -> Iterator[Column]:
    yield Column(catalog.CONSUMER_LAG_SECONDS, heads, (s.lag for s in results))
    yield Column(catalog.CONSUMER_LAG_EXACT, heads, (s.lag_exact for s in results))
    left = (s.headroom_seconds for s in results)
    yield Column(catalog.CONSUMER_RETENTION_HEADROOM_SECONDS, heads, left)
    ratio = (s.headroom_ratio for s in results)
    yield Column(catalog.CONSUMER_RETENTION_HEADROOM_RATIO, heads, ratio)
    yield Column(catalog.CONSUMER_STALLED_SECONDS, heads, (s.stalled for s in results))
    floor = (s.floor_stalled for s in results)
    yield Column(catalog.CONSUMER_ACK_FLOOR_STALLED_SECONDS, heads, floor)
    held = (s.floor_exhausted for s in results)
    yield Column(catalog.CONSUMER_ACK_FLOOR_EXHAUSTED, heads, held)
    blocking = (s.blocking_stream_seq for s in results)
    yield Column(catalog.CONSUMER_BLOCKING_STREAM_SEQ, heads, blocking)


def stream_signal_columns(
    keys: Sequence[StreamKey],
    heads: Sequence[str],
    signals: Mapping[StreamKey, StreamSignals],
) -> Iterator[Column]:
    heads, results = known_rows(keys, heads, signals)
    yield Column(
        catalog.STREAM_DEDUPE_WINDOW_MESSAGES, heads, (s.dedupe_window_messages for s in results)
    )
    apart = [
        (extend_head(head, ("server",), (server,)), messages)
        for one, head in zip(results, heads, strict=True)
        for server, messages in one.divergence
    ]
    heads_apart, values = (h for h, _ in apart), (v for _, v in apart)
    yield Column(catalog.STREAM_REPLICA_DIVERGENCE_MESSAGES, heads_apart, values)
