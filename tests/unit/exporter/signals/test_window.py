"""The recent past of a consumer: few points, none needed where nothing changed."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from support.exporter.models import NOW

from exporter.signals.window import (
    SPACING_SECONDS,
    WINDOW_SECONDS,
    Point,
    Window,
    redelivery_ratio,
)


def point(at: float, deliveries: int = 0, **changes: Any) -> Point:
    plain = {"redeliveries": 0, "lost": 0, "backlog": 0, "floor": 0}
    return Point(at=NOW + at, deliveries=deliveries, **{**plain, **changes})


def window(*points: Point) -> Window:
    made = Window()
    for one in points:
        made.note(one)
    return made


def test_nothing_changed_needs_one_point() -> None:
    made = window(*(point(15 * n) for n in range(100)))
    assert made.points == [point(0)]


def test_points_are_no_closer_than_they_need_to_be() -> None:
    made = window(*(point(15 * n, n) for n in range(5)))
    assert [p.deliveries for p in made.points] == [0, 2, 4]


def test_the_oldest_point_is_how_it_stood_when_the_window_began() -> None:
    made = window(*(point(30 * n, n) for n in range(30)))
    first, second = made.points[:2]
    began = NOW + 30 * 29 - WINDOW_SECONDS
    assert first.at <= began < second.at
    # After a long rest the point before it still shows how it stood then.
    made.note(point(90_000, 99))
    assert [p.deliveries for p in made.points] == [29, 99]


def test_a_clock_that_was_set_back_restarts() -> None:
    made = window(point(0, 1), point(60, 2), point(-500, 3))
    assert made.points == [point(-500, 3)]


def test_the_ratio_is_that_of_the_deliveries_between() -> None:
    assert redelivery_ratio(point(0, 10), point(9, 20, redeliveries=4)) == 0.4
    assert redelivery_ratio(point(0, 10), point(9, 10)) is None


@given(st.lists(st.tuples(st.floats(0.1, 200), st.integers(0, 3)), min_size=1, max_size=80))
def test_a_window_never_holds_more_than_its_length_needs(steps: list[tuple[float, int]]) -> None:
    made, when, deliveries = Window(), 0.0, 0
    for seconds, more in steps:
        when, deliveries = when + seconds, deliveries + more
        made.note(point(when, deliveries))
    assert len(made.points) <= WINDOW_SECONDS / SPACING_SECONDS + 2
    times = [p.at for p in made.points]
    assert times == sorted(times)
