"""Whether a consumer was busy nearly all of the day before its messages wait."""

from __future__ import annotations

import random

import pytest
from support.exporter.models import NOW
from support.signals.consumer_polls import Polls, orders, worker

from exporter.signals.conditions.busy_hours import BusyHours

HOUR = 3600.0
DAY = 24 * HOUR
START = NOW - NOW % DAY


def after(*deliveries: float) -> BusyHours:
    """Watched since START, with deliveries at these hours after it."""
    hours = BusyHours.since(START)
    for each in deliveries:
        hours.note_delivery(START + each * HOUR)
    return hours


def every(minutes: float, start: float, end: float) -> list[float]:
    count = int((end - start) * 60 / minutes)
    return [start + place * minutes / 60 for place in range(count)]


@pytest.mark.parametrize(
    ("deliveries", "hour", "share"),
    [
        pytest.param(every(5, 0, 26), 26.0, 47 / 48, id="all day, and the half hour that began"),
        pytest.param(every(5, 0, 26), 25.99, 1.0, id="all day"),
        pytest.param(every(5, 2, 4), 26.0, 3 / 48, id="a nightly job of two hours"),
        pytest.param(every(5, 0, 11.5), 11.49, 0.0, id="not half a day was watched"),
        pytest.param(every(5, 0, 12), 11.99, 1.0, id="half a day was watched"),
        pytest.param(every(5, 20, 26), 25.99, 12 / 48, id="busy since the evening"),
        pytest.param(every(90, 0, 30), 29.99, 1 / 3, id="once in three half hours"),
        pytest.param(every(5, 0, 26), 36.0, 27 / 48, id="nothing to do for ten hours since"),
        pytest.param(every(5, 0, 26), 26.0 + 24 * 9, 0.0, id="nothing to do for days since"),
        pytest.param([], 30.0, 0.0, id="never"),
    ],
)
def test_the_share_of_half_hours_with_deliveries(
    deliveries: list[float], hour: float, share: float
) -> None:
    assert after(*deliveries).share(START + hour * HOUR) == pytest.approx(share)


def test_it_equals_a_plain_count() -> None:
    chance = random.Random(7)
    for _ in range(200):
        end = chance.uniform(12.0, 80.0)
        found = sorted(chance.uniform(0.0, end) for _ in range(chance.randrange(200)))
        newest = int(end * 2)
        day = range(max(newest - 47, 0), newest + 1)
        expected = len({int(each * 2) for each in found} & {*day}) / len(day)
        assert after(*found).share(START + end * HOUR) == pytest.approx(expected)


def test_a_clock_that_is_set_back_loses_nothing() -> None:
    hours = after(*every(5, 0, 26))
    hours.note_delivery(START + 20 * HOUR)
    assert hours.share(START + 25.9 * HOUR) == 1.0


def words(polls: Polls) -> set[str]:
    return {word for found in polls.signals.consumers.values() for word, _ in found.conditions}


@pytest.mark.parametrize("hours", [11, 25])
def test_a_busy_consumer_that_loses_its_workers(hours: int) -> None:
    """Idle polls between, as a stream without new messages gives, count as watched time."""
    polls, seq = Polls(), 100
    for _ in range(hours * 4):
        polls.poll(orders(seq), worker(seq, seq), after=450.0)
        seq += 1
        polls.poll(orders(seq), worker(seq, seq), after=450.0)
        polls.poll(orders(seq), worker(seq, seq), after=15.0)
    for _ in range(8):
        polls.poll(orders(seq + 9), worker(seq, seq, num_pending=9), after=30.0)
    assert words(polls) == {"no_worker_pulls"} | ({"workers_gone"} if hours > 12 else set())
