"""Merging sorted tables: old rows, fresh ones in their place, in ranges of any size."""

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from support.archive.id_columns import id_column

from archive.maintenance.merge import merged
from archive.maintenance.rewrite_targets import Target, targets
from archive.maintenance.row_cursor import MemoryCursor
from archive.publishing.series_batches import _bounds
from archive.tables.arrow import Table, pa
from archive.tables.data_file import DataFile
from archive.tables.schema import HOUR_MS, timestamps

# A slow machine is no fault of the code.
unhurried = settings(deadline=None)

SCHEMA = pa.schema(
    [("series", pa.int32()), ("hour", pa.timestamp("us", tz="UTC")), ("what", pa.string())]
)
# Numbers in the order of first sight are not in the order of the metrics' names.
RANKS = [3, 0, 4, 1, 2]
RANK_COLUMN = id_column(RANKS)
keys = st.tuples(st.integers(0, 4), st.integers(0, 23))


def table(rows: dict[tuple[int, int], str]) -> Table:
    order = sorted(rows, key=lambda key: (RANKS[key[0]], key[1]))
    columns = {
        "series": [series for series, _ in order],
        "hour": timestamps([hour * HOUR_MS for _, hour in order]),
        "what": [rows[key] for key in order],
    }
    return pa.table(columns, schema=SCHEMA)


def rows_in(tables: list[Table]) -> list[tuple[int, int, str]]:
    return [
        (row["series"], row["hour"].hour, row["what"])
        for each in tables
        for row in each.to_pylist()
    ]


@unhurried
@given(
    st.sets(keys, max_size=40), st.sets(keys, max_size=10), st.integers(1, 12), st.integers(1, 3)
)
def test_fresh_rows_replace_old_ones_and_order_holds(
    old: set[tuple[int, int]], fresh: set[tuple[int, int]], group: int, files: int
) -> None:
    parts = [
        table({key: "old" for key in old if (key[0] + key[1]) % files == part})
        for part in range(files)
    ]
    cursors = [MemoryCursor(part, RANK_COLUMN) for part in parts]
    newer = MemoryCursor(table(dict.fromkeys(fresh, "fresh")), RANK_COLUMN)
    found = list(merged(cursors, newer, RANK_COLUMN, group))
    truth = {**dict.fromkeys(old, "old"), **dict.fromkeys(fresh, "fresh")}
    assert rows_in(found) == rows_in([table(truth)])
    assert all(each.num_rows for each in found)


@unhurried
@given(st.sets(keys, max_size=40), st.lists(st.integers(0, 5), max_size=3).map(sorted))
def test_ranges_one_after_the_other_give_the_whole(
    old: set[tuple[int, int]], cuts: list[int]
) -> None:
    whole = table(dict.fromkeys(old, "old"))
    bounds = [-1, *cuts, 99]
    parts = [
        part
        for within in itertools.pairwise(bounds)
        for part in merged([MemoryCursor(whole, RANK_COLUMN)], None, RANK_COLUMN, 4, within)
    ]
    assert rows_in(parts) == rows_in([whole])


@unhurried
@given(st.lists(st.integers(0, 50), min_size=1, max_size=30), st.integers(1, 60))
def test_batches_cover_all_ranks_and_keep_to_the_limit(counts: list[int], limit: int) -> None:
    bounds = _bounds(id_column(counts), id_column([*range(len(counts))][::-1]), limit)
    assert bounds[0] == -1
    assert bounds[-1] > len(counts)
    assert bounds == sorted(set(bounds))
    by_rank = np.array(counts)[::-1]
    for low, high in itertools.pairwise(bounds):
        inside = by_rank[max(low, 0) : high]
        # One series more than the limit cannot be helped: a series is never cut.
        assert inside.sum() < 2 * limit + inside.max(initial=0)


def file_of(path: str, first: int, last: int) -> DataFile:
    bounds = ({"hour": hour * HOUR_MS} for hour in (first, last))
    return DataFile(path=path, size=1, rows=1, low=next(bounds), high=next(bounds))


def test_hours_that_share_a_file_are_written_together() -> None:
    day, one, two = file_of("day", 0, 2), file_of("5", 5, 5), file_of("5b", 5, 5)
    found = targets("samples", [day, one, two], [hour * HOUR_MS for hour in (1, 2, 5, 7)])
    assert found == [
        Target("samples", (day,), (HOUR_MS, 2 * HOUR_MS)),
        Target("samples", (one, two), (5 * HOUR_MS,)),
        Target("samples", (), (7 * HOUR_MS,)),
    ]
    assert [target.span for target in found] == [
        (0, 2 * HOUR_MS), (5 * HOUR_MS, 5 * HOUR_MS), (7 * HOUR_MS, 7 * HOUR_MS),
    ]  # fmt: skip


def test_parts_of_a_day_with_different_hours_are_one_target() -> None:
    """No file may be replaced twice: hour 8 is in both parts, hour 9 in one."""
    first, second = file_of("part 0", 0, 9), file_of("part 1", 0, 8)
    (found,) = targets("samples", [first, second], [9 * HOUR_MS, 8 * HOUR_MS])
    assert found.old == (first, second)


def test_a_file_is_named_by_its_hours() -> None:
    target = Target("samples", (), (0, 5 * HOUR_MS))
    assert target.path("abcd", 1) == "samples/day=1970-01-01/00-05-abcd-1.parquet"
