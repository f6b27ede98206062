"""Duplicates from the tap or as a bound: one counter, and when it is exact."""

from __future__ import annotations

from typing import Any

import pytest
from support.signals.publish_polls import KEY, PublishPolls

from exporter.signals.publishes.dedupe import DedupeHits
from exporter.signals.publishes.engine import StreamPublishes, TapCounts


def test_one_dedupe_counter_for_tap_and_bound() -> None:
    followed = PublishPolls()
    followed.count(0, 0)
    assert followed.count(10, 8) == StreamPublishes(10, 2, 2, 0)
    followed.tap = TapCounts(frozenset({"APP"}), {KEY: 1})
    assert followed.count(20, 15) == StreamPublishes(20, 5, 3, 1)
    followed.tap = TapCounts(frozenset({"APP"}), {KEY: 4})
    assert followed.count(30, 20) == StreamPublishes(30, 10, 6, 1)
    followed.tap = None
    assert followed.count(40, 29) == StreamPublishes(40, 11, 7, 0)
    followed.tap = TapCounts(frozenset({"APP"}), {KEY: 5})
    assert followed.count(50, 29) == StreamPublishes(50, 21, 8, 1)
    followed.tap = TapCounts(frozenset({"APP"}), {})  # it began again
    assert followed.count(50, 29).dedupe_hits == 8


@pytest.mark.parametrize(
    ("events", "breaks", "unstored", "expected"),
    [
        pytest.param(7, 0, 9, (7, 1), id="received all"),
        pytest.param(7, 1, 9, (9, 0), id="missed some: the bound knows better"),
        pytest.param(7, 1, 3, (7, 0), id="missed some: the bound is late"),
        pytest.param(7, 1, None, (7, 0), id="missed some: there is no bound"),
    ],
)
def test_a_tap_that_missed_something_is_not_exact(
    events: int, breaks: int, unstored: int | None, expected: tuple[int, int]
) -> None:
    assert DedupeHits().with_tap(events, breaks, unstored) == expected


def test_a_tap_is_exact_again_after_one_poll() -> None:
    hits = DedupeHits()
    assert hits.without_tap(5) == (5, 0)
    assert hits.with_tap(0, 0, 6) == (6, 0)
    assert hits.with_tap(2, 0, 60) == (8, 1)
    assert hits.with_tap(2, 1, 60) == (8, 0)
    assert hits.with_tap(3, 1, 60) == (9, 1)
    assert hits.without_tap(61) == (10, 0)


def test_the_tap_needs_no_polls() -> None:
    followed = PublishPolls(sourced=True)
    followed.tap = TapCounts(frozenset({"APP"}), {})
    assert followed.poll(5).streams[KEY] == StreamPublishes(None, None, 0, 1)
    followed.tap = TapCounts(frozenset({"APP"}), {KEY: 2})
    assert followed.poll(5).streams[KEY] == StreamPublishes(None, None, 2, 1)


@pytest.mark.parametrize("config", [{"mirror": "UP"}, {"no_ack": True}], ids=["mirror", "no_ack"])
def test_the_tap_cannot_receive_some_streams(config: dict[str, Any]) -> None:
    followed = PublishPolls(**config)
    followed.tap = TapCounts(frozenset({"APP"}), {})
    assert followed.poll(5).streams[KEY] == StreamPublishes()


def test_a_tap_in_another_account_shows_nothing() -> None:
    followed = PublishPolls()
    followed.tap = TapCounts(frozenset({"OTHER"}), {})
    assert followed.count(0, 0) == StreamPublishes(0, 0, 0, 0)
