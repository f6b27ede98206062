"""One sample per time and one replica per hour, against plain Python."""

import statistics
from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from support.archive.id_columns import id_column

from archive.publishing.deduplication import deduplicate_hour
from archive.publishing.replica_selection import GAP_INTERVALS
from archive.tables.sample_columns import Samples

# A slow machine is no fault of the code.
unhurried = settings(deadline=None)

HOUR = 1_790_553_600_000
Row = tuple[int, int, int, int]  # series, replica, offset, bits
rows_of = st.tuples(
    st.integers(0, 3), st.integers(0, 2), st.integers(0, 39).map(lambda n: n * 90_000),
    st.integers(0, 3),
)  # fmt: skip


def samples_of(rows: list[Row]) -> Samples:
    series, replica, offsets, bits = zip(*rows, strict=True) if rows else ((), (), (), ())
    return Samples(
        np.array(series, np.int32),
        np.array(replica, np.int32),
        np.array(offsets, np.int64) + HOUR,
        np.array(bits, np.uint64),
    )


def deduplicated(rows: list[Row]) -> list[Row]:
    samples = samples_of(rows)
    found = deduplicate_hour(samples, id_column(range(4))).samples
    columns = (found.series, found.replica, found.times - HOUR, found.bits)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def plain(rows: list[Row]) -> list[Row]:
    last: dict[tuple[int, int], dict[int, int]] = {}
    for series, replica, offset, bits in rows:
        last.setdefault((series, replica), {})[offset] = bits
    kept: list[Row] = []
    for series in sorted({series for series, _ in last}):
        reported = {
            replica: reported for (each, replica), reported in last.items() if each == series
        }
        order = sorted(reported, key=lambda replica: (-len(reported[replica]), replica))
        times = sorted(reported[order[0]])
        gaps = [b - a for a, b in pairwise(times)]
        reach = statistics.median(gaps) * GAP_INTERVALS if gaps else 0
        chosen = dict(reported[order[0]])
        for replica in order[1:]:
            fill = {
                time: bits
                for time, bits in reported[replica].items()
                if all(abs(time - other) > reach for other in chosen)
            }
            chosen.update(fill)
        kept += [(series, order[0], time, bits) for time, bits in sorted(chosen.items())]
    return kept


@unhurried
@given(st.lists(rows_of, max_size=60))
def test_deduplication_agrees_with_plain_python(rows: list[Row]) -> None:
    assert deduplicated(rows) == plain(rows)


@unhurried
@given(st.lists(rows_of, max_size=60))
def test_everything_dropped_is_counted_once(rows: list[Row]) -> None:
    samples = samples_of(rows)
    found = deduplicate_hour(samples, id_column(range(4)))
    left = found.repeated + found.conflicting + found.other_replica
    assert len(found.samples) + left == len(rows)


@unhurried
@given(st.lists(rows_of.map(lambda row: (row[0], 0, *row[2:])), max_size=60))
def test_without_replicas_no_time_is_lost(rows: list[Row]) -> None:
    found = deduplicated(rows)
    assert {(row[0], row[2]) for row in found} == {(row[0], row[2]) for row in rows}


@unhurried
@given(st.lists(rows_of, max_size=60))
def test_deduplicating_again_changes_nothing(rows: list[Row]) -> None:
    once = deduplicated(rows)
    assert deduplicated(once) == once


def test_conflicts_and_repetitions_are_distinguished() -> None:
    samples = samples_of([(0, 0, 5, 1), (0, 0, 5, 1), (0, 0, 5, 2), (0, 0, 6, 7)])
    found = deduplicate_hour(samples, id_column(range(4)))
    assert (found.repeated, found.conflicting) == (1, 1)
    assert found.samples.bits.tolist() == [2, 7]


def test_a_replica_that_was_down_is_filled_by_the_other() -> None:
    first = [(0, 1, minute * 60_000, 1) for minute in range(60) if not 20 <= minute < 40]
    second = [(0, 2, minute * 60_000 + 9_000, 2) for minute in range(15, 45)]
    found = deduplicated([*first, *second])
    filled = [row[2] // 60_000 for row in found if row[3] == 2]
    assert filled == list(range(21, 39))  # where the first has nothing near
    assert {row[1] for row in found} == {1}
