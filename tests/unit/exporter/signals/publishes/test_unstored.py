"""The bounds of what was not stored: never more than the truth, and all of it after a quiet poll."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.signals.publishes.unstored import UnstoredBounds

Step = tuple[str, int, int]


@pytest.mark.parametrize(
    ("before", "received", "later", "unstored"),
    [
        pytest.param(0, 100, 40, 60, id="all that is missing was refused"),
        pytest.param(0, 100, 100, 0, id="everything was stored"),
        pytest.param(0, 100, 130, 0, id="later publishes hide nothing that is not there"),
        pytest.param(0, 100, 70, 30, id="later publishes hide a part"),
    ],
)
def test_a_new_stream_counts_from_nothing(
    before: int, received: int, later: int, unstored: int
) -> None:
    bounds = UnstoredBounds()
    bounds.start_at_zero(0)
    bounds.observe(received, before)
    bounds.settle(received, later)
    assert bounds.unstored == unstored


def test_what_was_there_before_the_first_poll_is_not_counted() -> None:
    bounds = UnstoredBounds()
    bounds.observe(0, 5_000)
    bounds.settle(0, 5_000)
    bounds.observe(10, 5_004)
    bounds.settle(10, 5_004)
    assert bounds.unstored == 6


def test_a_busy_poll_hides_a_part_until_a_quiet_one() -> None:
    bounds = UnstoredBounds()
    bounds.observe(0, 100)  # 20 more were stored by the time the counter was read
    bounds.observe(50, 165)  # 5 of 50 were refused, fewer than those 20: they stay hidden
    bounds.settle(50, 165)
    assert bounds.unstored == 0
    bounds.observe(60, 165)  # that poll was quiet: from it on the number is exact
    bounds.settle(60, 165)
    assert bounds.unstored == 10


def test_it_never_falls_whatever_comes_later() -> None:
    bounds = UnstoredBounds()
    bounds.observe(0, 0)
    bounds.settle(8, 3)
    bounds.settle(8, 1_000_000)
    bounds.observe(8, 1_000_000)
    assert bounds.unstored == 5


def test_two_polls_agree_on_the_smaller_number() -> None:
    bounds = UnstoredBounds()
    bounds.observe(0, 0)
    for lower in (0, 40, 7):
        bounds.agree(lower)
    assert bounds.unstored == 7
    bounds.agree(None)
    bounds.agree(90)
    assert bounds.unstored == 7
    bounds.agree(80)
    assert bounds.unstored == 80


def test_after_a_sequence_went_back_nothing_is_derived_from_before() -> None:
    bounds = UnstoredBounds()
    bounds.observe(0, 300)
    bounds.forget_start()
    bounds.settle(100, 100)
    assert bounds.unstored == 0
    bounds.observe(100, 100)
    bounds.settle(104, 101)
    assert bounds.unstored == 3


def test_a_sequence_that_jumped_ahead_costs_one_poll() -> None:
    bounds = UnstoredBounds()
    bounds.observe(10, 10)
    bounds.observe(10, 1_000)  # a purge up to there
    bounds.settle(17, 1_004)
    assert bounds.unstored == 3


@dataclass
class Leader:
    """A stream as its leader holds it: what it counted, and what is still on its way to the store."""

    received: int = 0
    last_seq: int = 0
    refused: int = 0
    waiting: list[bool] = field(default_factory=list)  # will be stored, or will not

    def publish(self, stored: int, refused: int) -> None:
        self.received += stored + refused
        self.waiting += [True] * stored + [False] * refused

    def drain(self, number: int | None = None) -> None:
        done, self.waiting = self.waiting[:number], self.waiting[number:] if number else []
        self.last_seq += sum(done)
        self.refused += len(done) - sum(done)


steps = st.lists(
    st.tuples(
        st.sampled_from(["publish", "drain", "look"]), st.integers(0, 50), st.integers(0, 20)
    ),
    max_size=60,
)


@given(steps)
def test_it_is_never_more_than_the_truth_and_exact_in_the_end(script: list[Step]) -> None:
    leader, bounds = Leader(), UnstoredBounds()
    first: int | None = None
    for what, stored, refused in script:
        if what == "publish":
            leader.publish(stored, refused)
        elif what == "drain":
            leader.drain(stored or 1)
        else:
            first = observe_and_settle(leader, bounds, first, stored, refused)
    for _ in range(2):
        leader.drain()
        first = observe_and_settle(leader, bounds, first, 0, 0)
        known, truth = bounds.unstored, leader.refused
        leader.publish(0, 7)
    first = observe_and_settle(leader, bounds, first, 0, 0)
    assert bounds.unstored - known == leader.refused - truth
    assert bounds.unstored <= leader.refused - (first or 0)


def observe_and_settle(
    leader: Leader, bounds: UnstoredBounds, first: int | None, stored: int, refused: int
) -> int:
    """Publishes come between every two requests; gives what was refused before the first poll."""
    before = leader.last_seq
    leader.publish(stored, refused)
    leader.drain(refused or 1)
    if first is None:
        first = leader.refused
    received, nothing_waits = leader.received, not leader.waiting
    bounds.observe(received, before)
    leader.publish(refused, stored)
    leader.drain(stored or 1)
    bounds.agree(received - leader.last_seq if nothing_waits else None)
    leader.drain()
    bounds.settle(received, leader.last_seq)
    assert bounds.unstored <= leader.refused - first
    return first
