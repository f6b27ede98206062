"""The poll loop: its pace, its deadlines and its end."""

from __future__ import annotations

import asyncio
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.exporter.scripted_poller import poller_of, snapshot

from exporter.polling.loop import JITTER, MIN_PAUSE, pause


async def test_one_poll_ends_before_the_next_begins() -> None:
    poller, source = poller_of(snapshot(), interval=0.01)
    running, most, third = 0, 0, asyncio.Event()

    async def slow() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.03)  # three intervals: an eager loop would overtake itself
        running -= 1
        if len(source.deadlines) == 3:
            third.set()

    source.before_response = slow
    task = asyncio.create_task(poller.run())
    await third.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert most == 1


async def test_the_source_gets_the_deadline_of_the_poll() -> None:
    poller, source = poller_of(snapshot(), timeout=7.0)
    before = time.monotonic()
    await poller.poll_once()
    assert before + 7.0 <= source.deadlines[0] <= time.monotonic() + 7.0


async def test_a_cancelled_loop_closes_its_source() -> None:
    poller, source = poller_of(snapshot())
    requested = asyncio.Event()

    async def log() -> None:
        requested.set()

    source.before_response = log
    task = asyncio.create_task(poller.run())
    await requested.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert source.closed


@given(interval=st.floats(1, 3600), took=st.floats(0, 7200), chance=st.floats(0, 1))
def test_the_pause_stays_within_its_bounds(interval: float, took: float, chance: float) -> None:
    seconds = pause(interval, took, chance)
    assert seconds >= MIN_PAUSE * interval
    if took < interval * (1 - JITTER - MIN_PAUSE):
        between_starts = took + seconds
        assert interval * (1 - JITTER) <= between_starts + 1e-6
        assert between_starts <= interval * (1 + JITTER) + 1e-6


def test_the_jitter_uses_the_whole_of_its_bounds() -> None:
    assert pause(10, 0, 0.0) == pytest.approx(10 * (1 - JITTER))
    assert pause(10, 0, 0.5) == pytest.approx(10)
    assert pause(10, 0, 1.0) == pytest.approx(10 * (1 + JITTER))


def test_a_poll_longer_than_the_interval_is_still_followed_by_a_pause() -> None:
    assert pause(10, 25, 0.5) == pytest.approx(10 * MIN_PAUSE)
