"""Signals -> columns, in the order of the rows that they belong to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from exporter import catalog
from exporter.exposition.text_format import Column, extend_head
from exporter.samples.rows import told_of
from exporter.signals.events_input import ConsumerKey, StreamKey
from exporter.signals.results import ConsumerSignals, StreamSignals


def consumer_signal_columns(
    keys: Sequence[ConsumerKey],
    heads: Sequence[str],
    signals: Mapping[ConsumerKey, ConsumerSignals],
) -> Iterator[Column]:
    heads, told = told_of(keys, heads, signals)
    yield Column(catalog.CONSUMER_VERDICT, heads, (s.verdict for s in told))
    yield from _counters(told, heads)
    yield from _redelivery_and_loss(told, heads)
    yield from _ack_floor_gap(told, heads)
    yield from _time(told, heads)


def _counters(told: Sequence[ConsumerSignals], heads: Sequence[str]) -> Iterator[Column]:
    yield Column(catalog.CONSUMER_RECREATED, heads, (s.recreated for s in told))
    changes = (s.leader_changes for s in told)
    yield Column(catalog.CONSUMER_LEADER_CHANGES, heads, changes)
    yield Column(catalog.CONSUMER_REDELIVERIES, heads, (s.redeliveries for s in told))


def _redelivery_and_loss(told: Sequence[ConsumerSignals], heads: Sequence[str]) -> Iterator[Column]:
    ratio = (s.redelivery_ratio for s in told)
    yield Column(catalog.CONSUMER_REDELIVERY_RATIO, heads, ratio)
    exact = (s.redelivery_exact for s in told)
    yield Column(catalog.CONSUMER_REDELIVERY_EXACT, heads, exact)
    cause = (s.redelivery_cause for s in told)
    yield Column(catalog.CONSUMER_REDELIVERY_CAUSE, heads, cause)
    yield Column(catalog.CONSUMER_LOST_MESSAGES, heads, (s.lost for s in told))
    yield Column(catalog.CONSUMER_PURGED_MESSAGES, heads, (s.purged for s in told))
    waiting = (s.lost_waiting for s in told)
    yield Column(catalog.CONSUMER_LOST_WAITING_MESSAGES, heads, waiting)
    yield Column(catalog.CONSUMER_LOST_EXACT, heads, (s.lost_exact for s in told))
    yield Column(catalog.CONSUMER_AHEAD_OF_STREAM_MESSAGES, heads, (s.ahead for s in told))


def _ack_floor_gap(told: Sequence[ConsumerSignals], heads: Sequence[str]) -> Iterator[Column]:
    yield Column(catalog.CONSUMER_ACK_FLOOR_GAP, heads, (s.ack_floor_gap for s in told))
    deliveries = (s.ack_floor_gap_deliveries for s in told)
    yield Column(catalog.CONSUMER_ACK_FLOOR_GAP_DELIVERIES, heads, deliveries)
    ratio = (s.ack_floor_gap_ratio for s in told)
    yield Column(catalog.CONSUMER_ACK_FLOOR_GAP_RATIO, heads, ratio)


def _time(told: Sequence[ConsumerSignals], heads: Sequence[str]) -> Iterator[Column]:
    yield Column(catalog.CONSUMER_LAG_SECONDS, heads, (s.lag for s in told))
    yield Column(catalog.CONSUMER_LAG_EXACT, heads, (s.lag_exact for s in told))
    left = (s.headroom_seconds for s in told)
    yield Column(catalog.CONSUMER_RETENTION_HEADROOM_SECONDS, heads, left)
    room = (s.headroom_ratio for s in told)
    yield Column(catalog.CONSUMER_RETENTION_HEADROOM_RATIO, heads, room)
    yield Column(catalog.CONSUMER_STALLED_SECONDS, heads, (s.stalled for s in told))
    floor = (s.floor_stalled for s in told)
    yield Column(catalog.CONSUMER_ACK_FLOOR_STALLED_SECONDS, heads, floor)
    held = (s.floor_exhausted for s in told)
    yield Column(catalog.CONSUMER_ACK_FLOOR_EXHAUSTED, heads, held)
    blocking = (s.blocking_stream_seq for s in told)
    yield Column(catalog.CONSUMER_BLOCKING_STREAM_SEQ, heads, blocking)


def stream_signal_columns(
    keys: Sequence[StreamKey],
    heads: Sequence[str],
    signals: Mapping[StreamKey, StreamSignals],
) -> Iterator[Column]:
    heads, told = told_of(keys, heads, signals)
    yield Column(catalog.STREAM_RECREATED, heads, (s.recreated for s in told))
    back = (s.regressions for s in told)
    yield Column(catalog.STREAM_SEQUENCE_REGRESSIONS, heads, back)
    yield Column(catalog.STREAM_LEADER_CHANGES, heads, (s.leader_changes for s in told))
    yield Column(catalog.STREAM_PURGED_MESSAGES, heads, (s.purged for s in told))
    removed = (s.consumers_removed for s in told)
    yield Column(catalog.STREAM_CONSUMERS_REMOVED, heads, removed)
    yield Column(catalog.STREAM_DEDUPE_IDS, heads, (s.dedupe_ids for s in told))
    apart = [
        (extend_head(head, ("server",), (server,)), messages)
        for one, head in zip(told, heads, strict=True)
        for server, messages in one.divergence
    ]
    heads_apart, values = (h for h, _ in apart), (v for _, v in apart)
    yield Column(catalog.STREAM_REPLICA_DIVERGENCE_MESSAGES, heads_apart, values)
