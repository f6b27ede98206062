"""What goes into a record comes out of it, bit by bit."""

from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.archive.wal_batches import batch, definition, plain
from support.examples import examples

from archive.batch import NO_SERIES, Batch, Opaque, OpaqueKind, SeriesDefinition
from archive.series.table import SeriesTable
from archive.wal.record import RecordError, decode_group, encode_group
from archive.wal.record_columns import Column, pack_column, unpack_bits, unpack_column
from archive.wal.record_definitions import (
    Definitions,
    load_definitions,
    pack_definitions,
    unpack_definitions,
)

INT64 = st.integers(-(2**63), 2**63 - 1)
TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
OPAQUE = st.builds(
    Opaque, st.sampled_from(OpaqueKind), st.integers(NO_SERIES, 2**32 - 1), INT64, st.binary()
)


@st.composite
def batches(draw: st.DrawFn) -> Batch:
    count = draw(st.integers(0, 20))

    def column(numbers: st.SearchStrategy[int], kind: type) -> Any:
        return np.array(draw(st.lists(numbers, min_size=count, max_size=count)), kind)

    return Batch(
        draw(TEXT),
        draw(INT64),
        column(st.integers(0, 2**32 - 1), np.uint32),
        column(INT64, np.int64),
        column(st.integers(0, 2**64 - 1), np.uint64),
        draw(st.sampled_from([None, column(INT64, np.int64)])),
        tuple(draw(st.lists(OPAQUE, max_size=3))),
    )


def label_sets() -> st.SearchStrategy[tuple[tuple[str, str], ...]]:
    names = TEXT.filter(bool)
    return st.dictionaries(names, TEXT, max_size=5).map(lambda found: tuple(sorted(found.items())))


@settings(max_examples=examples(300), deadline=None)
@given(numbers=st.lists(INT64, max_size=50))
def test_a_column_of_any_numbers_comes_back(numbers: list[int]) -> None:
    column = pack_column(np.array(numbers, np.int64))
    assert unpack_column(column, len(numbers)).tolist() == numbers


@pytest.mark.parametrize("numbers", [[7] * 1_000, list(range(5, 10_000, 3)), [2**62]])
def test_a_column_of_equal_steps_takes_no_space(numbers: list[int]) -> None:
    assert pack_column(np.array(numbers, np.int64)).planes == b""


def test_small_steps_take_one_byte_each() -> None:
    assert len(pack_column(np.array([10**12, 10**12 + 15, 10**12 - 30], np.int64)).planes) == 2


@settings(max_examples=examples(200), deadline=None)
@given(given_batches=st.lists(batches(), min_size=1, max_size=4))
def test_a_group_comes_back_request_by_request(given_batches: list[Batch]) -> None:
    found = list(decode_group(encode_group(None, given_batches)))
    assert [plain(record.batch) for record in found] == [plain(each) for each in given_batches]
    assert all(record.definitions == () for record in found)


@settings(max_examples=examples(200), deadline=None)
@given(sets=st.lists(label_sets(), min_size=1, max_size=8), replica=TEXT)
def test_definitions_come_back_as_objects_and_in_a_table(
    sets: list[tuple[tuple[str, str], ...]], replica: str
) -> None:
    table = SeriesTable()
    ids = [table.identify(labels, replica) for labels in sets]
    packed = pack_definitions(table, list(range(len(table))))
    expected = {
        id_: SeriesDefinition(id_, labels, replica) for id_, labels in zip(ids, sets, strict=True)
    }
    assert dict(enumerate(unpack_definitions(packed))) == expected
    copy = SeriesTable()
    load_definitions(packed, copy)
    assert dict(enumerate(copy)) == expected


def test_the_definitions_of_a_group_come_with_its_first_request() -> None:
    table = SeriesTable()
    table.adopt([definition(0), definition(1, "replica-b")])
    packed = pack_definitions(table, [0, 1])
    first, second = decode_group(encode_group(packed, [batch([0, 1]), batch([1])]))
    assert first.definitions == (definition(0), definition(1, "replica-b"))
    assert second.definitions == ()


def test_stale_markers_and_other_payloads_of_nan_keep_their_bits() -> None:
    bits = np.array([0x7FF0000000000002, 0x7FF8000000000001, 0xFFF8DEADBEEF0000], np.uint64)
    sent = Batch("a", 1, np.arange(3, dtype=np.uint32), np.arange(3), bits, None)
    (found,) = decode_group(encode_group(None, [sent]))
    assert found.batch.values.tolist() == bits.tolist()


def test_a_request_of_samples_that_are_alike_takes_few_bytes_a_sample() -> None:
    count = 2_000
    values = [float(number % 50) for number in range(count)]
    record = encode_group(None, [batch(range(count), values=values)])
    assert len(record) < count


@pytest.mark.parametrize("data", [b"", b"\x00", b"\xff" * 64, b"\x10\x00\x00\x00nonsense"])
def test_bytes_that_are_no_record_are_refused(data: bytes) -> None:
    with pytest.raises(RecordError):
        decode_group(data)


def test_planes_of_the_wrong_length_are_refused() -> None:
    with pytest.raises(ValueError, match="are not 3 numbers of 8 bytes"):
        unpack_bits(b"1234567", 3)
    with pytest.raises(ValueError, match="are not 2 numbers of 9 bytes"):
        unpack_column(Column(0, 9, b"x" * 18), 3)


@pytest.mark.parametrize(
    ("change", "reported"),
    [
        ({"cells": Column(99, 1)}, "a pair that is not there"),
        ({"cells": Column(-1, 1)}, "a pair that is not there"),
        ({"widths": Column(0, 0)}, "a series without pairs"),
    ],
)
def test_definitions_that_contradict_themselves_are_refused(
    change: dict[str, Column], reported: str
) -> None:
    table = SeriesTable()
    table.adopt([definition(0), definition(1)])
    broken: Definitions = msgspec.structs.replace(pack_definitions(table, [0, 1]), **change)
    with pytest.raises(ValueError, match=reported):
        unpack_definitions(broken)
