"""Signals -> columns, in the order of the rows that they belong to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from exporter import catalog
from exporter.exposition import Column, extend_head
from exporter.model import Consumer, Stream
from exporter.signals.told import ConsumerSignals, StreamSignals

ConsumerPair = tuple[ConsumerSignals, str]  # with the head of its row
StreamPair = tuple[StreamSignals, str]


def consumer_signal_columns(
    rows: Sequence[Consumer],
    heads: Sequence[str],
    signals: Mapping[tuple[str, str, str], ConsumerSignals],
) -> Iterator[Column]:
    pairs = [
        (told, head)
        for row, head in zip(rows, heads, strict=True)
        if (told := signals.get((row.account, row.stream, row.name))) is not None
    ]
    heads = [head for _, head in pairs]
    yield Column(catalog.CONSUMER_VERDICT, heads, (s.verdict for s, _ in pairs))
    yield from _counters(pairs, heads)
    yield from _redelivery_and_loss(pairs, heads)
    yield from _time(pairs, heads)


def _counters(pairs: Sequence[ConsumerPair], heads: Sequence[str]) -> Iterator[Column]:
    yield Column(catalog.CONSUMER_RECREATED, heads, (s.recreated for s, _ in pairs))
    changes = (s.leader_changes for s, _ in pairs)
    yield Column(catalog.CONSUMER_LEADER_CHANGES, heads, changes)
    yield Column(catalog.CONSUMER_REDELIVERIES, heads, (s.redeliveries for s, _ in pairs))


def _redelivery_and_loss(pairs: Sequence[ConsumerPair], heads: Sequence[str]) -> Iterator[Column]:
    ratio = (s.redelivery_ratio for s, _ in pairs)
    yield Column(catalog.CONSUMER_REDELIVERY_RATIO, heads, ratio)
    exact = (s.redelivery_exact for s, _ in pairs)
    yield Column(catalog.CONSUMER_REDELIVERY_EXACT, heads, exact)
    cause = (s.redelivery_cause for s, _ in pairs)
    yield Column(catalog.CONSUMER_REDELIVERY_CAUSE, heads, cause)
    yield Column(catalog.CONSUMER_LOST_MESSAGES, heads, (s.lost for s, _ in pairs))
    yield Column(catalog.CONSUMER_PURGED_MESSAGES, heads, (s.purged for s, _ in pairs))
    waiting = (s.lost_waiting for s, _ in pairs)
    yield Column(catalog.CONSUMER_LOST_WAITING_MESSAGES, heads, waiting)
    yield Column(catalog.CONSUMER_LOST_EXACT, heads, (s.lost_exact for s, _ in pairs))
    yield Column(catalog.CONSUMER_AHEAD_OF_STREAM_MESSAGES, heads, (s.ahead for s, _ in pairs))


def _time(pairs: Sequence[ConsumerPair], heads: Sequence[str]) -> Iterator[Column]:
    yield Column(catalog.CONSUMER_LAG_SECONDS, heads, (s.lag for s, _ in pairs))
    yield Column(catalog.CONSUMER_LAG_EXACT, heads, (s.lag_exact for s, _ in pairs))
    left = (s.headroom_seconds for s, _ in pairs)
    yield Column(catalog.CONSUMER_RETENTION_HEADROOM_SECONDS, heads, left)
    room = (s.headroom_ratio for s, _ in pairs)
    yield Column(catalog.CONSUMER_RETENTION_HEADROOM_RATIO, heads, room)
    yield Column(catalog.CONSUMER_STALLED_SECONDS, heads, (s.stalled for s, _ in pairs))
    floor = (s.floor_stalled for s, _ in pairs)
    yield Column(catalog.CONSUMER_ACK_FLOOR_STALLED_SECONDS, heads, floor)
    held = (s.floor_exhausted for s, _ in pairs)
    yield Column(catalog.CONSUMER_ACK_FLOOR_EXHAUSTED, heads, held)
    blocking = (s.blocking_stream_seq for s, _ in pairs)
    yield Column(catalog.CONSUMER_BLOCKING_STREAM_SEQ, heads, blocking)


def stream_signal_columns(
    rows: Sequence[Stream],
    heads: Sequence[str],
    signals: Mapping[tuple[str, str], StreamSignals],
) -> Iterator[Column]:
    pairs = [
        (told, head)
        for row, head in zip(rows, heads, strict=True)
        if (told := signals.get((row.account, row.name))) is not None
    ]
    heads = [head for _, head in pairs]
    yield Column(catalog.STREAM_RECREATED, heads, (s.recreated for s, _ in pairs))
    back = (s.regressions for s, _ in pairs)
    yield Column(catalog.STREAM_SEQUENCE_REGRESSIONS, heads, back)
    yield Column(catalog.STREAM_LEADER_CHANGES, heads, (s.leader_changes for s, _ in pairs))
    yield Column(catalog.STREAM_PURGED_MESSAGES, heads, (s.purged for s, _ in pairs))
    removed = (s.consumers_removed for s, _ in pairs)
    yield Column(catalog.STREAM_CONSUMERS_REMOVED, heads, removed)
    yield Column(catalog.STREAM_DEDUPE_IDS, heads, (s.dedupe_ids for s, _ in pairs))
    apart = [
        (extend_head(head, ("server",), (server,)), messages)
        for told, head in pairs
        for server, messages in told.divergence
    ]
    heads_apart, values = (h for h, _ in apart), (v for _, v in apart)
    yield Column(catalog.STREAM_REPLICA_DIVERGENCE_MESSAGES, heads_apart, values)
