"""Columns of the stream metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from exporter import catalog
from exporter.exposition.text_format import Column, extend_head, head_ending
from exporter.model import Stream, StreamConfig, StreamOrigin
from exporter.samples.info_metrics import InfoCache
from exporter.samples.owner_limits import exceeded_by_stream, limit_column
from exporter.samples.rows import down_value
from exporter.signals.clock import on_exporter_clock
from exporter.signals.retention import size_ratios

Key = tuple[str, str]
Rows = Sequence[tuple[Stream, str]]  # with their heads
_LIMITS = {
    limit: head_ending(("limit",), (limit,)) for limit in ("bytes", "messages", "consumers", "age")
}


def stream_key(row: Stream) -> Key:
    return (row.account, row.name)


def stream_columns(
    streams: Sequence[Stream],
    heads: Sequence[str],
    offsets: Mapping[str, float],
    now: float,
    ephemerals: Counter[Key],
    listed: Collection[Key],
    infos: InfoCache[Stream],
) -> Iterator[Column]:
    """`listed`: the streams whose consumers are known in this poll."""
    yield Column(catalog.STREAM_UP, heads, (1 if row.up else down_value(row) for row in streams))
    yield infos.column(streams, heads)
    up_rows = [(row, head) for row, head in zip(streams, heads, strict=True) if row.up]
    yield from _state(up_rows)
    yield from _times(up_rows, offsets)
    yield from _configuration(up_rows)
    yield limit_column(
        catalog.STREAM_LIMIT_EXCEEDED,
        ((head, exceeded_by_stream(row, offsets, now)) for row, head in up_rows),
    )
    yield from _fill(up_rows, offsets, now)
    yield from _replicas(up_rows)
    yield from _origins(up_rows)
    ephemeral = [
        ephemerals[stream_key(row)] if row.consumers == 0 or stream_key(row) in listed else None
        for row, _ in up_rows
    ]
    yield Column(catalog.STREAM_EPHEMERAL_CONSUMERS, [head for _, head in up_rows], ephemeral)


def _state(rows: Rows) -> Iterator[Column]:
    heads = [head for _, head in rows]
    yield Column(catalog.STREAM_MESSAGES, heads, (s.messages for s, _ in rows))
    yield Column(catalog.STREAM_BYTES, heads, (s.bytes for s, _ in rows))
    yield Column(catalog.STREAM_SUBJECTS, heads, (s.subjects for s, _ in rows))
    yield Column(catalog.STREAM_CONSUMERS, heads, (s.consumers for s, _ in rows))
    yield Column(catalog.STREAM_DELETED_MESSAGES, heads, (s.deleted for s, _ in rows))
    yield Column(catalog.STREAM_LOST_MESSAGES, heads, (s.lost for s, _ in rows))
    yield Column(catalog.STREAM_FIRST_SEQ, heads, (s.first_seq for s, _ in rows))
    yield Column(catalog.STREAM_STORED_MESSAGES, heads, (s.last_seq for s, _ in rows))


def _times(rows: Rows, offsets: Mapping[str, float]) -> Iterator[Column]:
    heads = [head for _, head in rows]
    first = (on_exporter_clock(s.first_time, s.leader, offsets) for s, _ in rows)
    yield Column(catalog.STREAM_FIRST_TIMESTAMP_SECONDS, heads, first)
    last = (on_exporter_clock(s.last_time, s.leader, offsets) for s, _ in rows)
    yield Column(catalog.STREAM_LAST_TIMESTAMP_SECONDS, heads, last)


def _configuration(rows: Rows) -> Iterator[Column]:
    known = [(row.config, head) for row, head in rows if row.config is not None]
    heads = [head for _, head in known]
    yield Column(catalog.STREAM_MAX_BYTES, heads, (c.max_bytes for c, _ in known))
    yield Column(catalog.STREAM_MAX_MESSAGES, heads, (c.max_messages for c, _ in known))
    yield Column(catalog.STREAM_MAX_AGE_SECONDS, heads, (c.max_age_seconds for c, _ in known))
    yield Column(catalog.STREAM_MAX_CONSUMERS, heads, (c.max_consumers for c, _ in known))
    per_subject = (c.max_messages_per_subject for c, _ in known)
    yield Column(catalog.STREAM_MAX_MESSAGES_PER_SUBJECT, heads, per_subject)
    window = (c.duplicate_window_seconds for c, _ in known)
    yield Column(catalog.STREAM_DUPLICATE_WINDOW_SECONDS, heads, window)
    yield Column(catalog.STREAM_REPLICAS, heads, (c.replicas for c, _ in known))
    yield limit_column(
        catalog.STREAM_THRESHOLD, ((head, config.thresholds.limits) for config, head in known)
    )


def _fill(rows: Rows, offsets: Mapping[str, float], now: float) -> Iterator[Column]:
    filled = [
        (head + _LIMITS[limit], ratio)
        for row, head in rows
        if row.config is not None
        for limit, ratio in _ratios(row, row.config, offsets, now)
    ]
    yield Column(catalog.STREAM_FILL_RATIO, (h for h, _ in filled), (r for _, r in filled))


def _ratios(
    row: Stream, config: StreamConfig, offsets: Mapping[str, float], now: float
) -> Iterator[tuple[str, float]]:
    yield from size_ratios(row, config)
    if config.max_consumers:
        yield "consumers", row.consumers / config.max_consumers
    first = on_exporter_clock(row.first_time, row.leader, offsets)
    if config.max_age_seconds and (first is not None or row.messages == 0):
        age = 0.0 if first is None else max(0.0, now - first)
        yield "age", age / config.max_age_seconds


def _replicas(rows: Rows) -> Iterator[Column]:
    peers = [
        (extend_head(head, ("server",), (replica.server,)), replica)
        for row, head in rows
        for replica in row.replicas
    ]
    heads = [head for head, _ in peers]
    yield Column(catalog.STREAM_REPLICA_LAG, heads, (r.lag for _, r in peers))
    yield Column(catalog.STREAM_REPLICA_OFFLINE, heads, (int(r.offline) for _, r in peers))
    active = (r.active_seconds for _, r in peers)
    yield Column(catalog.STREAM_REPLICA_ACTIVE_SECONDS, heads, active)


def _origins(rows: Rows) -> Iterator[Column]:
    found = [
        (extend_head(head, ("source",), (origin.name,)), origin)
        for row, head in rows
        for origin in _one_per_name(row.origins)
    ]
    heads = [head for head, _ in found]
    yield Column(catalog.STREAM_SOURCE_LAG, heads, (o.lag for _, o in found))
    active = (o.active_seconds for _, o in found)
    yield Column(catalog.STREAM_SOURCE_ACTIVE_SECONDS, heads, active)
    yield Column(catalog.STREAM_SOURCE_ERROR, heads, (int(bool(o.error)) for _, o in found))


def _one_per_name(origins: Sequence[StreamOrigin]) -> Iterator[StreamOrigin]:
    """A stream may have the same source twice, with other filters: the worse one counts."""
    worst: dict[str, StreamOrigin] = {}
    for origin in origins:
        other = worst.get(origin.name)
        if other is None or _severity(origin) > _severity(other):
            worst[origin.name] = origin
    yield from worst.values()


def _severity(origin: StreamOrigin) -> tuple[bool, int, float]:
    return (bool(origin.error), origin.lag, origin.active_seconds or 0.0)
