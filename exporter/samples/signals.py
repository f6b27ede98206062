"""Columns of the signals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from exporter import catalog
from exporter.exposition.text_format import Column, extend_head
from exporter.samples.conditions import consumer_condition_column
from exporter.samples.rows import each, known_rows
from exporter.signals.events_input import ConsumerKey, StreamKey
from exporter.signals.results import ConsumerSignals, StreamSignals


def consumer_signal_columns(
    keys: Sequence[ConsumerKey],
    heads: Sequence[str],
    signals: Mapping[ConsumerKey, ConsumerSignals],
) -> Iterator[Column]:
    heads, results = known_rows(keys, heads, signals)
    yield Column(catalog.CONSUMER_VERDICT, heads, each(results, "verdict"))
    yield from _redelivery_and_loss(results, heads)
    yield from _ack_floor_gap(results, heads)
    yield from _time(results, heads)
    yield consumer_condition_column(heads, results)


def _redelivery_and_loss(
    results: Sequence[ConsumerSignals], heads: Sequence[str]
) -> Iterator[Column]:
    yield Column(catalog.CONSUMER_REDELIVERIES, heads, each(results, "redeliveries"))
    ratio = each(results, "redelivery_ratio")
    yield Column(catalog.CONSUMER_REDELIVERY_RATIO, heads, ratio)
    exact = each(results, "redelivery_exact")
    yield Column(catalog.CONSUMER_REDELIVERY_EXACT, heads, exact)
    cause = each(results, "redelivery_cause")
    yield Column(catalog.CONSUMER_REDELIVERY_CAUSE, heads, cause)
    waiting = each(results, "lost_waiting")
    yield Column(catalog.CONSUMER_LOST_WAITING_MESSAGES, heads, waiting)
    yield Column(catalog.CONSUMER_LOST_EXACT, heads, each(results, "lost_exact"))
    yield Column(catalog.CONSUMER_AHEAD_OF_STREAM_MESSAGES, heads, each(results, "ahead"))


def _ack_floor_gap(results: Sequence[ConsumerSignals], heads: Sequence[str]) -> Iterator[Column]:
    yield Column(catalog.CONSUMER_ACK_FLOOR_GAP, heads, each(results, "ack_floor_gap"))
    deliveries = each(results, "ack_floor_gap_deliveries")
    yield Column(catalog.CONSUMER_ACK_FLOOR_GAP_DELIVERIES, heads, deliveries)
    ratio = each(results, "ack_floor_gap_ratio")
    yield Column(catalog.CONSUMER_ACK_FLOOR_GAP_RATIO, heads, ratio)


def _time(results: Sequence[ConsumerSignals], heads: Sequence[str]) -> Iterator[Column]:
    yield Column(catalog.CONSUMER_LAG_SECONDS, heads, each(results, "lag"))
    yield Column(catalog.CONSUMER_LAG_EXACT, heads, each(results, "lag_exact"))
    left = each(results, "headroom_seconds")
    yield Column(catalog.CONSUMER_RETENTION_HEADROOM_SECONDS, heads, left)
    ratio = each(results, "headroom_ratio")
    yield Column(catalog.CONSUMER_RETENTION_HEADROOM_RATIO, heads, ratio)
    yield Column(catalog.CONSUMER_STALLED_SECONDS, heads, each(results, "stalled"))
    floor = each(results, "floor_stalled")
    yield Column(catalog.CONSUMER_ACK_FLOOR_STALLED_SECONDS, heads, floor)
    held = each(results, "floor_exhausted")
    yield Column(catalog.CONSUMER_ACK_FLOOR_EXHAUSTED, heads, held)
    blocking = each(results, "blocking_stream_seq")
    yield Column(catalog.CONSUMER_BLOCKING_STREAM_SEQ, heads, blocking)


def stream_signal_columns(
    keys: Sequence[StreamKey],
    heads: Sequence[str],
    signals: Mapping[StreamKey, StreamSignals],
) -> Iterator[Column]:
    heads, results = known_rows(keys, heads, signals)
    yield Column(
        catalog.STREAM_DEDUPE_WINDOW_MESSAGES, heads, each(results, "dedupe_window_messages")
    )
    apart = [
        (extend_head(head, ("server",), (server,)), messages)
        for one, head in zip(results, heads, strict=True)
        for server, messages in one.divergence
    ]
    heads_apart, values = (h for h, _ in apart), (v for _, v in apart)
    yield Column(catalog.STREAM_REPLICA_DIVERGENCE_MESSAGES, heads_apart, values)
