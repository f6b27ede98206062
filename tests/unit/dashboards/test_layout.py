"""Panels are beside and below each other, never overlap, and keep their ids."""

from __future__ import annotations

from itertools import combinations

import pytest

from dashboards.panels.model import Board, Guide, Row, Stat
from dashboards.rendering.layout import Place, panel_id, placed

GUIDE = Guide("a", "b", "c")


def stat(title: str, width: int = 3, height: int = 4) -> Stat:
    return Stat(title=title, guide=GUIDE, width=width, height=height)


def board(*rows: Row) -> Board:
    return Board("key", "Title", "Description.", (), rows)


def overlap(one: Place, other: Place) -> bool:
    beside = one.x + one.w <= other.x or other.x + other.w <= one.x
    above = one.y + one.h <= other.y or other.y + other.h <= one.y
    return not (beside or above)


def test_panels_flow_into_the_next_line_below_the_tallest() -> None:
    row = Row("row", (stat("a", 12, 4), stat("b", 12, 6), stat("c", 8)))
    (found,) = placed(board(row))
    assert [place for _, place in found.panels] == [
        Place(0, 1, 12, 4),
        Place(12, 1, 12, 6),
        Place(0, 7, 8, 4),
    ]


def test_a_folded_row_takes_one_line() -> None:
    folded = Row("folded", (stat("a", 24, 9),), collapsed=True)
    first, second = placed(board(folded, Row("open", (stat("b"),))))
    assert (first.place.y, second.place.y) == (0, 1)


def test_nothing_overlaps_and_nothing_sticks_out() -> None:
    panels = tuple(
        stat(str(n), width, 1 + n % 5) for n, width in enumerate([3, 7, 24, 5, 12, 9, 4])
    )
    found = [place for row in placed(board(Row("r", panels))) for _, place in row.panels]
    assert all(place.x + place.w <= 24 for place in found)
    assert not [pair for pair in combinations(found, 2) if overlap(*pair)]


def test_an_id_hangs_on_the_title_and_not_on_the_order() -> None:
    assert panel_id("Verdict") == 494672
    assert panel_id("Verdict") != panel_id("Lag")


def test_two_panels_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two panels are called a"):
        board(Row("r", (stat("a"), stat("a"))))
