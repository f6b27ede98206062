"""Redeliveries and losses of one consumer between two polls.

The server counts every delivery (consumer_seq) and the position in the stream (stream_seq). Where
no message is missing ahead, each first delivery moves the position by one. Deliveries beyond that
are redeliveries; a position that moved further skipped messages.
"""

from __future__ import annotations

from msgspec import Struct

from exporter.model import Consumer, ConsumerConfig
from exporter.signals.ack_floor import went_back
from exporter.signals.stream_changes import was_recreated


class Accounted(Struct, frozen=True, gc=False):
    """The changes of one interval: each number is a lower bound, `lost_most` the upper one."""

    redelivered: int = 0
    lost: int = 0
    lost_most: int = 0
    purged: int = 0
    redelivered_certain: bool = True


# Where it is not known how many messages limits removed.
ANY_NUMBER = 1 << 62


class Interval(Struct, frozen=True, gc=False):
    """The stream over the interval, for one consumer."""

    position_before: int
    position: int
    by_limits: int  # at most so many messages were removed by limits
    purge_seen: bool  # more messages left than by limits
    gaps: int  # deleted messages between the first and the last
    acks_remove: bool = False  # a work queue or an interest stream
    # Up to this sequence it is certain that all were messages for this consumer.
    certain_up_to: int | None = None
    gaps_before: int = 0  # at the previous poll; what is passed may have been deleted before


def was_reset(before: Consumer, row: Consumer) -> bool:
    """Whether it was recreated or reset (CONSUMER.RESET keeps `created`)."""
    if row.delivered_consumer_seq < before.delivered_consumer_seq:
        return True
    return was_recreated(before.created, row.created)


def position(row: Consumer) -> int:
    """Position of the consumer after it skips removed messages."""
    # No max(), here and in other places: it takes longer than all the rest.
    if row.delivered_stream_seq < row.stream_first_seq:
        return row.stream_first_seq - 1
    return row.delivered_stream_seq


def nothing_missing_ahead(row: Consumer, last_seq: int) -> bool:
    """Whether all sequences up to `last_seq` after the position are messages for this consumer.

    `last_seq` must be older than the row, so num_pending may be larger.
    """
    return row.num_pending >= last_seq - position(row)


def never_redelivers(config: ConsumerConfig | None) -> bool:
    return config is not None and (config.ack_policy == "none" or config.max_deliver == 1)


def by_position(before: Consumer, row: Consumer, interval: Interval) -> Accounted:
    """For a consumer that receives every message; the caller handles resets."""
    deliveries = row.delivered_consumer_seq - before.delivered_consumer_seq
    moved = interval.position - interval.position_before
    # All that limits or a purge removed is before the first message; a single one may be anywhere.
    passed = max(0, row.stream_first_seq - 1 - interval.position_before)
    # On a busy consumer, redeliveries can hide losses, and losses can hide redeliveries.
    certain = deliveries == 0 or never_redelivers(row.config)
    gone = moved - deliveries
    if gone <= 0:
        certain = certain or not _was_overrun(passed, interval)
        most = 0 if certain else min(passed, interval.by_limits)
        return Accounted(-gone, 0, most, 0, certain)
    skipped = row.num_pending == 0 and interval.by_limits == 0 and not interval.acks_remove
    if gone <= passed and not (skipped and deliveries):
        certain = certain or gone == passed  # no more can be gone
        least, most = gone, gone if certain else min(moved, passed)
    else:
        # Single messages were deleted, or it skipped stored ones: before 2.10 a purge by subject
        # moves every consumer without a filter to the end.
        certain = False
        least, most = max(0, passed - deliveries), min(moved, passed + interval.gaps)
    return _lost_or_purged(before, row, interval, (least, most), certain=certain)


def _was_overrun(passed: int, interval: Interval) -> bool:
    """Whether the stream's first sequence passed the consumer, as every loss requires.

    Acks move the first sequence of a work queue too: there a purge can stay undetected.
    """
    return passed > 0 and (interval.by_limits > 0 or not interval.acks_remove)


def _lost_or_purged(
    before: Consumer,
    row: Consumer,
    interval: Interval,
    gone: tuple[int, int],
    *,
    certain: bool,
) -> Accounted:
    least, most = gone
    if interval.certain_up_to is not None:
        known_from = max(interval.certain_up_to, interval.position_before)
        least = max(0, least - max(0, row.stream_first_seq - 1 - known_from))
    if interval.gaps_before and not interval.acks_remove:  # acks leave gaps behind a consumer only
        least, certain = max(0, least - interval.gaps_before), False
    by_limits = interval.by_limits
    lost = min(least, by_limits)
    purged = least - lost
    if was_moved(before, row):
        # What a purge or limits removed up to its new position is not known.
        lost = min(lost, max(0, row.stream_first_seq - 1 - row.delivered_stream_seq))
    if interval.purge_seen:
        lost = 0
    return Accounted(0, lost, min(most, by_limits), purged, certain)


def was_moved(before: Consumer, row: Consumer) -> bool:
    """Without a delivery, only a purge moves a consumer; limits do not."""
    return (
        row.delivered_consumer_seq == before.delivered_consumer_seq
        and row.delivered_stream_seq > before.delivered_stream_seq
    )


def shows_no_purge(before: Consumer, row: Consumer) -> bool:
    """Whether it was overrun and is where it was: a purge would have moved it."""
    return (
        row.stream_first_seq - 1 > row.delivered_stream_seq == before.delivered_stream_seq
        and row.delivered_consumer_seq == before.delivered_consumer_seq
        and row.leader == before.leader
    )


def least_redelivered(before: Consumer, row: Consumer) -> tuple[int, bool]:
    """Behind a filter or gaps: a lower bound, and whether it is exact."""
    deliveries = row.delivered_consumer_seq - before.delivered_consumer_seq
    if deliveries == 0 or never_redelivers(row.config):
        return 0, True
    moved = row.delivered_stream_seq - before.delivered_stream_seq
    if moved == 0:
        return deliveries, True  # no first delivery
    newly_again = row.num_redelivered - before.num_redelivered
    if went_back(before, row):
        newly_again = 0
    least = 0 if moved < 0 else deliveries - moved
    return min(deliveries, max(0, least, newly_again)), False


def least_gone(before: Consumer, row: Consumer) -> int:
    """How much more num_pending fell than was delivered; 0 after a leader change."""
    config = row.config
    if before.leader != row.leader or (config and config.deliver_policy == "last_per_subject"):
        return 0
    deliveries = row.delivered_consumer_seq - before.delivered_consumer_seq
    return max(0, before.num_pending - row.num_pending - deliveries)


def waiting_loss(row: Consumer) -> int:
    """Removed messages not skipped yet; for a consumer without a filter."""
    gone = row.stream_first_seq - 1 - row.delivered_stream_seq
    return max(0, gone)
