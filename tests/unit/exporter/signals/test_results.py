"""Results for lag, filters, causes and clocks, and when they are bounds."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from support.exporter.models import NOW, at, consumer_config, server, stream_config
from support.signals.consumer_polls import KEY, POLL, Polls, orders, worker

from exporter.signals.events_input import EventsInput, FilteredCount, LagMeasurement
from exporter.signals.results import ConsumerSignals
from exporter.signals.verdict import Verdict
from exporter.signals.window import WINDOW_SECONDS


def test_acks_that_a_server_forgot_are_lag_again() -> None:
    polls = Polls()
    polls.poll(orders(10), worker(10, 10))
    polls.poll(orders(10), worker(10, 10))
    result = polls.result(orders(10), worker(10, 10, floor=0, num_ack_pending=10))
    assert result.unfinished_seq == 1


def test_a_message_that_the_consumers_server_did_not_know_yet_is_not_taken_for_finished() -> None:
    filtered = consumer_config(filters=("orders.eu",))
    polls = Polls()
    polls.poll(orders(100), worker(10, 100, config=filtered))
    polls.poll(orders(101), worker(10, 100, config=filtered))  # 101 is for it, as it will learn
    result = polls.result(orders(101), worker(10, 100, config=filtered, num_pending=1))
    assert result.unfinished_seq == 101
    assert result.lag is not None
    assert result.lag > 0


def test_the_times_of_a_stream_that_was_recreated_are_new() -> None:
    polls = Polls()
    polls.poll(orders(400), worker(0, 0, num_pending=400))
    young = orders(500, created=at(NOW + 20), first_time=at(NOW + 20), last_time=at(NOW + 25))
    result = polls.result(young, worker(399, 399, num_pending=101, created=at(NOW + 20)))
    assert result.lag is not None
    assert result.lag <= polls.now - (NOW + 20)


def test_streams_that_overwrite_lose_nothing() -> None:
    polls = Polls()
    config = stream_config(kind="kv", max_messages_per_subject=1)
    result = polls.result(orders(10, config=config), worker(10, 10))
    assert result.redelivery_exact == 0
    result = polls.result(orders(200, 200, config=config), worker(5, 200, stream_first_seq=200))
    assert (result.lost, result.lost_exact, result.lost_waiting) == (None, None, None)
    assert (result.redeliveries, result.redelivery_exact) == (0, 0)


def test_the_age_of_a_message_is_reported_by_the_clock_that_stamped_it() -> None:
    polls = Polls()
    clocks = (server("n1", offset=100.0), server("n2", offset=-50.0))
    waiting = worker(9, 9, leader="n2", num_pending=1)
    stored = at(polls.now + POLL + 100.0 - 7)  # seven seconds ago by the clock of n1
    result = polls.result(orders(10, last_time=stored), waiting, *clocks)
    assert result.lag == pytest.approx(7.0, abs=1e-5)
    assert result.lag_exact == 0


def test_messages_of_the_duplicate_window_are_counted() -> None:
    polls = Polls()
    config = stream_config(duplicate_window_seconds=120.0)
    times = {"first_time": at(NOW - 1000), "last_time": at(NOW + POLL)}
    polls.poll(orders(1001, config=config, **times), server())
    assert polls.stream.dedupe_window_messages == pytest.approx(120, abs=3)
    polls.poll(orders(1001, config=replace(config, mirror="ORIGIN"), **times), server())
    assert polls.stream.dedupe_window_messages is None


def test_a_consumer_ahead_of_its_stream_is_reported_only_when_that_is_certain() -> None:
    polls = Polls()
    polls.poll(orders(10), worker(12, 12))  # polled after the stream: no fault
    assert polls.result(orders(12), worker(15, 15)).ahead is None
    assert polls.result(orders(12), worker(15, 15)).ahead == 3


def test_how_far_ahead_an_idle_consumer_is_follows_the_stream() -> None:
    filtered = consumer_config(filters=("orders.eu",))
    idle = worker(100, 100, config=filtered)
    polls = Polls()
    for last in (100, 100, 90):  # the stream lost what came after 90
        polls.poll(orders(last), idle)
    result = [polls.result(orders(last), idle).ahead for last in (90, 95, 99, 100, 150)]
    assert result == [10, 5, 1, None, None]


def test_counts_of_what_passes_the_filter_make_redeliveries_exact() -> None:
    filtered = consumer_config(filters=("orders.eu",))
    polls = Polls()

    def poll(last: int, deliveries: int, seq: int, count: FilteredCount | None) -> ConsumerSignals:
        events = None if count is None else EventsInput(counts={KEY: count})
        row = worker(deliveries, seq, config=filtered)
        return polls.result(orders(last), row, events=events)

    assert poll(100, 10, 90, FilteredCount(10, 0, 10, 0)).redelivery_exact == 1
    # Fifteen more deliveries for ten more messages; the position alone would not show.
    result = poll(200, 25, 190, FilteredCount(20, 0, 25, 0))
    assert (result.redeliveries, result.redelivery_exact) == (5, 1)
    result = poll(300, 30, 290, None)
    assert (result.redeliveries, result.redelivery_exact) == (5, 0)


def test_counts_that_cannot_be_compared_leave_doubt_for_the_window() -> None:
    filtered = consumer_config(filters=("orders.eu",))
    polls = Polls()

    def poll(deliveries: int, count: FilteredCount) -> ConsumerSignals:
        row = worker(deliveries, 90 + deliveries, config=filtered)
        return polls.result(orders(300), row, events=EventsInput(counts={KEY: count}))

    assert poll(10, FilteredCount(10, 0, 10, 0)).redelivery_exact == 1
    # Five were sent and four left the stream: it is unknown how many of the five were new.
    assert poll(15, FilteredCount(10, 4, 15, 0)).redelivery_exact == 0
    for _ in range(int(WINDOW_SECONDS // 15) + 1):
        result = poll(15, FilteredCount(10, 4, 15, 0))
    assert result.redelivery_exact == 1


def test_a_filtered_consumer_that_never_acked_lags_since_it_began() -> None:
    filtered = consumer_config(filters=("orders.eu",), deliver_policy="all")
    waiting = {"num_ack_pending": 3, "num_pending": 0, "ack_floor_stream_seq": 0}
    polls = Polls()
    result = polls.result(orders(100), worker(3, 100, 0, config=filtered, **waiting))
    assert result.unfinished_seq == 1


def test_a_measurement_of_the_message_makes_the_lag_exact() -> None:
    polls = Polls()
    row = worker(10, 10, floor=4, num_ack_pending=6)
    result = polls.result(orders(10), row)
    assert (result.lag_exact, result.unfinished_seq, result.blocking_stream_seq) == (0, 5, None)
    stored = polls.now + POLL - 33
    result = polls.result(
        orders(10), row, events=EventsInput(lags={KEY: LagMeasurement(5, 6, stored)})
    )
    assert (result.lag_exact, result.blocking_stream_seq) == (1, 6)
    assert result.lag == pytest.approx(33.0)


def test_a_measurement_behind_an_abandoned_message_is_not_believed() -> None:
    polls = Polls()
    row = worker(10, 10, floor=4, num_ack_pending=1, config=consumer_config(max_deliver=2))
    events = EventsInput(
        exhausted={KEY: frozenset({5})}, lags={KEY: LagMeasurement(10, 10, NOW - 900)}
    )
    result = polls.result(orders(10), row, events=events)
    assert (result.floor_exhausted, result.lag_exact, result.unfinished_seq) == (1, 0, 10)


def test_events_give_redeliveries_a_cause() -> None:
    polls = Polls()
    polls.poll(orders(10), worker(10, 10), events=EventsInput(listening=frozenset({"APP"})))
    naks = EventsInput(naks={KEY: 3}, listening=frozenset({"APP"}))
    assert polls.result(orders(10), worker(14, 10), events=naks).redelivery_cause == 2
    assert Polls().result(orders(10), worker(10, 10), events=naks).redelivery_cause is None


def test_a_pulled_consumer_is_deserted_and_a_bound_one_is_not() -> None:
    push = consumer_config(kind="push")
    polls = Polls()
    for bound, verdict in ((True, Verdict.OK), (False, Verdict.NO_WORKER_PULLS)):
        row = worker(5, 5, num_pending=5, push_bound=bound, config=push)
        for _ in range(3):
            result = polls.result(orders(10), row)
        assert result.verdict is verdict
