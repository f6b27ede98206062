"""Assets that were removed and come back: recreated, or the same ones."""

from __future__ import annotations

import gc
import tracemalloc

import pytest
from msgspec.structs import replace
from support.exporter.models import NOW, at, consumer_config, snapshot
from support.exporter.rendered_series import FULL
from support.signals.consumer_polls import POLL, Polls, orders, worker

from exporter import catalog
from exporter.model import Stream
from exporter.polling.pipeline import Pipeline, PollExtras
from exporter.samples.render import Renderer
from exporter.signals import engine
from exporter.signals.event_count import EventCount
from exporter.signals.removed import KEEP_SECONDS, RemovedAssets

AGAIN = at(NOW + 20)
SHORT = consumer_config(durable=False)


def test_a_consumer_that_was_missing_in_a_poll_counts_as_recreated() -> None:
    polls = Polls()
    polls.poll(orders(10), worker(10, 10))
    polls.poll(orders(10))
    result = polls.result(orders(12), worker(2, 12, created=AGAIN))
    assert (result.recreated, result.redeliveries, result.lost, result.verdict) == (1, 0, 0, None)
    assert polls.result(orders(12), worker(2, 12, created=AGAIN)).recreated == 1


def test_a_stream_that_was_missing_in_a_poll_counts_as_recreated_with_its_consumers() -> None:
    polls = Polls()
    polls.poll(orders(10), worker(10, 10))
    polls.poll()
    result = polls.result(orders(3, created=AGAIN), worker(2, 2, created=AGAIN))
    assert result.recreated == 1
    assert (polls.stream.recreated, polls.stream.regressions, polls.stream.purged) == (1, 0, 0)
    polls.poll(orders(4, created=AGAIN), worker(3, 3, created=AGAIN))
    assert polls.stream.recreated == 1


def test_each_time_is_counted() -> None:
    polls = Polls()
    counted = []
    for time in range(4):
        result = polls.result(
            orders(10, created=at(NOW + 60 * time)), worker(5, 5, created=at(NOW + 60 * time))
        )
        counted.append((polls.stream.recreated, result.recreated))
        polls.poll()
    assert counted == [(0, 0), (1, 1), (2, 2), (3, 3)]


def test_consumers_that_went_with_their_stream_were_not_removed_from_it() -> None:
    polls = Polls()
    polls.poll(orders(10), worker(10, 10))
    polls.poll()
    polls.poll(orders(3, created=AGAIN))
    assert (polls.stream.recreated, polls.stream.consumers_removed) == (1, 0)


def test_a_stream_restored_from_an_older_copy_was_set_back() -> None:
    """A restore keeps the time of creation."""
    polls = Polls()
    polls.poll(orders(28))
    polls.poll()
    polls.poll(orders(20))
    assert (polls.stream.recreated, polls.stream.regressions, polls.stream.purged) == (0, 1, 0)


def test_the_same_asset_is_not_recreated_but_keeps_its_count() -> None:
    polls = Polls()
    polls.poll(orders(10), worker(10, 10))
    polls.poll(orders(10, created=AGAIN), worker(1, 1, created=AGAIN))
    polls.poll()
    # As after a restart of a server before 2.14.
    moved = at(NOW + 20.0005)
    result = polls.result(orders(10, created=moved), worker(1, 1, created=moved))
    assert (polls.stream.recreated, result.recreated) == (1, 1)


def test_one_that_comes_back_without_leader_is_compared_when_it_has_one() -> None:
    polls = Polls()
    polls.poll(orders(10), worker(10, 10))
    polls.poll(orders(10), worker(1, 1, created=AGAIN))
    polls.poll()
    later = at(NOW + 90)
    down = polls.result(orders(10, up=False), worker(0, 0, up=False, created=None))
    assert down.recreated == 1  # a counter does not go back
    result = polls.result(orders(10, created=later), worker(1, 1, created=later))
    assert (polls.stream.recreated, result.recreated) == (1, 2)


def test_an_ephemeral_consumer_counts_too() -> None:
    polls = Polls()
    polls.poll(orders(10), worker(10, 10, config=SHORT))
    polls.poll(orders(10))
    result = polls.result(orders(10), worker(1, 1, created=AGAIN, config=SHORT))
    assert (result.recreated, polls.stream.consumers_removed) == (1, 0)


def test_after_an_hour_it_is_a_new_asset() -> None:
    for after, expected in ((KEEP_SECONDS - 1, 1), (KEEP_SECONDS + 1, 0)):
        polls = Polls()
        polls.poll(orders(10), worker(10, 10))
        polls.poll()
        result = polls.result(orders(3, created=AGAIN), worker(2, 2, created=AGAIN), after=after)
        assert (polls.stream.recreated, result.recreated) == (expected, expected)
        assert polls.signals.removed_dropped == 0


def test_ephemeral_consumers_do_not_displace_durable_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(engine, "KEEP_REMOVED", 2)
    polls = Polls()
    many = [worker(1, 1, name=f"short-{n}", config=SHORT) for n in range(5)]
    polls.poll(orders(10), worker(10, 10), *many)
    polls.poll(orders(10))
    assert polls.signals.removed_dropped == 3
    result = polls.result(orders(10), worker(1, 1, created=AGAIN))
    assert (result.recreated, polls.signals.removed_dropped) == (1, 3)
    polls.poll(orders(10), after=KEEP_SECONDS + 1)
    assert polls.signals.removed_dropped == 0


def test_the_memory_is_bounded_in_number_and_time() -> None:
    removed: RemovedAssets[int, Stream] = RemovedAssets(limit=3)
    for key in range(5):
        removed.remember(key, orders(1), None, NOW + POLL * key)
    assert (len(removed), removed.dropped) == (3, 2)
    assert removed.take(1) is None  # one of the oldest, dropped
    assert removed.take(4) is not None
    assert removed.take(4) is None  # once
    removed.expire(NOW + POLL * 2 + KEEP_SECONDS + 1)
    assert (len(removed), removed.dropped) == (1, 2)
    removed.expire(NOW + POLL * 4 + KEEP_SECONDS + 1)
    assert (len(removed), removed.dropped) == (0, 0)


SEVEN = {catalog.STREAM_RECREATED: EventCount(7, NOW)}


def test_one_removed_again_is_the_newest() -> None:
    removed: RemovedAssets[int, Stream] = RemovedAssets(limit=2)
    for key, when in ((1, 0.0), (2, 1.0), (1, 2.0), (3, 3.0)):
        removed.remember(key, orders(1), SEVEN, when)
    assert (removed.events(1), removed.events(2), removed.events(3)) == (SEVEN, None, SEVEN)


def test_memory_is_level_while_consumers_come_and_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """All that a poll keeps of them: signals, history of the pages, rendered series."""
    monkeypatch.setattr(engine, "KEEP_REMOVED", 500)
    pipeline = Pipeline(Renderer("nats", FULL))

    def memory_after(polls: range) -> int:
        for number in polls:
            now = NOW + POLL * number
            come = [
                worker(1, 1, name=f"c{number}-{n}-{config.durable}", created=at(now), config=config)
                for n in range(50)
                for config in (SHORT, consumer_config())
            ]
            polled = replace(snapshot(orders(number), *come), taken=now)
            pipeline.process(polled, PollExtras())
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        before, after = memory_after(range(20)), memory_after(range(20, 60))
    finally:
        tracemalloc.stop()
    assert after < before * 1.05
