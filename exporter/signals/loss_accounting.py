"""Redeliveries and losses of one consumer between two polls.

The server counts every delivery (consumer_seq) and the position in the stream (stream_seq). Where
no message is missing ahead, each first delivery moves the position by one. Deliveries beyond that
are redeliveries; a position that moved further skipped messages.
"""

from __future__ import annotations

from msgspec import Struct

from exporter.model import Consumer, ConsumerConfig, Stream
from exporter.signals.ack_floor import went_back
from exporter.signals.stream_changes import was_recreated


class Accounted(Struct, frozen=True, gc=False):
    """The changes of one interval. A number that is not certain is a lower bound."""

    redelivered: int = 0
    lost: int = 0
    purged: int = 0
    redelivered_certain: bool = True
    lost_certain: bool = True


NOTHING = Accounted()


class Interval(Struct, frozen=True, gc=False):
    """The stream over the interval, for one consumer."""

    position_before: int
    position: int
    counts_positions: bool  # it receives every message, and none is missing ahead of it
    limits_may_remove: bool
    removed: int  # messages that left the stream
    acks_remove: bool = False  # a work queue or an interest stream
    refiltered: bool = False  # the filter changed, so num_pending cannot be compared


def was_reset(before: Consumer, row: Consumer) -> bool:
    """Whether it was recreated or reset (CONSUMER.RESET keeps `created`)."""
    if row.delivered_consumer_seq < before.delivered_consumer_seq:
        return True
    return was_recreated(before.created, row.created)


def position(row: Consumer) -> int:
    """Position of the consumer after it skips removed messages."""
    before_first = row.stream_first_seq - 1
    return max(before_first, row.delivered_stream_seq)


def nothing_missing_ahead(row: Consumer, stream: Stream, *, gapless: bool) -> bool:
    """Whether all sequences after the position are messages; for a consumer without a filter.

    The second condition is for work queues and interest streams: acks leave gaps only behind the
    consumer. The stream is polled before the consumer, so num_pending may be larger.
    """
    return gapless or row.num_pending >= stream.last_seq - position(row)


def never_redelivers(config: ConsumerConfig | None) -> bool:
    return config is not None and (config.ack_policy == "none" or config.max_deliver == 1)


def account(before: Consumer, row: Consumer, interval: Interval) -> Accounted:
    """The changes between `before` and `row`; the caller handles resets."""
    if interval.counts_positions:
        return _by_position(before, row, interval)
    return _bounds(before, row, interval)


def _by_position(before: Consumer, row: Consumer, interval: Interval) -> Accounted:
    deliveries = row.delivered_consumer_seq - before.delivered_consumer_seq
    balance = deliveries - (interval.position - interval.position_before)
    # On a busy consumer, redeliveries can hide losses, and losses can hide redeliveries.
    certain = deliveries == 0 or never_redelivers(row.config)
    if balance >= 0:
        certain = certain or not _was_overrun(row, interval)
        return Accounted(balance, 0, 0, certain, certain) if balance or not certain else NOTHING
    if was_purged(before, row, interval):
        return Accounted(0, 0, -balance, certain, certain and not interval.limits_may_remove)
    return Accounted(0, -balance, 0, certain, certain)


def _was_overrun(row: Consumer, interval: Interval) -> bool:
    """Whether the stream's first sequence passed the consumer, as every loss requires.

    Acks move the first sequence of a work queue too: there a purge can stay undetected.
    """
    if row.stream_first_seq - 1 <= interval.position_before:
        return False
    return interval.limits_may_remove or not interval.acks_remove


def was_purged(before: Consumer, row: Consumer, interval: Interval) -> bool:
    """A purge moves the consumer to just before the first message; limits do not."""
    if not interval.limits_may_remove:
        return True
    return (
        row.delivered_consumer_seq == before.delivered_consumer_seq
        and row.delivered_stream_seq > before.delivered_stream_seq
        and row.delivered_stream_seq == row.stream_first_seq - 1
    )


def _bounds(before: Consumer, row: Consumer, interval: Interval) -> Accounted:
    redelivered, certain = 0, True
    if not never_redelivers(row.config):
        redelivered, certain = _least_redelivered(before, row)
    gone = 0 if interval.refiltered else _least_gone(before, row, interval)
    nothing_left = interval.removed == 0 and not interval.refiltered
    if gone and was_purged(before, row, interval):
        return Accounted(redelivered, 0, gone, certain, nothing_left)
    return Accounted(redelivered, gone, 0, certain, nothing_left)


def _least_redelivered(before: Consumer, row: Consumer) -> tuple[int, bool]:
    """A lower bound, and whether it is exact."""
    deliveries = row.delivered_consumer_seq - before.delivered_consumer_seq
    moved = row.delivered_stream_seq - before.delivered_stream_seq
    if deliveries == 0:
        return 0, True
    if moved == 0:
        return deliveries, True  # no first delivery
    newly_again = row.num_redelivered - before.num_redelivered
    if went_back(before, row):
        newly_again = 0
    least = 0 if moved < 0 else deliveries - moved
    return min(deliveries, max(0, least, newly_again)), False


def _least_gone(before: Consumer, row: Consumer, interval: Interval) -> int:
    """How much more num_pending fell than was delivered; 0 after a leader change."""
    config = row.config
    if before.leader != row.leader or (config and config.deliver_policy == "last_per_subject"):
        return 0
    deliveries = row.delivered_consumer_seq - before.delivered_consumer_seq
    # No more than the stream lost: num_pending of a server can be wrong.
    return max(0, min(before.num_pending - row.num_pending - deliveries, interval.removed))


def waiting_loss(row: Consumer) -> int:
    """Removed messages not skipped yet; for a consumer without a filter."""
    gone = row.stream_first_seq - 1 - row.delivered_stream_seq
    return max(0, gone)
