"""The signal state from poll to poll: what it counts, keeps and forgets."""

from __future__ import annotations

from msgspec.structs import replace
from support.exporter.models import NOW, at, consumer, consumer_config, stream, stream_config
from support.signals.consumer_polls import Polls, orders, worker

from exporter.signals.conditions.words import Reason, unjudged
from exporter.signals.engine import FORGET_AFTER_SECONDS
from exporter.signals.results import ConsumerSignals, Signals
from exporter.signals.verdict import Verdict


def test_the_first_poll_counts_nothing_and_judges_no_consumer() -> None:
    result = Polls().result(orders(10), worker(25, 10))
    assert (result.redeliveries, result.lost, result.purged, result.recreated) == (0, 0, 0, 0)
    assert (result.verdict, result.redelivery_ratio) == (None, None)
    assert (result.redelivery_exact, result.lost_exact, result.lag) == (1, 1, 0.0)


def test_the_second_poll_shows_what_happened_between() -> None:
    polls = Polls()
    polls.poll(orders(10), worker(10, 10))
    result = polls.result(orders(20), worker(24, 20))
    assert (result.redeliveries, result.redelivery_ratio, result.verdict) == (4, 4 / 14, Verdict.OK)


def test_a_verdict_shows_since_when() -> None:
    polls = Polls()
    polls.poll(orders(10), worker(10, 10))
    idle = polls.result(orders(10), worker(10, 10))
    since = polls.now
    assert (idle.verdict, idle.verdict_since) == (Verdict.IDLE, since)
    later = polls.result(orders(10), worker(10, 10))
    assert later.verdict_since == since
    down = polls.result(orders(10), replace(worker(10, 10), up=False))
    assert (down.verdict, down.verdict_since) == (Verdict.NO_LEADER, polls.now)


def test_a_position_that_a_new_leader_does_not_know_counts_once() -> None:
    polls = Polls()
    polls.poll(orders(20), worker(4, 4, num_pending=16))
    purged = worker(4, 10, stream_first_seq=11, num_pending=10)
    polls.poll(orders(20, 11), purged)
    # Its server holds the stream too, and has not seen all of the purge yet.
    behind = worker(4, 4, stream_first_seq=9, num_pending=12, leader="n2")
    polls.poll(orders(20, 11), behind)
    result = polls.result(orders(20, 11), replace(purged, leader="n2"))
    assert (result.redeliveries, result.lost, result.purged) == (0, 0, 6)


def test_a_consumer_without_leader_keeps_its_counters_and_nothing_else() -> None:
    polls = Polls()
    polls.poll(orders(10), worker(10, 10))
    polls.poll(orders(10), worker(14, 10))
    result = polls.result(orders(10), replace(worker(0, 0), up=False))
    assert result == ConsumerSignals(
        4, 0, 0, Verdict.NO_LEADER, polls.now,
        conditions=(("no_leader", polls.now),), unjudged=unjudged(Reason.NO_LEADER),
    )  # fmt: skip
    back = polls.result(orders(10), worker(15, 10))
    assert back.redeliveries == 5


def test_one_seen_for_the_first_time_without_leader_is_judged_at_once() -> None:
    result = Polls().result(consumer(up=False), stream(up=False))
    assert result.verdict is Verdict.NO_LEADER


def test_what_happened_while_its_stream_was_unknown_is_counted_afterwards() -> None:
    polls = Polls()
    polls.poll(orders(10), worker(10, 10))
    polls.poll(stream(up=False), worker(12, 10))
    result = polls.result(orders(10), worker(13, 10))
    assert result.redeliveries == 3


def test_a_recreated_consumer_restarts_but_its_counters_stay() -> None:
    polls = Polls()
    polls.poll(orders(10), worker(10, 10))
    polls.poll(orders(10), worker(13, 10))
    result = polls.result(orders(90), worker(2, 90, created=at(NOW)))
    assert (result.redeliveries, result.lost, result.recreated, result.verdict) == (3, 0, 1, None)
    result = polls.result(orders(91), worker(4, 91, created=at(NOW)))
    assert (result.redeliveries, result.verdict) == (4, Verdict.OK)


def test_a_new_leader_is_counted() -> None:
    polls = Polls()
    polls.poll(orders(10), worker(10, 10))
    result = polls.result(orders(10, leader="n2"), worker(10, 10, leader="n3"))
    assert result.leader_changes == 1
    assert polls.stream.leader_changes == 1


def test_a_recreated_stream_or_set_back_is_counted() -> None:
    polls = Polls()
    polls.poll(orders(10))
    polls.poll(orders(8))
    polls.poll(orders(20, created=at(NOW)))
    polls.poll(orders(15, 11, created=at(NOW)))
    assert (polls.stream.regressions, polls.stream.recreated, polls.stream.purged) == (2, 1, 0)


def test_a_durable_that_is_gone_is_counted_and_forgotten() -> None:
    polls = Polls()
    ephemeral = consumer("short", config=consumer_config(durable=False))
    polls.poll(orders(10), worker(10, 10), consumer("other"), ephemeral)
    polls.poll(orders(10), worker(13, 10))
    assert polls.stream.consumers_removed == 1
    polls.poll(orders(10))
    assert polls.stream.consumers_removed == 2
    # It comes back as a stranger.
    assert polls.result(orders(10), worker(13, 10)).redeliveries == 0


def test_a_partial_response_removes_nothing() -> None:
    polls = Polls()
    polls.poll(orders(10), worker(10, 10))
    polls.poll(orders(10), worker(13, 10))
    polls.poll(complete=False)
    assert polls.signals == Signals()
    result = polls.result(orders(10), worker(14, 10))
    assert (result.redeliveries, polls.stream.consumers_removed) == (4, 0)


def test_what_partial_responses_never_name_is_forgotten_in_the_end() -> None:
    polls = Polls()
    polls.poll(orders(10), worker(10, 10))
    polls.poll(orders(10), worker(13, 10))
    polls.poll(complete=False, after=FORGET_AFTER_SECONDS + 1)
    assert polls.result(orders(10), worker(14, 10)).redeliveries == 0


def test_one_consumer_that_a_purge_moved_shows_it_for_all_of_its_stream() -> None:
    """Limits move no consumer. A busy one alone would look as if limits had removed its messages."""
    config = stream_config(max_messages=20)
    full, again = orders(20, config=config), orders(60, 41, config=config)
    busy, idle = worker(4, 4, num_pending=16), consumer("idle", num_pending=20)
    after = worker(6, 42, stream_first_seq=41, num_pending=18)

    def counted(moved_to: int) -> tuple[int | None, int | None]:
        polls = Polls()
        polls.poll(full, busy, idle)
        moved = consumer("idle", delivered_stream_seq=moved_to, stream_first_seq=41, num_pending=20)
        result = polls.result(again, after, moved)
        return result.lost, result.lost_upper

    assert counted(moved_to=0) == (36, 36)
    assert counted(moved_to=40) == (0, 36)


def test_a_stream_far_below_its_limits_was_purged() -> None:
    polls = Polls()
    config = stream_config(max_bytes=2000)
    polls.poll(orders(20, config=config, bytes=2000), worker(4, 4, num_pending=16))
    # More was stored, so limits removed some; then a purge, and two deliveries.
    left = orders(52, 51, config=config, bytes=200)
    result = polls.result(left, worker(6, 52, stream_first_seq=51))
    assert (result.lost, result.purged) == (0, 0)
    assert result.lost_upper is not None
    assert result.lost_upper >= 16
