"""The conditions of streams: when each holds, since when, and what cannot be judged."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from support.exporter.models import NOW, at, consumer, server, stream, stream_config
from support.signals.consumer_polls import POLL, Polls, orders

from exporter import catalog
from exporter.model import MALFORMED, Replica, StreamOrigin, Thresholds

KEY = ("APP", "ORDERS")
BOUNDED = stream_config(discard="new", max_messages=1000)


def held(polls: Polls, *rows: Any, **how: Any) -> dict[str, float]:
    polls.poll(*rows, server(), **how)
    return dict(polls.signals.stream_conditions.get(KEY, ()))


def unjudged(polls: Polls) -> dict[str, str]:
    return dict(polls.signals.stream_unjudged.get(KEY, ()))


def filled(messages: int, **changes: Any) -> Any:
    return orders(messages, **{"config": BOUNDED, **changes})


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (orders(10), set()),
        (filled(979), set()),
        (filled(980), {"full"}),
        (filled(2000, config=stream_config(discard="old", max_messages=1000)), set()),
        (filled(10, config=stream_config(discard="new", max_bytes=100), bytes=99), {"full"}),
        (stream(up=False, reason="missing"), {"no_leader"}),
        (stream(up=False, reason=MALFORMED), set()),
        (orders(10, replicas=(Replica("n2", 0, True, 60.0),)), {"replica_offline"}),
        (orders(10, replicas=(Replica("n2", 1001, False, 0.1),)), {"replica_lagging"}),
        (orders(10, replicas=(Replica("n2", 1000, False, 0.1),)), set()),
        (orders(10, origins=(StreamOrigin("FAR", 5, 301.0, ""),)), {"mirror_stale"}),
        (orders(10, origins=(StreamOrigin("FAR", 5, 300.0, ""),)), set()),
        (orders(10, origins=(StreamOrigin("FAR", 0, 1.0, "no such stream"),)), {"mirror_stale"}),
        (orders(10, origins=(StreamOrigin("FAR", 0, None, ""),)), {"mirror_stale"}),  # never
    ],
)
def test_each_condition_holds_at_its_threshold_and_not_just_below(
    row: Any, expected: set[str]
) -> None:
    assert set(held(Polls(), row)) == expected


INTEREST = stream_config(retention="interest")


def discarding(last_seq: int = 70, **changes: Any) -> Any:
    return orders(70, **{"config": INTEREST, "messages": 0, "last_seq": last_seq} | changes)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, {"no_interest"}),
        ({"consumers": 1}, set()),
        ({"last_seq": 70}, set()),  # nothing was published since
        ({"config": stream_config(retention="limits")}, set()),
        ({"config": stream_config(retention="interest", mirror="FAR")}, set()),
    ],
)
def test_an_interest_stream_without_consumers_keeps_nothing(
    changes: dict[str, Any], expected: set[str]
) -> None:
    polls = Polls()
    assert held(polls, discarding()) == {}, "before, it may have had a consumer"
    assert set(held(polls, discarding(**{"last_seq": 71} | changes))) == expected


def test_an_interest_stream_is_well_five_minutes_after_the_last_message() -> None:
    polls = Polls()
    assert held(polls, discarding(70), consumer()) == {}
    began = polls.now + POLL
    for _ in range(int(300 / POLL) + 1):
        assert held(polls, discarding(71)) == {"no_interest": began}
    assert held(polls, discarding(71)) == {}


def test_what_the_last_consumer_received_was_kept() -> None:
    polls = Polls()
    held(polls, discarding(70, consumers=1), consumer())
    assert held(polls, discarding(71)) == {}
    assert held(polls, discarding(71)) == {}


def test_mirrors_and_sources_are_interest_too() -> None:
    polls = Polls()
    copy = stream("COPY", origins=(StreamOrigin("ORDERS", 0, 1.0, ""),))
    for last_seq in (70, 71):
        assert held(polls, discarding(last_seq), copy) == {}


QUEUE = stream_config(retention="workqueue")


def queue(messages: int = 4, consumers: int = 1) -> Any:
    return orders(messages, config=QUEUE, consumers=consumers)


def test_messages_of_a_work_queue_that_no_consumer_gets_are_unreachable_after_a_minute() -> None:
    polls, idle = Polls(), consumer()
    assert held(polls, queue(), idle) == {}
    began = polls.now
    for _ in range(3):
        assert held(polls, queue(), idle) == {}
    assert held(polls, queue(), idle) == {"unreachable_messages": began}
    assert held(polls, queue(), consumer(num_pending=1)) == {}
    assert held(polls, queue(), idle) == {}, "it begins again"


@pytest.mark.parametrize("between", [queue(0), queue(4, 0)], ids=["empty", "no consumer"])
def test_a_queue_that_was_empty_or_without_consumers_begins_again(between: Any) -> None:
    polls = Polls()
    held(polls, queue(), consumer())
    for _ in range(6):
        assert held(polls, between, consumer()) == {}
    assert held(polls, queue(), consumer()) == {}


def test_what_a_source_of_another_stream_reads_is_not_unreachable() -> None:
    polls = Polls()
    copy = stream("COPY", origins=(StreamOrigin("ORDERS", 4, 1.0, ""),))
    for _ in range(6):
        assert held(polls, queue(), consumer(), copy) == {}


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ((queue(), consumer(num_ack_pending=1)), None),
        ((queue(), consumer(num_pending=1)), None),
        ((queue(0), consumer()), None),
        ((queue(4, 0),), None),
        ((orders(4, consumers=1), consumer()), None),  # limits
        ((queue(4, 2), consumer(), consumer("other", num_pending=3)), None),
        ((queue(4, 2), consumer()), "no value reported"),  # one is not listed
        ((queue(), consumer(up=False, reason="no leader")), "no value reported"),
    ],
)
def test_a_work_queue_is_well_or_unknown(rows: tuple[Any, ...], reason: str | None) -> None:
    polls = Polls()
    for _ in range(6):
        assert held(polls, *rows) == {}
    assert unjudged(polls).get("unreachable_messages") == reason


def test_unreachable_messages_go_on_while_a_consumer_is_unknown() -> None:
    polls = Polls()
    for _ in range(5):
        held(polls, queue(), consumer())
    assert set(held(polls, queue(), consumer(up=False))) == {"unreachable_messages"}
    assert held(polls, queue(), consumer(num_pending=2)) == {}


@pytest.mark.parametrize(
    ("subjects", "damaged"), [(11, True), (10, False)], ids=["more", "as many"]
)
def test_an_index_with_more_subjects_than_messages_is_damaged(subjects: int, damaged: bool) -> None:
    found = held(Polls(), orders(10, subjects=subjects))
    assert ("index_damaged" in found) is damaged


def test_an_empty_stream_has_no_index() -> None:
    assert held(Polls(), stream(messages=0, subjects=3)) == {}


def test_conditions_do_not_hide_each_other_and_the_gravest_comes_first() -> None:
    lagging = Replica("n3", 5000, False, 0.1)
    polls = Polls()
    row = filled(1000, replicas=(Replica("n2", 0, True, 60.0), lagging))
    found = list(held(polls, row))
    assert found == ["full", "replica_offline", "quorum_at_risk", "replica_lagging"]
    assert found == [word for word in catalog.STREAM_CONDITIONS if word in found]


@pytest.mark.parametrize(
    ("replicas", "offline", "at_risk"),
    [(1, 1, False), (2, 0, False), (2, 1, True), (4, 1, False), (4, 2, True), (1, 0, False)],
)
def test_a_quorum_is_at_risk_when_the_next_failure_costs_it(
    replicas: int, offline: int, at_risk: bool
) -> None:
    """`replicas`: besides the leader."""
    others = tuple(Replica(f"n{n}", 0, n < offline, 60.0) for n in range(replicas))
    assert ("quorum_at_risk" in held(Polls(), orders(10, replicas=others))) is at_risk


def test_a_full_work_queue_that_stores_messages_is_back_pressure() -> None:
    polls, queue = Polls(), stream_config(discard="new", max_messages=100, retention="workqueue")
    full = stream(config=queue, messages=100, last_seq=500)
    assert "full" in held(polls, full)
    moved = replace(full, last_seq=503)
    assert list(held(polls, moved)) == ["back_pressure"]
    for _ in range(20):
        found = held(polls, moved)
    assert list(found) == ["full"]
    kept = replace(full, config=replace(queue, retention="limits"))
    assert "full" in held(polls, kept)
    assert "full" in held(polls, replace(kept, last_seq=510))


def test_a_condition_keeps_its_start_while_it_holds() -> None:
    polls = Polls()
    started = held(polls, stream(up=False))["no_leader"]
    assert started == polls.now
    assert held(polls, stream(up=False))["no_leader"] == started
    assert held(polls, orders(10)) == {}
    assert held(polls, stream(up=False))["no_leader"] == polls.now > started


def test_the_start_comes_from_the_servers_own_times() -> None:
    polls = Polls()
    row = filled(1000, last_time=at(NOW - 600), replicas=(Replica("n2", 0, True, 90.0),))
    found = held(polls, replace(row, origins=(StreamOrigin("FAR", 5, 400.0, ""),)))
    now = polls.now
    assert found == {"full": NOW - 600, "replica_offline": now - 90, "mirror_stale": now - 400}


def test_times_are_moved_to_the_exporters_clock() -> None:
    polls = Polls()
    polls.poll(filled(1000, last_time=at(NOW + 3600 - 60)), server(offset=3600.0))
    assert dict(polls.signals.stream_conditions[KEY]) == {"full": NOW - 60}


def test_a_full_stream_that_is_read_now_and_then_stays_full() -> None:
    polls = Polls()
    started = held(polls, filled(1000))["full"]
    assert held(polls, filled(960))["full"] == started
    assert held(polls, filled(949)) == {}
    assert held(polls, filled(960)) == {}


def test_a_row_that_cannot_be_read_neither_holds_nor_ends_a_condition() -> None:
    polls = Polls()
    started = held(polls, stream(up=False))["no_leader"]
    assert held(polls, stream(up=False, reason=MALFORMED)) == {"no_leader": started}
    assert held(polls, stream(up=False))["no_leader"] == started
    full = held(polls, filled(1000))
    assert held(polls, filled(1000, up=False, reason=MALFORMED)) == full
    assert {*unjudged(polls)} == {*catalog.STREAM_CONDITIONS} - {"full"}
    assert {*unjudged(polls).values()} == {"its row is malformed"}
    assert held(polls, filled(10)) == {}
    assert unjudged(polls) == {}


FOLLOWED = (Replica("n2", 0, False, 0.1),)
HIDDEN = dict.fromkeys(
    ("full", "no_interest", "filling", "unreachable_messages", "back_pressure"), "no configuration"
)
LEADERLESS = dict.fromkeys(catalog.STREAM_CONDITIONS[1:], "no leader")


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (orders(10), {}),
        (filled(10, replicas=FOLLOWED, follower_messages=(("n2", 10),)), {}),
        (orders(10, replicas=FOLLOWED), {"diverged": "no value reported"}),
        (orders(10, config=None), HIDDEN),
        (orders(10, up=False), LEADERLESS),
    ],
)
def test_what_cannot_be_judged_is_named(row: Any, expected: dict[str, str]) -> None:
    polls = Polls()
    for _ in range(2):
        held(polls, row)
        assert unjudged(polls) == expected
        of_streams = {each for each in polls.signals.unjudged if each[0] != "unhealthy"}
        assert of_streams == {*expected.items()}


def test_what_held_goes_on_without_configuration() -> None:
    polls = Polls()
    full = held(polls, filled(1000))
    assert held(polls, filled(10, config=None)) == full
    assert {*unjudged(polls)} == HIDDEN.keys() - {"full"}
    assert held(polls, filled(10)) == {}


def test_a_partial_poll_does_not_end_a_condition() -> None:
    polls = Polls()
    started = held(polls, stream(up=False))["no_leader"]
    assert held(polls, complete=False) == {}
    assert held(polls, stream(up=False))["no_leader"] == started
    assert held(polls) == {}  # complete: it is gone
    assert held(polls, stream(up=False))["no_leader"] > started


def test_a_mirror_of_an_idle_origin_is_not_stale() -> None:
    mirror = orders(10, origins=(StreamOrigin("SOURCE", 0, 500.0, ""),))
    idle = replace(orders(10), name="SOURCE", last_time=at(NOW - 600))
    busy = replace(orders(10), name="SOURCE", last_time=at(NOW - 10))
    assert held(Polls(), mirror, idle) == {}
    assert set(held(Polls(), mirror, busy)) == {"mirror_stale"}


def test_a_mirror_with_the_name_of_its_origin_is_not_taken_for_it() -> None:
    mirror = orders(10, last_time=at(NOW - 600), origins=(StreamOrigin("ORDERS", 0, 500.0, ""),))
    assert set(held(Polls(), mirror)) == {"mirror_stale"}


def test_limits_of_the_owner_take_precedence() -> None:
    limits = Thresholds((("peer-lag-critical", 10.0), ("seen-critical", 900.0)))
    row = orders(10, config=stream_config(thresholds=limits),
                 replicas=(Replica("n2", 11, False, 0.1),),
                 origins=(StreamOrigin("FAR", 5, 800.0, ""),))  # fmt: skip
    assert set(held(Polls(), row)) == {"replica_lagging"}


def test_a_replica_on_a_server_that_is_down_is_offline_before_the_leader_says_so() -> None:
    polls = Polls()
    row = orders(10, replicas=(Replica("n2", 0, False, 20.0),))
    polls.poll(row, server(), server("n2", up=False))
    assert dict(polls.signals.stream_conditions[KEY]) == {"replica_offline": polls.now}


def test_a_follower_differs_by_number_and_by_share() -> None:
    follower = Replica("n2", 0, False, 0.1)

    def differing(by: int, of: int) -> set[str]:
        row = orders(of, replicas=(follower,), follower_messages=(("n2", of - by),))
        return set(held(Polls(), row))

    assert differing(1001, 5000) == {"diverged"}
    assert differing(1000, 5000) == set()
    assert differing(1001, 30_000) == set()  # below 5 %


def test_a_stream_that_fills_up_is_reported_hours_before() -> None:
    """At 60 an hour the limit is two hours away, at 12 an hour ten."""
    slow, fast = Polls(), Polls()
    for step in range(12):
        crawling = held(slow, filled(860 + step), after=300.0)
        running = held(fast, filled(860 + 5 * step), after=300.0)
    assert crawling == {}
    assert set(running) == {"filling"}


def test_a_trend_needs_half_an_hour() -> None:
    polls = Polls()
    for step in range(12):
        found = held(polls, filled(860 + 10 * step), after=300.0)
        young = polls.signals.unjudged.get(("filling", "watched too briefly"), 0)
        assert (young, bool(found)) == ((1, False) if step < 6 else (0, True))


def test_a_stream_far_from_its_limit_keeps_no_state() -> None:
    polls = Polls()
    held(polls, filled(100), after=POLL)
    assert polls.state._stream_conditions == {}
