"""A small fixed set of generated series: the quality that docs/forecast.md claims must not be lost.

They fail without the shift, the damped trend or the mean-reverting model, or with another width.
"""

from __future__ import annotations

import numpy as np
import pytest

from bench.forecast.outcome import Outcome, f1, of_ours, of_peer, share
from bench.forecast.peers import by_line
from bench.forecast.series import Series, series_set

COUNT = 144


@pytest.fixture(scope="module")
def every() -> list[Series]:
    return series_set(COUNT, 2026)


@pytest.fixture(scope="module")
def outcomes(every: list[Series]) -> list[Outcome]:
    return [found for series in every if (found := of_ours(series)) is not None]


def error_of(kind: str, outcomes: list[Outcome]) -> float:
    return float(np.median([each.error for each in outcomes if each.kind == kind]))


def test_limits_within_30_days_are_found_more_often_than_by_a_line(
    every: list[Series], outcomes: list[Outcome]
) -> None:
    line = [of_peer(series, by_line(series)) for series in every]
    assert len(outcomes) == COUNT
    assert f1(outcomes) >= 0.86
    assert f1(outcomes) >= f1(line) + 0.08


@pytest.mark.parametrize("place", [0, 1, 2])
def test_the_interval_holds_eight_of_ten_levels(place: int, outcomes: list[Outcome]) -> None:
    assert 0.74 <= share([each.covered[place] for each in outcomes]) <= 0.87


def test_the_likely_date_is_a_median_inside_its_range(outcomes: list[Outcome]) -> None:
    dated = [each for each in outcomes if each.before is not None]
    assert len(dated) > 60
    assert 0.40 <= share([bool(each.before) for each in dated]) <= 0.60
    assert share([each.at_late_edge for each in dated]) <= 0.04


@pytest.mark.parametrize(
    ("kind", "most"),
    [("saturating", 0.008), ("max_age", 0.2), ("sawtooth by retention", 0.16), ("growth", 0.01)],
)
def test_the_error_of_a_kind_stays_small(kind: str, most: float, outcomes: list[Outcome]) -> None:
    assert error_of(kind, outcomes) <= most
