"""Redeliveries, losses and purges between two polls of one consumer."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from support.exporter.models import NOW, at, consumer, consumer_config

from exporter.model import Consumer
from exporter.signals.loss.accounting import (
    Accounted,
    Interval,
    by_position,
    least_gone,
    least_redelivered,
    never_redelivers,
    nothing_missing_ahead,
    position,
    waiting_loss,
    was_reset,
)

ACK_NONE = consumer_config(ack_policy="none")


def row(deliveries: int, seq: int, first: int = 1, **changes: Any) -> Consumer:
    return consumer(
        delivered_consumer_seq=deliveries,
        delivered_stream_seq=seq,
        stream_first_seq=first,
        **changes,
    )


def happened(before: Consumer, now: Consumer, **changes: Any) -> Accounted:
    """On a stream whose limits may have removed any number of messages."""
    plain: dict[str, Any] = {
        "position_before": position(before),
        "position": max(position(before), position(now)),
        "by_limits": 1000,
        "purge_seen": False,
        "gaps": 0,
    }
    return by_position(before, now, Interval(**{**plain, **changes}))


BY_POSITION: list[tuple[str, Consumer, Consumer, Accounted]] = [
    ("nothing moved", row(5, 5), row(5, 5), Accounted()),
    ("only first deliveries", row(5, 5), row(9, 9), Accounted()),
    ("two of six came again", row(5, 5), row(11, 9), Accounted(redelivered=2)),
    ("only repeats", row(5, 5), row(8, 5), Accounted(redelivered=3)),
    (
        "the limit took six that were not sent",
        row(4, 4),
        row(4, 4, 11),
        Accounted(lost=6, lost_most=6),
    ),
    (
        "they were counted when they went, not again when they are skipped",
        row(4, 4, 11),
        row(6, 12, 11),
        Accounted(),
    ),
    (
        "of all that was passed none can have been sent",
        row(4, 4),
        row(6, 12, 11),
        Accounted(lost=6, lost_most=6),
    ),
    (
        "the stream's beginning passed a busy consumer: a repeat may hide a loss",
        row(4, 4),
        row(8, 12, 11),
        Accounted(lost=4, lost_most=6, redelivered_certain=False),
    ),
    (
        "the same where nothing is ever sent again",
        row(4, 4, config=ACK_NONE),
        row(8, 12, 11, config=ACK_NONE),
        Accounted(lost=4, lost_most=4),
    ),
    (
        "as many repeats as losses: both invisible, and reported as such",
        row(4, 4),
        row(12, 12, 9),
        Accounted(lost_most=4, redelivered_certain=False),
    ),
    (
        "a purge moves the consumer itself, but limits may have been there before",
        row(4, 4),
        row(4, 10, 11),
        Accounted(lost_most=6),
    ),
    (
        "what was removed beyond its new position went by limits",
        row(4, 4),
        row(4, 7, 11),
        Accounted(lost=3, lost_most=6),
    ),
    (
        "a new leader does not know of the purge: the position does not count twice",
        row(4, 10, 11),
        row(4, 4, 11),
        Accounted(),
    ),
    (
        "2.9 moves it to the end when another subject is purged: all are stored",
        row(4, 4),
        row(4, 29),
        Accounted(redelivered_certain=False),
    ),
]


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [case[1:] for case in BY_POSITION],
    ids=[case[0] for case in BY_POSITION],
)
def test_positions_show_what_happened(before: Consumer, now: Consumer, expected: Accounted) -> None:
    assert happened(before, now) == expected


def test_what_no_limit_can_have_taken_was_purged() -> None:
    # Deliveries after the purge hide that the consumer jumped.
    now = row(6, 12, 11, num_pending=3)
    assert happened(row(4, 4), now, by_limits=0) == Accounted(purged=6)
    assert happened(row(4, 4), row(4, 10, 11), by_limits=0) == Accounted(purged=6)
    # Of ten that are gone, limits may have taken two.
    found = happened(row(4, 4), row(4, 14, 15), by_limits=2, purge_seen=True)
    assert found == Accounted(lost_most=2, purged=8)


def test_single_messages_may_be_deleted_anywhere() -> None:
    """Three are deleted ahead of it and passed, or the stream still holds them."""
    found = happened(row(4, 4), row(8, 11), by_limits=0, gaps=3)
    assert found == Accounted(redelivered_certain=False)


def test_what_is_passed_may_have_been_deleted_before() -> None:
    found = happened(row(4, 4), row(4, 4, 11), gaps_before=2)
    assert found == Accounted(lost=4, lost_most=6, redelivered_certain=False)
    found = happened(row(4, 4), row(4, 4, 11), gaps_before=2, acks_remove=True)
    assert found == Accounted(lost=6, lost_most=6)


def test_what_came_and_went_between_two_polls_may_not_have_been_for_it() -> None:
    found = happened(row(4, 4), row(4, 4, 11), certain_up_to=8)
    assert found == Accounted(lost=4, lost_most=6)


def test_acks_move_the_beginning_of_a_work_queue() -> None:
    """Ten were sent and acked since, two of them twice: nothing is in doubt."""
    before, now = row(4, 4), row(16, 14, 15)
    assert happened(before, now).redelivered_certain is False
    found = happened(before, now, acks_remove=True, by_limits=0)
    assert found == Accounted(redelivered=2)
    # A purge that took more than came again shows, and leaves doubt; so does a limit that was met.
    found = happened(row(4, 4), row(6, 14, 15), acks_remove=True, by_limits=0)
    assert (found.purged, found.redelivered_certain) == (8, False)
    assert not happened(before, now, acks_remove=True).redelivered_certain


BOUNDS: list[tuple[str, Consumer, Consumer, tuple[int, bool]]] = [
    ("nothing moved", row(5, 9), row(5, 9), (0, True)),
    ("without a first delivery all were repeats", row(5, 9), row(8, 9), (3, True)),
    ("more deliveries than the position moved", row(5, 9), row(15, 16), (3, False)),
    ("the position moved over messages that are not for it", row(5, 9), row(8, 99), (0, False)),
    (
        "messages that are redelivered now and were not before",
        row(5, 9, num_redelivered=1),
        row(15, 99, num_redelivered=5),
        (4, False),
    ),
    (
        "never more repeats than deliveries",
        row(5, 9, num_redelivered=0),
        row(7, 11, num_redelivered=50),
        (2, False),
    ),
    (
        "a killed server forgot acks: its list is longer, but nothing was sent",
        row(5, 9, ack_floor_consumer_seq=5),
        row(7, 11, num_redelivered=50),
        (0, False),
    ),
    ("a position that went back shows nothing", row(5, 30), row(7, 28), (0, False)),
    (
        "without acks nothing is ever sent again, whatever the filter",
        row(5, 9, config=ACK_NONE),
        row(15, 16, config=ACK_NONE),
        (0, True),
    ),
]


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [case[1:] for case in BOUNDS],
    ids=[case[0] for case in BOUNDS],
)
def test_behind_a_filter_or_gaps_the_least_is_reported(
    before: Consumer, now: Consumer, expected: tuple[int, bool]
) -> None:
    assert least_redelivered(before, now) == expected


def test_fewer_wait_than_before_and_they_were_not_sent() -> None:
    before, now = row(5, 9, num_pending=10), row(7, 20, num_pending=2)
    assert least_gone(before, now) == 6
    assert least_gone(now, before) == 0
    # A new leader may count otherwise, and newer messages replace the last of a subject.
    assert least_gone(before, row(7, 20, num_pending=2, leader="n2")) == 0
    last = consumer_config(deliver_policy="last_per_subject")
    assert least_gone(before, row(7, 20, num_pending=2, config=last)) == 0


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        (row(5, 5), row(5, 5), False),
        (row(5, 5), row(4, 9), True),
        (row(5, 5), row(0, 0), True),
        (row(5, 5, created=at(NOW)), row(7, 7, created=at(NOW + 0.0005)), False),
        (row(5, 5, created=at(NOW)), row(7, 7, created=at(NOW + 1.5)), True),
        (row(5, 5, created=at(NOW)), row(7, 7, created=at(NOW) - timedelta(hours=1)), True),
        (row(5, 5, created=None), row(7, 7, created=at(NOW)), False),
    ],
)
def test_a_recreated_consumer_or_set_back_is_noticed(
    before: Consumer, now: Consumer, *, expected: bool
) -> None:
    assert was_reset(before, now) is expected


def test_gaps_behind_a_consumer_do_not_matter() -> None:
    """As acks leave them on a work queue: all twenty that are ahead of it are there."""
    assert nothing_missing_ahead(row(15, 15, 3, num_pending=5), 20)
    assert not nothing_missing_ahead(row(15, 15, 3, num_pending=4), 20)
    # Polled a moment later, the consumer may know newer messages than the stream did.
    assert nothing_missing_ahead(row(15, 15, 3, num_pending=8), 20)


def test_what_is_gone_waits_to_be_skipped() -> None:
    assert waiting_loss(row(4, 4, 11)) == 6
    assert waiting_loss(row(4, 10, 11)) == 0
    assert waiting_loss(row(4, 40, 11)) == 0
    # A new consumer starts at its configured start, not at 0.
    assert waiting_loss(row(0, 10, 11)) == 0


def test_some_consumers_never_send_anything_again() -> None:
    assert never_redelivers(ACK_NONE)
    assert never_redelivers(consumer_config(max_deliver=1))
    assert not never_redelivers(consumer_config(max_deliver=2))
    assert not never_redelivers(None)
