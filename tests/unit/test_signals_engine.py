"""The book over many snapshots: what it counts, what it keeps, what it forgets."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from support.models import NOW, at, consumer, consumer_config, server, stream, stream_config

from exporter.model import Consumer, Server, Snapshot, Stream
from exporter.signals.engine import FORGET_AFTER_SECONDS, SignalBook
from exporter.signals.heard import FilteredCount, Heard, LagReading
from exporter.signals.told import ConsumerSignals, Signals, StreamSignals
from exporter.signals.verdict import Verdict
from exporter.signals.window import WINDOW_SECONDS

KEY = ("APP", "ORDERS", "worker")
POLL = 15.0
CONFIG = consumer_config()  # one object: a source gives the same one as long as nothing changed


def orders(last: int, first: int = 1, **changes: Any) -> Stream:
    """Without gaps; the last message was stored a second before the look."""
    plain: dict[str, Any] = {
        "first_seq": first,
        "last_seq": last,
        "messages": last - first + 1,
        "created": at(NOW - 5000),
        "first_time": at(NOW - 1000),
        "last_time": at(NOW - 1),
    }
    return stream(**{**plain, **changes})


def worker(deliveries: int, seq: int, floor: int | None = None, **changes: Any) -> Consumer:
    acked = seq if floor is None else floor
    plain: dict[str, Any] = {
        "delivered_consumer_seq": deliveries,
        "delivered_stream_seq": seq,
        "ack_floor_consumer_seq": deliveries if floor is None else floor,
        "ack_floor_stream_seq": acked,
        "created": at(NOW - 4000),
        "stream_first_seq": 1,
        "config": CONFIG,
    }
    return consumer(**{**plain, **changes})


class Polls:
    """A book and a clock that a test moves."""

    def __init__(self) -> None:
        self.book = SignalBook()
        self.now = NOW
        self.signals = Signals()

    def look(
        self,
        *rows: Stream | Consumer | Server,
        after: float = POLL,
        complete: bool = True,
        heard: Heard | None = None,
    ) -> ConsumerSignals | None:
        self.now += after
        self.signals = self.book.update(
            Snapshot(
                system="nats",
                taken=self.now,
                streams=tuple(row for row in rows if isinstance(row, Stream)),
                consumers=tuple(row for row in rows if isinstance(row, Consumer)),
                servers=tuple(row for row in rows if isinstance(row, Server)),
                complete=complete,
            ),
            heard,
        )
        return self.signals.consumers.get(KEY)

    def told(self, *rows: Stream | Consumer | Server, **how: Any) -> ConsumerSignals:
        found = self.look(*rows, **how)
        assert found is not None
        return found

    @property
    def stream(self) -> StreamSignals:
        return self.signals.streams["APP", "ORDERS"]


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


def test_a_resting_consumer_is_told_of_without_new_work() -> None:
    polls = Polls()
    polls.look(orders(10), worker(10, 10))
    first = polls.told(orders(10), worker(10, 10))
    assert first.verdict is Verdict.IDLE
    assert polls.told(orders(10), worker(10, 10), after=900) is first


WAKING: list[tuple[str, dict[str, Any]]] = [
    ("a delivery", {"delivered_consumer_seq": 11}),
    ("a message that waits", {"num_pending": 1}),
    ("an unacked message", {"num_ack_pending": 1}),
    ("a move of its position", {"delivered_stream_seq": 11}),
    ("a loss", {"stream_first_seq": 12}),
    ("a floor that goes back", {"ack_floor_consumer_seq": 9}),
    ("a message given up", {"num_redelivered": 1}),
    ("a pause", {"paused": True}),
    ("another configuration", {"config": consumer_config(max_deliver=5)}),
    ("another leader", {"leader": "n2"}),
    ("a new life", {"created": at(NOW)}),
    ("no leader", {"up": False}),
]


@pytest.mark.parametrize("change", [case[1] for case in WAKING], ids=[case[0] for case in WAKING])
def test_whatever_stirs_ends_the_rest(change: dict[str, Any]) -> None:
    polls = Polls()
    polls.look(orders(10), worker(10, 10))
    resting = polls.told(orders(10), worker(10, 10))
    assert polls.told(orders(10), replace(worker(10, 10), **change)) is not resting


def test_a_rest_is_no_stall_and_no_lag() -> None:
    picky = consumer_config(filters=("orders.eu",))
    polls = Polls()
    for last in range(10, 400, 5):  # the stream goes on, but nothing is for this consumer
        now = orders(last, last_time=at(polls.now + POLL - 1))
        told = polls.told(now, worker(10, 10, config=picky))
    assert (told.verdict, told.lag) == (Verdict.IDLE, 0.0)
    one = worker(10, 10, config=picky, num_pending=1)
    told = polls.told(orders(401, last_time=at(polls.now + POLL - 1)), one)
    assert told.stalled == 0.0
    assert told.lag is not None
    assert told.lag <= 3 * POLL
    told = polls.told(orders(401, last_time=at(polls.now - 1)), one)
    assert told.stalled == POLL


def test_a_rest_is_no_standstill_of_the_floor() -> None:
    polls = Polls()
    for _ in range(3):
        polls.look(orders(10), worker(10, 10))
    assert polls.told(orders(10), worker(10, 10), after=3600).verdict is Verdict.IDLE
    told = polls.told(orders(11), worker(11, 11, floor=10, num_ack_pending=1))
    assert (told.verdict, told.floor_stalled) == (Verdict.OK, 0.0)
    told = polls.told(orders(11), worker(11, 11, floor=10, num_ack_pending=1))
    assert told.floor_stalled == POLL


def test_doubt_lasts_as_long_as_the_window() -> None:
    polls = Polls()
    polls.look(orders(10), worker(4, 4))
    told = polls.told(orders(20, 11, config=stream_config(max_messages=10)),
                      worker(6, 12, stream_first_seq=11))  # fmt: skip
    assert (told.lost, told.lost_exact, told.redelivery_exact) == (6, 0, 0)
    full = orders(20, 11, config=stream_config(max_messages=10))
    caught_up = worker(14, 20, stream_first_seq=11)
    assert polls.told(full, caught_up, after=60).lost_exact == 0
    told = polls.told(full, caught_up, after=300)
    assert (told.lost, told.lost_exact, told.redelivery_exact) == (6, 1, 1)


def test_doubt_ends_for_a_resting_consumer_too() -> None:
    config = stream_config(max_age_seconds=500.0)
    polls = Polls()
    polls.look(orders(20, config=config), worker(4, 4, num_pending=16))
    # A purge, but some may have been too old already: which of the two took them?
    empty = orders(20, 21, config=config, first_time=None, last_time=None)
    told = polls.told(empty, worker(4, 20, stream_first_seq=21))
    assert (told.purged, told.lost, told.lost_exact, told.verdict) == (16, 0, 0, Verdict.IDLE)
    assert polls.told(empty, worker(4, 20, stream_first_seq=21)).lost_exact == 0
    assert polls.told(empty, worker(4, 20, stream_first_seq=21), after=300).lost_exact == 1


def test_gaps_that_open_ahead_of_a_resting_consumer_are_noticed() -> None:
    polls = Polls()
    polls.look(orders(10), worker(10, 10))
    assert polls.told(orders(10), worker(10, 10)).redelivery_exact == 1
    assert polls.told(orders(30, messages=10), worker(10, 10)).redelivery_exact == 0


def test_a_stream_set_back_behind_a_resting_consumer_is_noticed() -> None:
    polls = Polls()
    polls.look(orders(10), worker(10, 10))
    polls.look(orders(10), worker(10, 10))
    assert polls.told(orders(7), worker(10, 10)).ahead == 3


def test_a_count_of_what_passes_reaches_a_resting_consumer() -> None:
    picky = consumer_config(filters=("orders.eu",))
    polls = Polls()
    for _ in range(3):
        told = polls.told(orders(10), worker(5, 10, config=picky))
    assert (told.verdict, told.redelivery_exact) == (Verdict.IDLE, 0)
    heard = Heard(counts={KEY: FilteredCount(5, 0, 5, 0)})
    assert polls.told(orders(10), worker(5, 10, config=picky), heard=heard).redelivery_exact == 1


def test_acks_that_a_server_forgot_are_lag_again() -> None:
    polls = Polls()
    polls.look(orders(10), worker(10, 10))
    polls.look(orders(10), worker(10, 10))
    told = polls.told(orders(10), worker(10, 10, floor=0, num_ack_pending=10))
    assert told.unfinished_seq == 1


def test_a_message_that_the_consumers_server_did_not_know_yet_is_not_taken_for_finished() -> None:
    picky = consumer_config(filters=("orders.eu",))
    polls = Polls()
    polls.look(orders(100), worker(10, 100, config=picky))
    polls.look(orders(101), worker(10, 100, config=picky))  # 101 is for it, as it will learn
    told = polls.told(orders(101), worker(10, 100, config=picky, num_pending=1))
    assert told.unfinished_seq == 101
    assert told.lag is not None
    assert told.lag > 0


def test_the_times_of_a_stream_that_was_made_again_are_new() -> None:
    polls = Polls()
    polls.look(orders(400), worker(0, 0, num_pending=400))
    young = orders(500, created=at(NOW + 20), first_time=at(NOW + 20), last_time=at(NOW + 25))
    told = polls.told(young, worker(399, 399, num_pending=101, created=at(NOW + 20)))
    assert told.lag is not None
    assert told.lag <= polls.now - (NOW + 20)


def test_streams_that_overwrite_lose_nothing() -> None:
    polls = Polls()
    config = stream_config(kind="kv", max_messages_per_subject=1)
    told = polls.told(orders(10, config=config), worker(10, 10))
    assert told.redelivery_exact == 0
    told = polls.told(orders(200, 200, config=config), worker(5, 200, stream_first_seq=200))
    assert (told.lost, told.lost_exact, told.lost_waiting) == (None, None, None)
    assert (told.redeliveries, told.redelivery_exact) == (0, 0)


def test_the_age_of_a_message_is_told_by_the_clock_that_stamped_it() -> None:
    polls = Polls()
    clocks = (server("n1", offset=100.0), server("n2", offset=-50.0))
    waiting = worker(9, 9, leader="n2", num_pending=1)
    stored = at(polls.now + POLL + 100.0 - 7)  # seven seconds ago by the clock of n1
    told = polls.told(orders(10, last_time=stored), waiting, *clocks)
    assert told.lag == pytest.approx(7.0, abs=1e-5)
    assert told.lag_exact == 0


def test_messages_of_the_duplicate_window_are_counted() -> None:
    polls = Polls()
    config = stream_config(duplicate_window_seconds=120.0)
    times = {"first_time": at(NOW - 1000), "last_time": at(NOW + POLL)}
    polls.look(orders(1001, config=config, **times), server())
    assert polls.stream.dedupe_ids == pytest.approx(120, abs=3)
    polls.look(orders(1001, config=replace(config, mirror="ORIGIN"), **times), server())
    assert polls.stream.dedupe_ids is None


def test_a_consumer_ahead_of_its_stream_is_told_only_when_that_is_certain() -> None:
    polls = Polls()
    polls.look(orders(10), worker(12, 12))  # asked later than the stream: no fault
    assert polls.told(orders(12), worker(15, 15)).ahead is None
    assert polls.told(orders(12), worker(15, 15)).ahead == 3


def test_how_far_ahead_a_resting_consumer_is_follows_the_stream() -> None:
    picky = consumer_config(filters=("orders.eu",))
    idle = worker(100, 100, config=picky)
    polls = Polls()
    for last in (100, 100, 90):  # the stream lost what came after 90
        polls.look(orders(last), idle)
    told = [polls.told(orders(last), idle).ahead for last in (90, 95, 99, 100, 150)]
    assert told == [10, 5, 1, None, None]


def test_counts_of_what_passes_the_filter_make_redeliveries_exact() -> None:
    picky = consumer_config(filters=("orders.eu",))
    polls = Polls()

    def look(last: int, deliveries: int, seq: int, count: FilteredCount | None) -> ConsumerSignals:
        heard = None if count is None else Heard(counts={KEY: count})
        row = worker(deliveries, seq, config=picky)
        return polls.told(orders(last), row, heard=heard)

    assert look(100, 10, 90, FilteredCount(10, 0, 10, 0)).redelivery_exact == 1
    # Fifteen more deliveries for ten more messages; the position alone would not tell.
    told = look(200, 25, 190, FilteredCount(20, 0, 25, 0))
    assert (told.redeliveries, told.redelivery_exact) == (5, 1)
    told = look(300, 30, 290, None)
    assert (told.redeliveries, told.redelivery_exact) == (5, 0)


def test_counts_that_cannot_be_compared_leave_doubt_for_the_window() -> None:
    picky = consumer_config(filters=("orders.eu",))
    polls = Polls()

    def look(deliveries: int, count: FilteredCount) -> ConsumerSignals:
        row = worker(deliveries, 90 + deliveries, config=picky)
        return polls.told(orders(300), row, heard=Heard(counts={KEY: count}))

    assert look(10, FilteredCount(10, 0, 10, 0)).redelivery_exact == 1
    # Five were sent and four left the stream: nobody knows how many of the five were new.
    assert look(15, FilteredCount(10, 4, 15, 0)).redelivery_exact == 0
    for _ in range(int(WINDOW_SECONDS // 15) + 1):
        told = look(15, FilteredCount(10, 4, 15, 0))
    assert told.redelivery_exact == 1


def test_a_filtered_consumer_that_never_acked_lags_since_it_began() -> None:
    picky = consumer_config(filters=("orders.eu",), deliver_policy="all")
    waiting = {"num_ack_pending": 3, "num_pending": 0, "ack_floor_stream_seq": 0}
    polls = Polls()
    told = polls.told(orders(100), worker(3, 100, 0, config=picky, **waiting))
    assert told.unfinished_seq == 1


def test_a_reading_of_the_message_makes_the_lag_exact() -> None:
    polls = Polls()
    row = worker(10, 10, floor=4, num_ack_pending=6)
    told = polls.told(orders(10), row)
    assert (told.lag_exact, told.unfinished_seq, told.blocking_stream_seq) == (0, 5, None)
    stored = polls.now + POLL - 33
    told = polls.told(orders(10), row, heard=Heard(lags={KEY: LagReading(5, 6, stored)}))
    assert (told.lag_exact, told.blocking_stream_seq) == (1, 6)
    assert told.lag == pytest.approx(33.0)


def test_a_reading_behind_an_abandoned_message_is_not_believed() -> None:
    polls = Polls()
    row = worker(10, 10, floor=4, num_ack_pending=1, config=consumer_config(max_deliver=2))
    heard = Heard(exhausted={KEY: frozenset({5})}, lags={KEY: LagReading(10, 10, NOW - 900)})
    told = polls.told(orders(10), row, heard=heard)
    assert (told.floor_exhausted, told.lag_exact, told.unfinished_seq) == (1, 0, 10)


def test_events_give_redeliveries_a_cause() -> None:
    polls = Polls()
    polls.look(orders(10), worker(10, 10), heard=Heard(listening=frozenset({"APP"})))
    naks = Heard(naks={KEY: 3}, listening=frozenset({"APP"}))
    assert polls.told(orders(10), worker(14, 10), heard=naks).redelivery_cause == 2
    assert Polls().told(orders(10), worker(10, 10), heard=naks).redelivery_cause is None


def test_a_pulled_consumer_is_deserted_and_a_bound_one_is_not() -> None:
    push = consumer_config(kind="push")
    polls = Polls()
    for bound, verdict in ((True, Verdict.OK), (False, Verdict.NOBODY_PULLS)):
        row = worker(5, 5, num_pending=5, push_bound=bound, config=push)
        for _ in range(3):
            told = polls.told(orders(10), row)
        assert told.verdict is verdict
