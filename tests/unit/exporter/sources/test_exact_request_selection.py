"""Which consumers get exact requests, and how long a cached result holds."""

from typing import Any

import pytest
from msgspec.structs import replace
from support.exporter.models import (
    NOW,
    at,
    consumer,
    consumer_config,
    snapshot,
    stream,
    stream_config,
)

from exporter.model import Consumer, Stream
from exporter.signals.events_input import ConsumerKey, FilteredCount, LagMeasurement
from exporter.signals.results import ConsumerSignals, Signals
from exporter.sources.exact_requests.selection import (
    CachedCount,
    CachedMeasurement,
    Countable,
    Lagging,
    choose_countable,
    choose_lagging,
    countable,
    lagging,
)

STREAM = stream(
    created=at(NOW - 3600), messages=90, first_seq=11, last_seq=100, subjects=10, consumers=1
)


def key(name: str) -> ConsumerKey:
    return ("APP", "ORDERS", name)


def behind(name: str, lag: float, start_seq: int = 20) -> Lagging:
    return Lagging(key(name), STREAM, (), start_seq, lag)


def names(chosen: list[Lagging] | list[Countable]) -> list[str]:
    return [each.key[2] for each in chosen]


def reported(**changes: Any) -> ConsumerSignals:
    plain: dict[str, Any] = {
        "redeliveries": 0,
        "recreated": 0,
        "leader_changes": 0,
        "verdict": None,
        "verdict_since": 0.0,
        "lag": 5.0,
        "unfinished_seq": 31,
    }
    return ConsumerSignals(**{**plain, **changes})


def row(**changes: Any) -> Consumer:
    """Acked up to 30, delivered up to 40."""
    plain: dict[str, Any] = {
        "delivered_consumer_seq": 30,
        "delivered_stream_seq": 40,
        "ack_floor_consumer_seq": 20,
        "ack_floor_stream_seq": 30,
        "num_ack_pending": 10,
        "num_pending": 60,
        "stream_first_seq": 11,
    }
    return consumer(**{**plain, **changes})


def start_seq(one: Consumer, payload: ConsumerSignals, kept_in: Stream = STREAM) -> int | None:
    signals = Signals({key(one.name): payload})
    found = lagging(snapshot(kept_in, one), signals, "APP")
    return found[0].start_seq if found else None


def test_a_lagging_consumer_starts_at_its_first_unfinished_message() -> None:
    assert start_seq(row(), reported()) == 31


def test_what_was_acked_since_the_poll_before_is_passed_over() -> None:
    moved = row(ack_floor_stream_seq=35, ack_floor_consumer_seq=25, num_ack_pending=5)
    assert start_seq(moved, reported()) == 36


@pytest.mark.parametrize(
    "payload", [reported(lag=0.0), reported(lag=None), reported(unfinished_seq=None)]
)
def test_a_consumer_without_known_lag_gets_no_request(payload: ConsumerSignals) -> None:
    assert start_seq(row(), payload) is None


@pytest.mark.parametrize(
    "one",
    [
        row(up=False),
        row(num_ack_pending=0, num_pending=0),
        row(account="OTHER"),
        row(config=None),
        row(config=consumer_config(deliver_policy="last_per_subject")),
        row(ack_floor_stream_seq=0),  # after a purge of messages in flight
    ],
)
def test_no_request_where_the_message_would_not_give_the_true_lag(one: Consumer) -> None:
    assert start_seq(one, reported()) is None


def test_no_request_for_a_stream_without_a_leader() -> None:
    assert start_seq(row(), reported(), stream(up=False, reason="no_leader")) is None


def test_behind_an_exhausted_message_only_undelivered_ones_count() -> None:
    assert start_seq(row(), reported(floor_exhausted=1)) is None
    assert start_seq(row(num_ack_pending=0), reported(floor_exhausted=1)) == 41


@pytest.mark.parametrize(("policy", "start"), [("all", 11), ("new", None)])
def test_a_consumer_that_never_acked_needs_a_known_start(policy: str, start: int | None) -> None:
    never = row(ack_floor_consumer_seq=0, ack_floor_stream_seq=0)
    one = replace(never, config=consumer_config(deliver_policy=policy))
    assert start_seq(one, reported()) == start


def test_all_that_lag_are_chosen_if_they_are_few_enough() -> None:
    chosen = choose_lagging([behind("a", 1.0), behind("b", 9.0)], 2, {})
    assert names(chosen) == ["b", "a"]


def test_the_highest_lags_are_always_chosen_and_the_others_in_rotation() -> None:
    wanted = [
        behind(name, lag) for name, lag in zip("abcdef", (60, 50, 40, 30, 20, 10), strict=True)
    ]
    requested: dict[ConsumerKey, int] = {}
    rounds = []
    for number in range(3):
        chosen = names(choose_lagging(wanted, 4, requested))
        requested |= {key(name): number for name in chosen}
        rounds.append(chosen)
    assert rounds == [["a", "b", "c", "d"], ["a", "b", "e", "f"], ["a", "b", "c", "d"]]


