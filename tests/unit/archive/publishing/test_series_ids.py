"""Series ids of the log and of the archive: memory follows the series in use, not all ids."""

import tracemalloc
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from archive.batch import SeriesDefinition
from archive.publishing.series_ids import SeriesIdMap
from archive.series.table import SeriesTable
from archive.tables.id_column import NONE, IdColumn
from archive.tables.series import Labels, SeriesRegistry
from archive.tables.storage import open_storage

STABLE = 200
NEW_A_DAY = 5_000


class Definitions:
    def __init__(self) -> None:
        self.table, self.asked = SeriesTable(), 0

    def definition(self, series: int) -> SeriesDefinition:
        self.asked += 1
        return self.table.definition(series)

    def identify(self, name: str, replica: str = "") -> int:
        return self.table.identify((("__name__", "up"), ("consumer", name)), replica)


class OneSeries(SeriesRegistry):
    """Takes no memory of its own for a new series."""

    def numbers(self, given: Sequence[Labels]) -> list[int]:
        return [0] * len(given)


def ids(*series: int) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
    return np.array(series, np.uint32)


@given(st.dictionaries(st.integers(0, 5_000), st.integers(0, 9)), st.lists(st.integers(0, 9_000)))
def test_a_column_has_what_was_set(numbers: dict[int, int], asked: list[int]) -> None:
    column = IdColumn()
    for chosen in (0, 1):
        part = {each: number for each, number in numbers.items() if each % 2 == chosen}
        column[np.array([*part], np.int64)] = np.array([*part.values()], np.int64)
    found = column[np.array(asked, np.int64)].tolist()
    assert found == [numbers.get(each, NONE) for each in asked]
    assert column.ids().tolist() == sorted(numbers)


def test_a_series_keeps_its_archive_id_when_the_map_has_forgotten_it(tmp_path: Path) -> None:
    known = Definitions()
    found = SeriesIdMap(known, SeriesRegistry(open_storage(tmp_path), ()))
    one, two = known.identify("one"), known.identify("two", "b")
    first = found.translate(ids(one, two, one))
    assert [each.tolist() for each in first] == [[0, 1, 0], [0, 1, 0]]
    assert known.asked == 2
    for _ in range(3):  # in each publication
        found.settle()
        assert found.translate(ids(one))[0].tolist() == [0]
    assert known.asked == 2
    assert [each.tolist() for each in found.translate(ids(two))] == [[1], [1]]
    assert known.asked == 3, "it was in none of the last two publications"


def test_a_lost_definition_has_a_negative_id(tmp_path: Path) -> None:
    found = SeriesIdMap(Definitions(), SeriesRegistry(open_storage(tmp_path), ()))
    assert found.translate(ids(7))[0].tolist() == [-2]
    assert found.translate(ids())[0].tolist() == []


@pytest.mark.timeout(900)  # every allocation of 300,000 series is traced
@pytest.mark.parametrize("is_one_map", [True, False], ids=["one map", "map and registry each day"])
def test_new_series_every_day_keep_memory_flat(tmp_path: Path, is_one_map: bool) -> None:
    """A map lives until another writer changes the table; then it and the registry are built again."""
    known = Definitions()
    stable = [known.identify(f"stable-{each}") for each in range(STABLE)]
    kept = SeriesIdMap(known, OneSeries(open_storage(tmp_path), ()))
    sizes = []
    tracemalloc.start()
    try:
        for day in range(60):
            least = 0 if is_one_map else day * NEW_A_DAY
            registry = SeriesRegistry(open_storage(tmp_path), (), least)
            found = kept if is_one_map else SeriesIdMap(known, registry)
            fresh = [known.identify(f"{day}-{each}") for each in range(NEW_A_DAY)]
            numbers = found.translate(ids(*stable, *fresh))[0]
            assert numbers.min() >= least  # never an id again
            registry.ranks()
            found.settle()
            known.table.forget(fresh)
            del fresh, numbers
            sizes.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    assert max(sizes[40:]) < 1.1 * max(sizes[5:15])
