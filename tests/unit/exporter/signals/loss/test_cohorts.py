"""Bounds of what a consumer behind a filter lost, from the messages that waited at earlier polls."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from support.exporter.models import consumer, consumer_config

from exporter.model import Consumer
from exporter.signals.loss.cohorts import (
    MOST_COHORTS,
    Cohort,
    Step,
    at_least,
    at_most,
    first_deliveries,
    follow,
    is_served,
    settled_only,
)


def row(deliveries: int, seq: int, pending: int, first: int = 1, **changes: Any) -> Consumer:
    return consumer(
        delivered_consumer_seq=deliveries,
        delivered_stream_seq=seq,
        num_pending=pending,
        stream_first_seq=first,
        **changes,
    )


def waiting(pending: int, **changes: Any) -> Cohort:
    """So many waited among the sequences 11 to 100, after ten deliveries; three were lost before."""
    plain: dict[str, Any] = {
        "pending": pending,
        "settled": 10,
        "last_least": 98,
        "last_most": 100,
        "deliveries": 10,
        "lower": 3,
        "upper": 3,
    }
    return Cohort(**plain | changes)


@pytest.mark.parametrize(
    ("what", "first", "expected"),
    [
        ("the stream starts before all of them", 11, 3),
        ("nine sequences were passed", 20, 3 + 9),
        ("more than waited", 80, 3 + 40),
        ("all of them, and two that the consumer may not have known", 101, 3 + 40 + 2),
        ("fifty came and went since", 151, 3 + 40 + 52),
    ],
)
def test_no_more_can_be_lost(what: str, first: int, expected: int) -> None:
    assert at_most(waiting(40), first) == expected, what


def test_without_a_cohort_each_passed_sequence_may_be_lost() -> None:
    assert at_most(settled_only(10, 3), 11) == 3
    assert at_most(settled_only(10, 3), 61) == 3 + 50


@pytest.mark.parametrize(
    ("what", "deliveries", "pending", "first", "expected"),
    [
        ("fifty sequences may still hold some", 10, 60, 51, 3 - 10),
        ("thirty may", 10, 60, 71, 3 + 10),
        ("fewer wait than that", 10, 5, 71, 3 + 35),
        ("none can wait", 10, 60, 101, 3 + 40),
        ("some were delivered", 22, 60, 101, 3 + 28),
    ],
)
def test_no_fewer_can_be_lost(
    what: str, deliveries: int, pending: int, first: int, expected: int
) -> None:
    assert at_least(waiting(40), row(deliveries, 10, 60), first, pending) == expected, what


def test_where_nothing_is_sent_again_deliveries_are_first_ones() -> None:
    once = consumer_config(max_deliver=1)
    assert first_deliveries(waiting(40), row(30, 80, 9)) == 0
    assert first_deliveries(waiting(40), row(30, 80, 9, config=once)) == 20
    # Of those beyond the last sequence of the cohort it is not known.
    assert first_deliveries(waiting(40), row(30, 110, 9, config=once)) == 20 - 12
    assert first_deliveries(waiting(5), row(30, 80, 9, config=once)) == 5


def step(before: Consumer, now: Consumer, **changes: Any) -> Step:
    plain: dict[str, Any] = {
        "before": before,
        "row": now,
        "position": 60,
        "last_least": 148,
        "last_most": 150,
        "first_least": now.stream_first_seq,
        "first_before": before.stream_first_seq,
        "by_limits": 1000,
        "lower": 3,
        "upper": 3,
        "countable": True,
    }
    return Step(**plain | changes)


def test_inflow_does_not_hide_a_loss() -> None:
    """Forty waited, and forty still do; but they are others."""
    before, now = row(10, 10, 40, 61), row(12, 101, 40, 101)
    kept, lower, upper = follow((waiting(40),), step(before, now))
    assert (lower, upper) == (3 + 38, 3 + 42)
    assert [one.last_most for one in kept] == [150]  # of the older one all is known


def test_that_fewer_wait_counts_one_poll_later() -> None:
    """A purge since the stream was polled would look the same, and shows in the next poll."""
    before, now = row(10, 10, 40, 11), row(10, 10, 30, 21)
    kept, lower, upper = follow((waiting(40),), step(before, now, position=10))
    assert (lower, upper) == (3, 3 + 10)
    later = step(now, now, position=20, lower=lower, upper=upper)
    assert follow(kept, later)[1:] == (3 + 10, 3 + 10)
    assert follow(kept, replace(later, countable=False))[1:] == (3, 3 + 10)


def test_what_a_purge_may_have_taken_is_not_claimed() -> None:
    before, now = row(10, 10, 40, 61), row(12, 101, 40, 101)
    kept, lower, upper = follow((waiting(40),), step(before, now, countable=False))
    assert (lower, upper) == (3, 45)
    later = step(now, row(12, 101, 40, 151), lower=3, upper=45, position=100, last_most=190)
    assert follow(kept, later)[1] == 3


def test_no_more_is_lost_than_limits_removed() -> None:
    before, now = row(10, 10, 40, 61), row(12, 101, 40, 101)
    assert follow((waiting(40),), step(before, now, by_limits=7))[1:] == (10, 10)


def test_a_leader_that_has_not_counted_yet_starts_no_cohort() -> None:
    before, now = row(10, 10, 0, 21), row(12, 30, 40, 31)
    kept, _, _ = follow((waiting(40),), step(before, now, trusted=False))
    assert kept == (waiting(40),)


def test_few_cohorts_are_kept() -> None:
    cohorts = tuple(waiting(40, last_most=100 + number) for number in range(MOST_COHORTS))
    kept, _, _ = follow(cohorts, step(row(10, 10, 40, 21), row(10, 10, 40, 31)))
    assert len(kept) == MOST_COHORTS
    assert (kept[0], kept[-1].last_most) == (cohorts[0], 150)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, False),
        ({"num_waiting": 1}, True),
        ({"push_bound": True}, True),
        ({"num_waiting": 1, "paused": True}, False),
        ({"num_waiting": 1, "num_ack_pending": 1000}, False),
    ],
)
def test_what_waits_while_a_client_pulls_is_just_being_sent(
    changes: dict[str, Any], *, expected: bool
) -> None:
    config = consumer_config(max_ack_pending=1000)
    assert is_served(row(10, 10, 5, config=config, **changes)) is expected
