"""Redeliveries, losses and purges between two polls of one consumer."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from support.exporter.models import NOW, at, consumer, consumer_config, stream

from exporter.model import Consumer
from exporter.signals.loss_accounting import (
    Accounted,
    Interval,
    account,
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
    """By position, on a stream whose limits may remove messages."""
    plain: dict[str, Any] = {
        "position_before": position(before),
        "position": max(position(before), position(now)),
        "counts_positions": True,
        "limits_may_remove": True,
        "removed": 1000,
    }
    return account(before, now, Interval(**{**plain, **changes}))


BY_POSITION: list[tuple[str, Consumer, Consumer, Accounted]] = [
    ("nothing moved", row(5, 5), row(5, 5), Accounted()),
    ("only first deliveries", row(5, 5), row(9, 9), Accounted()),
    ("two of six came again", row(5, 5), row(11, 9), Accounted(redelivered=2)),
    ("only repeats", row(5, 5), row(8, 5), Accounted(redelivered=3)),
    ("the limit took six that were not sent", row(4, 4), row(4, 4, 11), Accounted(lost=6)),
    (
        "they were counted when they went, not again when they are skipped",
        row(4, 4, 11),
        row(6, 12, 11),
        Accounted(),
    ),
    (
        "the stream's beginning passed a busy consumer: a repeat may hide a loss",
        row(4, 4),
        row(6, 12, 11),
        Accounted(lost=6, redelivered_certain=False, lost_certain=False),
    ),
    (
        "the same where nothing is ever sent again",
        row(4, 4, config=ACK_NONE),
        row(6, 12, 11, config=ACK_NONE),
        Accounted(lost=6),
    ),
    (
        "as many repeats as losses: both invisible, and reported as such",
        row(4, 4),
        row(12, 12, 9),
        Accounted(redelivered_certain=False, lost_certain=False),
    ),
    (
        "a purge moves the consumer itself",
        row(4, 4),
        row(4, 10, 11),
        Accounted(purged=6, lost_certain=False),
    ),
    (
        "a new leader does not know of the purge: the position does not count twice",
        row(4, 10, 11),
        row(4, 4, 11),
        Accounted(),
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
    found = happened(row(4, 4), row(6, 12, 11), limits_may_remove=False)
    assert (found.lost, found.purged) == (0, 6)
    assert happened(row(4, 4), row(4, 10, 11), limits_may_remove=False).lost_certain


def test_acks_move_the_beginning_of_a_work_queue() -> None:
    """Ten were sent and acked since, two of them twice: nothing is in doubt."""
    before, now = row(4, 4), row(16, 14, 15)
    assert happened(before, now).redelivered_certain is False
    found = happened(before, now, acks_remove=True, limits_may_remove=False)
    assert found == Accounted(redelivered=2)
    # A purge that took more than came again shows, and leaves doubt; so does a limit that was met.
    found = happened(row(4, 4), row(6, 14, 15), acks_remove=True, limits_may_remove=False)
    assert (found.purged, found.redelivered_certain) == (8, False)
    assert not happened(before, now, acks_remove=True).redelivered_certain


BOUNDS: list[tuple[str, Consumer, Consumer, Accounted]] = [
    (
        "nothing moved, but the stream lost messages",
        row(5, 9, num_pending=4),
        row(5, 9, num_pending=4),
        Accounted(lost_certain=False),
    ),
    (
        "without a first delivery all were repeats, and that is certain",
        row(5, 9),
        row(8, 9),
        Accounted(redelivered=3, lost_certain=False),
    ),
    (
        "more deliveries than the position moved",
        row(5, 9),
        row(15, 16),
        Accounted(redelivered=3, redelivered_certain=False, lost_certain=False),
    ),
    (
        "the position moved over messages that are not for it",
        row(5, 9),
        row(8, 99),
        Accounted(redelivered_certain=False, lost_certain=False),
    ),
    (
        "messages that are redelivered now and were not before",
        row(5, 9, num_redelivered=1),
        row(15, 99, num_redelivered=5),
        Accounted(redelivered=4, redelivered_certain=False, lost_certain=False),
    ),
    (
        "never more repeats than deliveries",
        row(5, 9, num_redelivered=0),
        row(7, 11, num_redelivered=50),
        Accounted(redelivered=2, redelivered_certain=False, lost_certain=False),
    ),
    (
        "a killed server forgot acks: its list is longer, but nothing was sent",
        row(5, 9, ack_floor_consumer_seq=5),
        row(7, 11, num_redelivered=50),
        Accounted(redelivered_certain=False, lost_certain=False),
    ),
    (
        "a position that went back shows nothing",
        row(5, 30),
        row(7, 28),
        Accounted(redelivered_certain=False, lost_certain=False),
    ),
    (
        "fewer wait than before, and they were not sent",
        row(5, 9, num_pending=10),
        row(7, 20, num_pending=2),
        Accounted(lost=6, redelivered_certain=False, lost_certain=False),
    ),
    (
        "the same after a purge",
        row(5, 9, num_pending=10),
        row(5, 49, 50, num_pending=2),
        Accounted(purged=8, lost_certain=False),
    ),
    (
        "a new leader may count otherwise",
        row(5, 9, num_pending=10),
        row(5, 9, num_pending=2, leader="n2"),
        Accounted(lost_certain=False),
    ),
    (
        "the last of each subject: a newer message replaces one that waits",
        row(5, 9, num_pending=10, config=consumer_config(deliver_policy="last_per_subject")),
        row(5, 9, num_pending=2, config=consumer_config(deliver_policy="last_per_subject")),
        Accounted(lost_certain=False),
    ),
    (
        "without acks nothing is ever sent again, whatever the filter",
        row(5, 9, config=ACK_NONE),
        row(15, 16, config=ACK_NONE),
        Accounted(lost_certain=False),
    ),
]


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [case[1:] for case in BOUNDS],
    ids=[case[0] for case in BOUNDS],
)
def test_behind_a_filter_or_gaps_the_least_is_reported(
    before: Consumer, now: Consumer, expected: Accounted
) -> None:
    assert happened(before, now, counts_positions=False) == expected


def test_a_stream_that_lost_nothing_cannot_have_lost_what_waited() -> None:
    before, now = row(5, 9, num_pending=10), row(5, 9, num_pending=2)
    assert happened(before, now, counts_positions=False, removed=0) == Accounted()
    assert happened(before, now, counts_positions=False, removed=3).lost == 3


def test_with_another_filter_the_number_that_waits_means_something_else() -> None:
    before, now = row(5, 9, num_pending=10), row(5, 9, num_pending=2)
    found = happened(before, now, counts_positions=False, refiltered=True)
    assert (found.lost, found.purged, found.lost_certain) == (0, 0, False)


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
    """As acks leave them on a work queue: nine messages of twenty, but all ahead of it are there."""
    seen = stream(messages=9, first_seq=3, last_seq=20)
    assert nothing_missing_ahead(row(15, 15, 3, num_pending=5), seen, gapless=False)
    assert not nothing_missing_ahead(row(15, 15, 3, num_pending=4), seen, gapless=False)
    # Polled a moment later, the consumer may know newer messages than the stream did.
    assert nothing_missing_ahead(row(15, 15, 3, num_pending=8), seen, gapless=False)
    assert nothing_missing_ahead(row(15, 15, 3, num_pending=0), seen, gapless=True)


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
