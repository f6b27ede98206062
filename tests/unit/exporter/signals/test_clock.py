"""The clock samples: which one counts, for how long, and how sure it is."""

from datetime import UTC, datetime
from typing import Final

import pytest

from exporter.model import ClockEstimate
from exporter.signals.clock import DRIFT, WINDOW_SECONDS, ClockState, clock_sample

NOW: Final = 1_700_000_000.0


def at(moment: float) -> datetime:
    return datetime.fromtimestamp(moment, UTC)


def observe(
    state: ClockState,
    offset: float,
    round_trip: float,
    *,
    ago: float = 0.0,
    share: float = 0.5,
    server: str = "n1",
) -> None:
    """A server that is ahead by `offset` and read its clock after that share of the round trip."""
    sent = NOW - ago
    state.observe(server, sent, round_trip, at(sent + share * round_trip + offset))


def read(state: ClockState, server: str = "n1", now: float = NOW) -> ClockEstimate:
    found = state.estimate(server, now)
    assert found is not None
    return found


@pytest.mark.parametrize("offset", [10.0, -20.0, 0.0])
def test_the_offset_is_positive_when_the_server_is_ahead(offset: float) -> None:
    sample = clock_sample(NOW, 0.5, at(NOW + 0.25 + offset))
    assert (sample.offset, sample.round_trip) == (offset, 0.5)


def test_the_shortest_round_trip_of_a_poll_counts() -> None:
    state = ClockState()
    observe(state, 10, 0.5, share=0.875)
    observe(state, 10, 0.0625)
    observe(state, 10, 0.25, share=0.125)
    assert read(state) == ClockEstimate(10.0, 0.03125, 0.0625)


@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 1.0])
def test_the_error_is_never_larger_than_the_uncertainty(share: float) -> None:
    state = ClockState()
    observe(state, -20, 0.5, share=share)
    found = read(state)
    assert abs(found.offset_seconds + 20) <= found.uncertainty_seconds == 0.25


def test_an_old_sample_with_a_short_way_counts_more_than_a_fresh_one_with_a_long_way() -> None:
    state = ClockState()
    observe(state, 10, 0.0625, ago=100)
    observe(state, 10, 0.5, share=0.75)
    found = read(state)
    assert found.offset_seconds == 10
    assert found.uncertainty_seconds == pytest.approx(0.03125 + 100 * DRIFT)


def test_a_sample_loses_as_much_as_clocks_may_drift() -> None:
    state = ClockState()
    observe(state, 10, 0.001, ago=100)
    observe(state, 10 + 100 * DRIFT, 0.004)
    found = read(state)
    assert found.offset_seconds == pytest.approx(10 + 100 * DRIFT, abs=1e-6)
    assert found.uncertainty_seconds == 0.002
    assert found.round_trip_seconds == 0.001  # still the shortest way to that server


def test_after_a_clock_was_set_only_what_was_measured_since_counts() -> None:
    state = ClockState()
    observe(state, 10, 0.0625, ago=15)
    observe(state, 3, 0.5)
    assert read(state) == ClockEstimate(3.0, 0.25, 0.5)


def test_a_sample_within_its_own_uncertainty_is_no_sign_that_a_clock_was_set() -> None:
    state = ClockState()
    observe(state, 10, 0.0625, ago=15)
    observe(state, 10, 0.5, share=1.0)
    assert read(state).offset_seconds == 10


def test_samples_count_for_the_window_and_no_longer() -> None:
    state = ClockState()
    observe(state, 10, 0.0625, ago=WINDOW_SECONDS)
    assert read(state).offset_seconds == 10
    assert state.estimate("n1", NOW + 0.001) is None


def test_samples_from_a_future_that_the_exporters_clock_took_back_do_not_count() -> None:
    state = ClockState()
    observe(state, 10, 0.0625, ago=-5)
    assert state.estimate("n1", NOW) is None


def test_every_server_has_its_own_clock() -> None:
    state = ClockState()
    observe(state, 10, 0.0625, server="n1")
    observe(state, -20, 0.0625, server="n2")
    assert (read(state, "n1").offset_seconds, read(state, "n2").offset_seconds) == (10, -20)
    assert state.estimate("n3", NOW) is None


def test_a_server_without_a_time_or_a_name_is_not_noted() -> None:
    state = ClockState()
    state.observe("n1", NOW, 0.5, None)
    state.observe("", NOW, 0.5, at(NOW))
    assert state.servers() == frozenset()


def test_servers_silent_for_a_window_are_forgotten_when_another_comes() -> None:
    state = ClockState()
    observe(state, 0, 0.5, ago=WINDOW_SECONDS + 1, server="gone")
    observe(state, 0, 0.5, ago=WINDOW_SECONDS - 1, server="quiet")
    observe(state, 0, 0.5, server="new")
    assert state.servers() == {"quiet", "new"}


def test_the_samples_of_a_server_are_bounded() -> None:
    """The shortest is pushed out by many younger ones."""
    state = ClockState()
    observe(state, 10, 0.0625, ago=100)
    for number in range(100):
        observe(state, 10, 0.5, ago=99 - number / 2)
    assert read(state).round_trip_seconds == 0.5
