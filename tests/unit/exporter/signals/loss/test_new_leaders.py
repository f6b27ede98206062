"""A new leader of a consumer reports a backlog of 0 until it has counted what waits."""

from support.exporter.models import stream_config
from support.signals.consumer_polls import Polls, orders, worker

FULL = stream_config(max_messages=40)


def test_what_limits_removed_while_the_leader_moved_is_counted() -> None:
    polls = Polls()
    for _ in range(2):
        polls.poll(orders(18, config=FULL), worker(0, 0, num_pending=18))
    overrun = orders(48, 9, config=FULL, leader="n2")
    result = polls.result(overrun, worker(0, 0, stream_first_seq=9, leader="n3"))
    assert (result.lost, result.lost_upper, result.purged) == (8, 8, 0)
    counted = worker(0, 0, stream_first_seq=9, num_pending=40, leader="n3")
    result = polls.result(overrun, counted)
    assert (result.lost, result.lost_upper, result.lost_exact) == (8, 8, 1)


def test_one_that_waited_for_nothing_before_loses_nothing() -> None:
    polls = Polls()
    for _ in range(2):
        polls.poll(orders(18, config=FULL), worker(18, 18))
    moved = orders(50, 11, config=FULL, leader="n2")
    result = polls.result(moved, worker(18, 18, stream_first_seq=11, leader="n3"))
    assert (result.lost, result.lost_upper) == (0, 0)
