"""Chunks keep every bit: whatever goes into a row of `samples/` comes out of it."""

import io
import struct
from collections.abc import Sequence
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archive.tables.arrow import Table, pa, pq
from archive.tables.chunk_decoder import samples_of, value_lists
from archive.tables.chunk_encoder import cut, rows
from archive.tables.decimal_scale import NOT_DECIMAL, decimal_scales, shifted, unshifted
from archive.tables.sample_columns import NO_START, Samples, empty_samples, joined, run_starts
from archive.tables.schema import HOUR_MS, MAX_SCALE, STALE_BITS

# A slow machine is no fault of the code.
unhurried = settings(deadline=None)

HOUR = 1_700_000_000_000 - 1_700_000_000_000 % HOUR_MS
any_bits = st.integers(0, 2**64 - 1)
any_float = st.floats(width=64).map(lambda value: int(np.float64(value).view(np.uint64)))
short_decimal = st.decimals(-(10**9), 10**9, places=3).map(lambda value: bits_of(float(value)))
whole = st.integers(-(2**60), 2**60).map(lambda value: bits_of(float(value)))
stale = st.just(STALE_BITS)
value_bits = st.one_of(any_bits, any_float, short_decimal, whole, stale)
kinds = st.sampled_from([any_bits, any_float, short_decimal, whole, stale, value_bits])
offsets = st.integers(0, HOUR_MS - 1)


def bits_of(value: float) -> int:
    (bits,) = struct.unpack("<Q", struct.pack("<d", value))
    return int(bits)


@st.composite
def chunk_samples(draw: st.DrawFn) -> Samples:
    """Some chunks, each with values of one kind or of all, some with start times."""
    parts = []
    for series in draw(st.lists(st.integers(0, 5), unique=True, max_size=4).map(sorted)):
        for hour in draw(st.lists(st.integers(0, 3), unique=True, min_size=1).map(sorted)):
            times = sorted(draw(st.sets(offsets, min_size=1, max_size=8)))
            found = [draw(draw(kinds)) for _ in times]
            starts = [draw(st.integers(0, 2**50)) for _ in times] if draw(st.booleans()) else None
            parts.append(one_chunk(series, hour, times, found, starts))
    return joined(parts)


def one_chunk(
    series: int, hour: int, times: Sequence[int], bits: Sequence[int], starts: list[int] | None
) -> Samples:
    size = len(times)
    return Samples(
        np.full(size, series, np.int32),
        np.full(size, series % 2, np.int32),
        np.array(times, np.int64) + HOUR + hour * HOUR_MS,
        np.array(bits, np.uint64),
        None if starts is None else np.array(starts, np.int64),
    )


def through_parquet(table: Table) -> Table:
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return pq.read_table(pa.BufferReader(sink.getvalue()))


def table_of(samples: Samples) -> Table:
    chunks = cut(samples)
    names = pa.array([f"m{series}" for series in chunks.series], pa.string()).dictionary_encode()
    return rows(chunks, names, ["", "b"])


@unhurried
@given(chunk_samples())
def test_every_bit_of_every_sample_comes_back(samples: Samples) -> None:
    back, replicas = samples_of(through_parquet(table_of(samples)))
    assert back.series.tolist() == samples.series.tolist()
    assert back.times.tolist() == samples.times.tolist()
    assert back.bits.tolist() == samples.bits.tolist()
    names = [["", "b"][code] for code in samples.replica]
    assert [replicas[code] for code in back.replica] == names


@unhurried
@given(chunk_samples())
def test_start_times_come_back_with_the_values(samples: Samples) -> None:
    back, _ = samples_of(table_of(samples))
    values = samples.bits != np.uint64(STALE_BITS)
    wanted = np.zeros(len(samples), np.int64) if samples.starts is None else samples.starts
    got = np.zeros(len(back), np.int64) if back.starts is None else back.starts
    assert got[values].tolist() == wanted[values].tolist()
    assert set(got[~values].tolist()) <= {NO_START}


@unhurried
@given(chunk_samples())
def test_a_row_has_one_kind_of_list_and_no_stale_marker_in_it(samples: Samples) -> None:
    for row in table_of(samples).to_pylist():
        assert (row["iv"] is None) != (row["fv"] is None)
        assert (row["iv"] is None) == (row["scale"] is None)
        assert len(row["iv"] if row["fv"] is None else row["fv"]) == len(row["ts"])
        assert STALE_BITS not in [bits_of(value) for value in row["fv"] or ()]
        assert row["ts"] == sorted(set(row["ts"]))


@unhurried
@given(chunk_samples())
def test_values_alone_are_those_of_the_whole_reading(samples: Samples) -> None:
    values, counts = value_lists(table_of(samples))
    stale = samples.bits == np.uint64(STALE_BITS)
    assert values.view(np.uint64).tolist() == samples.bits[~stale].tolist()
    assert int(counts.sum()) == len(values)


@pytest.mark.parametrize(
    ("values", "scale"),
    [
        ([0.0, 1.0, -7.0], 0),
        ([2.0**53, -(2.0**53)], 0),
        ([2.0**53 + 2.0], NOT_DECIMAL),
        ([-0.0], NOT_DECIMAL),
        ([0.1, 0.25, 3.0], 2),
        ([0.000000001], MAX_SCALE),
        ([0.0000000001], NOT_DECIMAL),
        ([1 / 3], NOT_DECIMAL),
        ([float("inf")], NOT_DECIMAL),
        ([float("nan")], NOT_DECIMAL),
        ([1.7976931348623157e308], NOT_DECIMAL),
        # Each fits alone; together the large one would need more than 53 bits.
        ([2.0**53, 0.5], NOT_DECIMAL),
    ],
)
def test_the_scale_is_the_least_that_keeps_all_bits(values: list[float], scale: int) -> None:
    found = decimal_scales(np.array(values), np.array([0]))
    assert found.tolist() == [scale]


@unhurried
@given(st.decimals(-(10**5), 10**5, places=6), st.integers(6, MAX_SCALE))
def test_a_decimal_is_found_again_at_a_larger_scale(number: Decimal, scale: int) -> None:
    value = np.array([float(number)])
    scales = np.array([scale])
    assert unshifted(shifted(value, scales), scales).tolist() == value.tolist()


def test_a_chunk_of_nothing_but_markers_is_an_empty_list_of_whole_numbers() -> None:
    (row,) = table_of(one_chunk(1, 0, [5, 9], [STALE_BITS, STALE_BITS], None)).to_pylist()
    assert (row["ts"], row["iv"], row["fv"], row["stale"]) == ([], [], None, [5, 9])


def test_nothing_makes_no_rows() -> None:
    assert table_of(empty_samples()).num_rows == 0
    assert samples_of(table_of(empty_samples()))[0].bits.tolist() == []


def test_a_run_begins_where_any_key_changes() -> None:
    assert run_starts(np.array([1, 1, 2, 2]), np.array([5, 6, 6, 6])).tolist() == [0, 1, 2]
