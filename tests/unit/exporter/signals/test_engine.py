"""The book of signals from poll to poll: what it counts, keeps and forgets."""

from __future__ import annotations

from msgspec.structs import replace
from support.exporter.models import NOW, at, consumer, consumer_config, stream
from support.signals.consumer_polls import Polls, orders, worker

from exporter.signals.engine import FORGET_AFTER_SECONDS
from exporter.signals.results import ConsumerSignals, Signals
from exporter.signals.verdict import Verdict


def test_the_first_look_counts_nothing_and_judges_nobody() -> None:
    told = Polls().told(orders(10), worker(25, 10))
    assert (told.redeliveries, told.lost, told.purged, told.recreated) == (0, 0, 0, 0)
    assert (told.verdict, told.redelivery_ratio) == (None, None)
    assert (told.redelivery_exact, told.lost_exact, told.lag) == (1, 1, 0.0)


def test_the_second_look_tells_what_happened_between() -> None:
    polls = Polls()
    polls.look(orders(10), worker(10, 10))
    told = polls.told(orders(20), worker(24, 20))
    assert (told.redeliveries, told.redelivery_ratio, told.verdict) == (4, 4 / 14, Verdict.OK)


def test_a_verdict_says_since_when() -> None:
    polls = Polls()
    polls.look(orders(10), worker(10, 10))
    idle = polls.told(orders(10), worker(10, 10))
    since = polls.now
    assert (idle.verdict, idle.verdict_since) == (Verdict.IDLE, since)
    later = polls.told(orders(10), worker(10, 10))
    assert later.verdict_since == since
    down = polls.told(orders(10), replace(worker(10, 10), up=False))
    assert (down.verdict, down.verdict_since) == (Verdict.NO_LEADER, polls.now)


def test_a_position_that_a_new_leader_does_not_know_counts_once() -> None:
    polls = Polls()
    polls.look(orders(20), worker(4, 4))
    polls.look(orders(20, 11), worker(4, 10, stream_first_seq=11))
    # Its server holds the stream too, and has not seen all of the purge yet.
    polls.look(orders(20, 11), worker(4, 4, stream_first_seq=9, leader="n2"))
    told = polls.told(orders(20, 11), worker(4, 10, stream_first_seq=11, leader="n2"))
    assert (told.redeliveries, told.lost, told.purged) == (0, 0, 6)


def test_a_consumer_without_leader_keeps_its_counters_and_nothing_else() -> None:
    polls = Polls()
    polls.look(orders(10), worker(10, 10))
    polls.look(orders(10), worker(14, 10))
    told = polls.told(orders(10), replace(worker(0, 0), up=False))
    assert told == ConsumerSignals(4, 0, 0, Verdict.NO_LEADER, polls.now)
    back = polls.told(orders(10), worker(15, 10))
    assert back.redeliveries == 5


def test_one_seen_for_the_first_time_without_leader_is_judged_at_once() -> None:
    told = Polls().told(consumer(up=False), stream(up=False))
    assert told.verdict is Verdict.NO_LEADER


def test_what_happened_while_its_stream_was_unknown_is_counted_afterwards() -> None:
    polls = Polls()
    polls.look(orders(10), worker(10, 10))
    polls.look(stream(up=False), worker(12, 10))
    told = polls.told(orders(10), worker(13, 10))
    assert told.redeliveries == 3


def test_a_consumer_made_again_begins_anew_but_its_counters_stay() -> None:
    polls = Polls()
    polls.look(orders(10), worker(10, 10))
    polls.look(orders(10), worker(13, 10))
    told = polls.told(orders(90), worker(2, 90, created=at(NOW)))
    assert (told.redeliveries, told.lost, told.recreated, told.verdict) == (3, 0, 1, None)
    told = polls.told(orders(91), worker(4, 91, created=at(NOW)))
    assert (told.redeliveries, told.verdict) == (4, Verdict.OK)


def test_a_new_leader_is_counted() -> None:
    polls = Polls()
    polls.look(orders(10), worker(10, 10))
    told = polls.told(orders(10, leader="n2"), worker(10, 10, leader="n3"))
    assert told.leader_changes == 1
    assert polls.stream.leader_changes == 1


def test_a_stream_made_again_or_set_back_is_counted() -> None:
    polls = Polls()
    polls.look(orders(10))
    polls.look(orders(8))
    polls.look(orders(20, created=at(NOW)))
    polls.look(orders(15, 11, created=at(NOW)))
    assert (polls.stream.regressions, polls.stream.recreated, polls.stream.purged) == (2, 1, 0)


def test_a_durable_that_is_gone_is_counted_and_forgotten() -> None:
    polls = Polls()
    ephemeral = consumer("short", config=consumer_config(durable=False))
    polls.look(orders(10), worker(10, 10), consumer("other"), ephemeral)
    polls.look(orders(10), worker(13, 10))
    assert polls.stream.consumers_removed == 1
    polls.look(orders(10))
    assert polls.stream.consumers_removed == 2
    # It comes back as a stranger.
    assert polls.told(orders(10), worker(13, 10)).redeliveries == 0


def test_a_partial_answer_removes_nobody() -> None:
    polls = Polls()
    polls.look(orders(10), worker(10, 10))
    polls.look(orders(10), worker(13, 10))
    polls.look(complete=False)
    assert polls.signals == Signals()
    told = polls.told(orders(10), worker(14, 10))
    assert (told.redeliveries, polls.stream.consumers_removed) == (4, 0)


def test_what_partial_answers_never_name_is_forgotten_in_the_end() -> None:
    polls = Polls()
    polls.look(orders(10), worker(10, 10))
    polls.look(orders(10), worker(13, 10))
    polls.look(complete=False, after=FORGET_AFTER_SECONDS + 1)
    assert polls.told(orders(10), worker(14, 10)).redeliveries == 0
