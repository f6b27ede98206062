"""Columns of the consumer metrics. Values are lazy: only selected metrics are computed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any

from exporter import catalog
from exporter.exposition.text_format import Column, extend_head
from exporter.model import Consumer
from exporter.samples.info_metrics import InfoCache
from exporter.samples.owner_limits import exceeded_by_consumer, limit_column, limited
from exporter.samples.rows import down_value, each
from exporter.signals.ack_floor import exhausted_messages
from exporter.signals.clock import on_exporter_clock

Key = tuple[str, str, str]


consumer_key: Callable[[Consumer], Key] = attrgetter("account", "stream", "name")


def consumer_columns(
    rows: Sequence[Consumer],
    heads: Sequence[str],
    offsets: Mapping[str, float],
    ever_paused: Collection[Key],
    infos: InfoCache[Consumer],
    now: float,
) -> Iterator[Column]:
    yield Column(catalog.CONSUMER_UP, heads, [1 if row.up else down_value(row) for row in rows])
    yield infos.column(rows, heads)
    if not all(each(rows, "up")):
        # Without a response from the leader nothing else is known.
        pairs = [(row, head) for row, head in zip(rows, heads, strict=True) if row.up]
        rows, heads = [row for row, _ in pairs], [head for _, head in pairs]
    yield from _state(rows, heads)
    yield from _ack_floor(rows, heads)
    yield from _pauses(rows, heads, ever_paused)
    yield from _configuration(rows, heads)
    yield limit_column(
        catalog.CONSUMER_LIMIT_EXCEEDED,
        ((head, exceeded_by_consumer(row, offsets, now)) for row, head in limited(rows, heads)),
    )
    yield from _times(rows, heads, offsets)
    yield from _replicas(rows, heads)


def _state(rows: Sequence[Consumer], heads: Sequence[str]) -> Iterator[Column]:
    yield Column(catalog.CONSUMER_NUM_PENDING, heads, each(rows, "num_pending"))
    yield Column(catalog.CONSUMER_NUM_ACK_PENDING, heads, each(rows, "num_ack_pending"))
    yield Column(catalog.CONSUMER_NUM_REDELIVERED, heads, each(rows, "num_redelivered"))
    yield Column(catalog.CONSUMER_NUM_WAITING, heads, each(rows, "num_waiting"))
    backlog = (c.num_pending + c.num_ack_pending for c in rows)
    yield Column(catalog.CONSUMER_BACKLOG_MESSAGES, heads, backlog)
    yield Column(catalog.CONSUMER_DELIVERIES, heads, each(rows, "delivered_consumer_seq"))
    position = each(rows, "delivered_stream_seq")
    yield Column(catalog.CONSUMER_DELIVERED_STREAM_SEQ, heads, position)
    yield Column(catalog.CONSUMER_PUSH_BOUND, heads, (_push_bound(c) for c in rows))
    yield Column(catalog.CONSUMER_EXHAUSTED_MESSAGES, heads, (exhausted_messages(c) for c in rows))


def _ack_floor(rows: Sequence[Consumer], heads: Sequence[str]) -> Iterator[Column]:
    floor = each(rows, "ack_floor_stream_seq")
    yield Column(catalog.CONSUMER_ACK_FLOOR_STREAM_SEQ, heads, floor)
    floor = each(rows, "ack_floor_consumer_seq")
    yield Column(catalog.CONSUMER_ACK_FLOOR_CONSUMER_SEQ, heads, floor)


def _push_bound(row: Consumer) -> int | None:
    return int(row.push_bound) if row.config and row.config.kind == "push" else None


def _pauses(
    rows: Sequence[Consumer], heads: Sequence[str], ever_paused: Collection[Key]
) -> Iterator[Column]:
    if not ever_paused:
        return
    paused = (int(c.paused) if consumer_key(c) in ever_paused else None for c in rows)
    yield Column(catalog.CONSUMER_PAUSED, heads, paused)
    left = each(rows, "pause_remaining_seconds")
    yield Column(catalog.CONSUMER_PAUSE_REMAINING_SECONDS, heads, left)


def _configuration(rows: Sequence[Consumer], heads: Sequence[str]) -> Iterator[Column]:
    configs = list(each(rows, "config"))

    def settings(name: str) -> Iterator[Any]:
        if all(configs):
            return each(configs, name)
        return (None if config is None else getattr(config, name) for config in configs)

    most = settings("max_ack_pending")
    yield Column(catalog.CONSUMER_MAX_ACK_PENDING, heads, most)
    wait = settings("ack_wait_seconds")
    yield Column(catalog.CONSUMER_ACK_WAIT_SECONDS, heads, wait)
    tries = settings("max_deliver")
    yield Column(catalog.CONSUMER_MAX_DELIVER, heads, tries)
    pulls = settings("max_waiting")
    yield Column(catalog.CONSUMER_MAX_WAITING, heads, pulls)
    steps = (len(c.config.backoff_seconds) or None if c.config else None for c in rows)
    yield Column(catalog.CONSUMER_BACKOFF_STEPS, heads, steps)
    horizon = settings("retry_horizon_seconds")
    yield Column(catalog.CONSUMER_RETRY_HORIZON_SECONDS, heads, horizon)
    yield limit_column(
        catalog.CONSUMER_THRESHOLD,
        (
            (head, row.config.thresholds.limits)
            for row, head in limited(rows, heads)
            if row.config is not None
        ),
    )


def _times(
    rows: Sequence[Consumer], heads: Sequence[str], offsets: Mapping[str, float]
) -> Iterator[Column]:
    delivery = (on_exporter_clock(c.last_delivery, c.leader, offsets) for c in rows)
    yield Column(catalog.CONSUMER_LAST_DELIVERY_TIMESTAMP_SECONDS, heads, delivery)
    ack = (on_exporter_clock(c.last_ack, c.leader, offsets) for c in rows)
    yield Column(catalog.CONSUMER_LAST_ACK_TIMESTAMP_SECONDS, heads, ack)


def _replicas(rows: Sequence[Consumer], heads: Sequence[str]) -> Iterator[Column]:
    def extended() -> Iterator[str]:
        for row, head in zip(rows, heads, strict=True):
            for replica in row.replicas:
                yield extend_head(head, ("server",), (replica.server,))

    lag = (replica.lag for row in rows for replica in row.replicas)
    yield Column(catalog.CONSUMER_REPLICA_LAG, extended(), lag)
    offline = (int(replica.offline) for row in rows for replica in row.replicas)
    yield Column(catalog.CONSUMER_REPLICA_OFFLINE, extended(), offline)
