"""What owners set in metadata: limits and the values that exceed them, and what they mute."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from alerts import thresholds
from exporter.exposition.text_format import Column, extend_head
from exporter.metric import Metric
from exporter.model import NO_NOTES, Consumer, Snapshot, Stream, Thresholds
from exporter.samples.rows import each
from exporter.signals.clock import on_exporter_clock
from exporter.tempo import scaled

# The limit and the value that exceeds it. As in the nats CLI, 0 means "not set", and a value equal to
# the limit exceeds it.
Exceeded = Iterator[tuple[str, float]]


def limit_column(
    metric: Metric, found: Iterable[tuple[str, Iterable[tuple[str, float]]]]
) -> Column:
    """`found`: heads with the limits of each and a value."""
    named = [
        (extend_head(head, ("limit",), (name,)), value)
        for head, values in found
        for name, value in values
    ]
    return Column(metric, (head for head, _ in named), (value for _, value in named))


def ignored_assets(snapshot: Snapshot | None) -> dict[str, int]:
    """How many streams and consumers have an owner who mutes something about them."""
    if snapshot is None:
        return {}
    return {
        asset: sum(
            1
            for config in each(rows, "config")
            if config is not None and config.notes is not NO_NOTES and config.notes.ignore
        )
        for asset, rows in (("stream", snapshot.streams), ("consumer", snapshot.consumers))
    }


def limited(rows: Sequence[Consumer], heads: Sequence[str]) -> list[tuple[Consumer, str]]:
    """Those whose owner set limits: few."""
    return [
        (row, head)
        for row, head in zip(rows, heads, strict=True)
        if row.config and row.config.thresholds.limits
    ]


def exceeded_by_consumer(row: Consumer, offsets: Mapping[str, float], now: float) -> Exceeded:
    config = row.config
    if config is None or not config.thresholds.limits or row.paused:
        return
    if _is_young(row.created, row.leader, offsets, now):
        return
    values = {
        "outstanding-ack-critical": row.num_ack_pending,
        "waiting-critical": row.num_waiting,
        "unprocessed-critical": row.num_pending,
        "redelivery-critical": row.num_redelivered,
        "last-delivery-critical": _age(row.last_delivery, row.leader, offsets, now),
        "last-ack-critical": _age(row.last_ack, row.leader, offsets, now),
    }
    yield from _above(config.thresholds, values)


def exceeded_by_stream(row: Stream, offsets: Mapping[str, float], now: float) -> Exceeded:
    config = row.config
    if config is None or not config.thresholds.limits:
        return
    if _is_young(row.created, row.leader, offsets, now):
        return
    limits = config.thresholds
    origins, replicas = row.origins, row.replicas
    values = {
        "lag-critical": max((each.lag for each in origins), default=None),
        "seen-critical": max((each.active_seconds or 0.0 for each in origins), default=None),
        "peer-lag-critical": max((each.lag for each in replicas), default=None),
        "peer-seen-critical": max((each.active_seconds or 0.0 for each in replicas), default=None),
    }
    yield from _above(limits, values)
    # Messages: too few is bad, unless a lower warning limit means too many. Subjects: the reverse.
    many = _warns_below(limits, "msgs")
    yield from _beyond(limits, "msgs-critical", row.messages, many=many is True)
    many = _warns_below(limits, "subjects")
    yield from _beyond(limits, "subjects-critical", row.subjects, many=many is not False)


def _warns_below(limits: Thresholds, quantity: str) -> bool | None:
    """Whether the warning limit is below the critical one; None without both."""
    warn, critical = limits.limit(f"{quantity}-warn"), limits.limit(f"{quantity}-critical")
    return None if warn is None or critical is None else warn < critical


def _above(limits: Thresholds, values: Mapping[str, float | None]) -> Exceeded:
    for key, value in values.items():
        yield from _beyond(limits, key, value, many=True)


def _beyond(limits: Thresholds, key: str, value: float | None, *, many: bool) -> Exceeded:
    limit = limits.limit(key)
    if limit and value is not None and (value >= limit if many else value <= limit):
        yield key, value


def _is_young(
    created: datetime | None, leader: str, offsets: Mapping[str, float], now: float
) -> bool:
    """A new asset is not yet what its owner expects of it."""
    age = _age(created, leader, offsets, now)
    return age is not None and age < scaled(thresholds.YOUNG_ASSET.value)


def _age(
    moment: datetime | None, leader: str, offsets: Mapping[str, float], now: float
) -> float | None:
    at = on_exporter_clock(moment, leader, offsets)
    return None if at is None else now - at
