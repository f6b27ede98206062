"""A series as a small chart: its shape, its gaps, its words."""

from __future__ import annotations

from math import isnan, nan

from exporter.pages.status.sparkline import HEIGHT, WIDTH, rates, sparkline
from exporter.pages.status.wording import number


def test_it_spans_the_chart_from_the_first_point_to_now() -> None:
    drawn = sparkline("Pending", [0.0, 600.0, 1200.0], [0.0, 50.0, 100.0], number, 1200.0, 600.0)
    assert drawn is not None
    assert drawn.paths == (f"0.0,{HEIGHT - 3}.0 150.0,28.0 {WIDTH}.0,3.0",)
    assert drawn.since == WIDTH / 2
    assert (drawn.now, drawn.lowest, drawn.highest, drawn.starts) == ("100", "0", "100", 1200.0)
    assert drawn.label == "Pending: now 100, between 0 and 100"


def test_a_short_history_starts_at_the_right() -> None:
    drawn = sparkline("Lag", [990.0, 1000.0], [1.0, 2.0], number, 1000.0)
    assert drawn is not None
    assert drawn.starts == 600.0
    assert drawn.paths[0].startswith("295.0,")
    assert drawn.since is None


def test_unknown_values_are_gaps() -> None:
    drawn = sparkline("Lag", [0.0, 1.0, 2.0, 3.0], [1.0, nan, 2.0, nan], number, 3.0)
    assert drawn is not None
    assert len(drawn.paths) == 2
    assert sparkline("Lag", [0.0], [nan], number, 1.0) is None
    assert sparkline("Lag", [], [], number, 1.0) is None


def test_a_constant_series_and_negative_values_stay_inside() -> None:
    for values in ([5.0, 5.0], [-3.0, 4.0], [0.0, 0.0]):
        drawn = sparkline("Offset", [0.0, 600.0], values, number, 600.0)
        assert drawn is not None
        heights = [float(point.split(",")[1]) for point in drawn.paths[0].split()]
        assert all(0 <= each <= HEIGHT for each in heights)


def test_a_condition_that_began_before_the_chart_has_no_line() -> None:
    drawn = sparkline("Lag", [1000.0, 2000.0], [1.0, 2.0], number, 2000.0, 100.0)
    assert drawn is not None
    assert drawn.since is None


def test_the_rate_of_a_counter_is_unknown_at_first_and_after_a_reset() -> None:
    found = rates([0.0, 30.0, 60.0, 60.0], [100.0, 160.0, 5.0, 6.0])
    assert isnan(found[0])
    assert found[1] == 2.0
    assert isnan(found[2])
    assert isnan(found[3])
    assert rates([], []) == []
