"""A worker that comes now and then: how often is learned, and only a longer absence is told."""

from __future__ import annotations

import pytest
from support.exporter.models import NOW
from support.signals.consumer_polls import POLL
from support.signals.visits import HOUR, MINUTE, Visited

RHYTHMS = [
    (minutes, jitter, seed)
    for minutes in (10, 20, 30, 60)
    for jitter, seed in ((0.0, 0), (0.3, 1), (0.3, 2), (0.3, 3))
    if not (minutes == 60 and jitter)
]


@pytest.mark.parametrize(("minutes", "jitter", "seed"), RHYTHMS)
def test_a_worker_that_comes_now_and_then_is_missed_only_when_it_stays_away(
    minutes: int, jitter: float, seed: int
) -> None:
    every, visits = minutes * MINUTE, Visited()
    visits.work(15 * HOUR, every, jitter, seed)
    # Two visits make it known.
    assert visits.told(NOW + 2 * every * (1 + jitter) + POLL) == []
    assert visits.told(NOW, "workers_gone") == []
    gone = visits.polls.now
    visits.stay_away(5 * every)
    told = visits.told(gone)[0]
    assert every < told < 4 * every, "several times the rhythm"


def test_what_comes_less_than_hourly_is_no_rhythm() -> None:
    visits = Visited()
    visits.work(15 * HOUR, 80 * MINUTE)
    gone = visits.polls.now
    visits.stay_away(HOUR)
    assert visits.told(gone)[0] <= 2 * MINUTE


@pytest.mark.parametrize("every", [150.0, 20 * MINUTE])
@pytest.mark.parametrize("quiet", [10 * MINUTE, 3 * HOUR])
def test_the_rhythm_is_known_after_a_quiet_time(every: float, quiet: float) -> None:
    visits = Visited()
    visits.work(6 * every, every)
    visits.rest(quiet)
    began = visits.polls.now
    visits.work(6 * every, every)
    assert visits.told(began) == []


def test_outages_of_a_worker_that_else_takes_each_message_at_once_are_no_rhythm() -> None:
    visits = Visited()
    for _ in range(5):
        for _ in range(6):
            visits.rest(10 * MINUTE)
            visits.poll(1)
            visits.poll(0, visited=True)
        gone = visits.polls.now
        visits.stay_away(40 * MINUTE)
        assert visits.told(gone)[0] <= 2 * MINUTE


def test_two_outages_of_a_consumer_that_is_seldom_used_are_forgotten() -> None:
    """Between them no poll saw a message wait."""
    visits = Visited()
    for _ in range(4):
        for _ in range(3):
            visits.rest(10 * MINUTE)
            visits.stored += 1  # stored and taken between two polls
        visits.rest(10 * MINUTE)
        gone = visits.polls.now
        visits.stay_away(40 * MINUTE)
        assert visits.told(gone)[0] <= 2 * MINUTE
