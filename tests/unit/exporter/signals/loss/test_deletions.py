"""Messages deleted by hand are not lost: a gap at any poll shows that they were deleted."""

import pytest
from support.exporter.models import consumer_config, stream_config
from support.signals.consumer_polls import Polls, orders, worker

from exporter.model import Stream
from exporter.signals.stream_changes import new_gaps

AGED = stream_config(max_age_seconds=60.0)
FULL = stream_config(max_messages=40)


def held(first: int, last: int, gaps: int = 0) -> Stream:
    return orders(last, first, messages=last - first + 1 - gaps, config=FULL)


@pytest.mark.parametrize(
    ("before", "now", "deleted"),
    [
        (held(1, 20), held(1, 30), 0),
        (held(1, 20), held(1, 30, gaps=2), 2),
        (held(1, 20, gaps=2), held(1, 30, gaps=2), 0),
        # The gaps of before may be passed, and these be new ones.
        (held(1, 20, gaps=2), held(2, 30, gaps=2), 1),
        (held(1, 20, gaps=2), held(9, 30, gaps=2), 2),
        (held(1, 20, gaps=2), held(9, 30), 0),
    ],
)
def test_a_gap_counts_once(before: Stream, now: Stream, deleted: int) -> None:
    assert new_gaps(before, now) == deleted


def test_acks_leave_gaps_too() -> None:
    queue = stream_config(retention="workqueue")
    now = orders(30, 1, messages=25, config=queue)
    assert new_gaps(orders(30, 1, config=queue), now) == 0


def test_one_that_waited_and_was_deleted_is_not_lost() -> None:
    """20 wait, one of them is deleted, then all expire."""
    polls = Polls()
    polls.poll(orders(20, config=AGED), worker(0, 0, num_pending=20))
    polls.poll(orders(20, config=AGED), worker(0, 0, num_pending=20))
    gap = orders(20, 15, messages=5, config=AGED)
    result = polls.result(gap, worker(0, 0, num_pending=5, stream_first_seq=15))
    assert (result.lost, result.lost_upper) == (13, 14)
    after = orders(32, 21, config=AGED)
    for _ in range(3):
        result = polls.result(after, worker(0, 0, num_pending=12, stream_first_seq=21))
        assert result.lost == 19
        assert (result.lost_upper or 0) >= 20


def test_what_a_purge_made_a_consumer_skip_is_not_lost() -> None:
    """Before 2.10 a purge by subject moves it to the end; then limits remove what it skipped."""
    picky = consumer_config(filters=("orders.*",))
    polls = Polls()
    for _ in range(2):
        polls.poll(held(1, 40), worker(0, 10, num_pending=12, config=picky))
    moved = worker(0, 40, num_pending=0, config=picky)
    polls.poll(held(1, 40), moved)
    result = polls.result(
        held(21, 60), worker(0, 40, num_pending=0, stream_first_seq=21, config=picky)
    )
    assert result.lost == 0
