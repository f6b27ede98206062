"""Falling behind over many polls: when it ends, and a worker that only comes now and then."""

from __future__ import annotations

import pytest
from support.exporter.models import server
from support.signals.consumer_polls import POLL, Polls, orders, worker

from exporter.signals.conditions.backlog_trend import TREND_SECONDS

# Messages that arrive and are delivered at each poll.
GROWING = [(100, 60)] * 40


def _reported(loads: list[tuple[int, int]]) -> list[bool]:
    polls, stored, done, found = Polls(), 0, 0, []
    for arrived, delivered in loads:
        stored, done = stored + arrived, done + delivered
        row = worker(done, done, num_pending=stored - done)
        result = polls.result(orders(stored), row, server())
        found.append("falling_behind" in dict(result.conditions))
    return found


@pytest.mark.parametrize(
    "after", [(100, 100), (0, 0)], ids=["as much delivered as arrives", "nothing moves"]
)
def test_it_ends_while_the_backlog_is_level(after: tuple[int, int]) -> None:
    reported = _reported(GROWING + [after] * 500)
    grown = len(GROWING)
    assert reported[grown - 1]
    assert reported.index(False, grown) - grown <= TREND_SECONDS / POLL + 2
    assert not any(reported[reported.index(False, grown) :])


def test_it_stays_while_the_backlog_grows_without_a_worker() -> None:
    reported = _reported(GROWING + [(100, 0)] * 500)
    assert all(reported[len(GROWING) - 1 :])


@pytest.mark.parametrize("left", [0, 50])
@pytest.mark.parametrize("every", [120, 300, 600, 1200, 3600])
def test_a_worker_that_clears_the_backlog_at_each_visit_is_not_behind(
    every: int, left: int
) -> None:
    pause = round(every / POLL) - 1
    first = [(150, 0)] * pause + [(150, 150 * (pause + 1) - left)]
    later = [(150, 0)] * pause + [(150, 150 * (pause + 1))]
    assert not any(_reported(first + later * (6 * 240 // (pause + 1))))