def test_a_measurement_holds_while_its_message_is_the_first_and_stored() -> None:
    cached = CachedMeasurement(LagMeasurement(20, 25, NOW), (), STREAM)
    assert cached.still_valid_for(behind("a", 1.0, start_seq=20))
    assert cached.still_valid_for(behind("a", 1.0, start_seq=25))
    assert not cached.still_valid_for(behind("a", 1.0, start_seq=26))
    assert not cached.still_valid_for(behind("a", 1.0, start_seq=19))
    assert not cached.still_valid_for(replace(behind("a", 1.0), filters=("orders.eu",)))


@pytest.mark.parametrize(
    ("changes", "good"),
    [
        ({"messages": 85, "first_seq": 16}, True),  # removed in front of it
        ({"messages": 75, "first_seq": 26}, False),  # expired
        ({"messages": 89}, False),  # one is gone from between, perhaps this one
        ({"messages": 190, "last_seq": 200}, True),
        ({"messages": 80, "last_seq": 90}, False),  # set back: the number was given again
        ({"created": at(NOW)}, False),
    ],
)
def test_a_measurement_ends_when_its_message_may_be_gone(changes: Any, good: bool) -> None:
    cached = CachedMeasurement(LagMeasurement(20, 25, NOW), (), STREAM)
    wanted = replace(behind("a", 1.0), stream=replace(STREAM, **changes))
    assert cached.still_valid_for(wanted) is good


def test_in_a_stream_with_gaps_a_measurement_holds_until_a_removal() -> None:
    gaps = replace(STREAM, messages=50)
    cached = CachedMeasurement(LagMeasurement(20, 25, NOW), (), gaps)
    grown = replace(gaps, messages=60, last_seq=110)
    assert cached.still_valid_for(replace(behind("a", 1.0), stream=grown))
    trimmed = replace(gaps, messages=49, first_seq=13)
    assert not cached.still_valid_for(replace(behind("a", 1.0), stream=trimmed))


FILTERED = consumer_config(filters=("orders.eu",))


def test_a_filtered_consumer_can_be_counted() -> None:
    found = countable(snapshot(STREAM, row(config=FILTERED)), "APP")
    assert [(each.key, each.deliveries, each.removed, each.subjects) for each in found] == [
        (key("worker"), 30, 10, 1)
    ]


def test_the_response_to_a_wildcard_filter_may_name_every_subject() -> None:
    wide = consumer_config(filters=("orders.eu", "orders.*.x"))
    assert [each.subjects for each in countable(snapshot(STREAM, row(config=wide)), "APP")] == [11]


@pytest.mark.parametrize(
    "changes",
    [
        {"filters": ()},
        {"filters": ("orders.>",)},
        {"ack_policy": "none"},
        {"max_deliver": 1},
        {"deliver_policy": "last_per_subject"},
    ],
)
def test_a_consumer_that_needs_no_count_is_not_countable(changes: Any) -> None:
    config = replace(FILTERED, **changes)
    assert countable(snapshot(STREAM, row(config=config)), "APP") == []


@pytest.mark.parametrize(
    "changes",
    [
        {"retention": "workqueue"},
        {"retention": "interest"},
        {"max_age_seconds": 60.0},
        {"message_ttl": True},
        {"max_messages_per_subject": 1},
    ],
)
def test_where_messages_leave_all_the_time_nothing_is_counted(changes: Any) -> None:
    kept_in = replace(STREAM, config=stream_config(**changes))
    assert countable(snapshot(kept_in, row(config=FILTERED)), "APP") == []


def count_of(name: str, subjects: int = 1) -> Countable:
    return Countable(key(name), ("orders.eu",), at(NOW), 30, 10, subjects)


def test_the_longest_waiting_consumer_is_counted_first() -> None:
    requested = {key("a"): 2, key("b"): 1}
    assert names(choose_countable([count_of(n) for n in "abc"], 2, 10, requested)) == ["c", "b"]


def test_all_responses_together_stay_under_the_ceiling() -> None:
    wanted = [count_of("a", 6), count_of("b", 6), count_of("c", 4), count_of("d", 11)]
    assert names(choose_countable(wanted, 10, 10, {})) == ["a", "c"]


@pytest.mark.parametrize(
    ("changes", "differs"),
    [
        ({}, False),
        ({"deliveries": 31}, True),
        ({"removed": 11}, True),
        ({"filters": ("orders.us",)}, True),
        ({"created": at(NOW + 60)}, True),
    ],
)
def test_a_consumer_that_did_nothing_is_not_counted_again(changes: Any, differs: bool) -> None:
    cached = CachedCount(FilteredCount(50, 10, 30, 20), ("orders.eu",), at(NOW))
    assert replace(count_of("a"), **changes).differs_from(cached) is differs
