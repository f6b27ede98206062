"""The bytes below the messages: numbers, fields, snappy blocks, and what is refused of them."""

from __future__ import annotations

import contextlib
import struct
from itertools import accumulate

import cramjam
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.remote_write import messages as rw

from archive.remote_write.decoder import SLACK, Unpacker
from archive.remote_write.protobuf import (
    FIXED32,
    Field,
    MalformedError,
    double,
    double_bits,
    expect,
    packed_doubles,
    packed_varints,
    read_fields,
    read_varint,
    signed,
    zigzag,
)
from streamgauge.protobuf import (
    FIXED64,
    LENGTH,
    VARINT,
    write_bits,
    write_message,
    write_number,
    write_varint,
)


@given(st.integers(0, 2**64 - 1))
def test_a_number_reads_back_and_is_written_as_others_write_it(value: int) -> None:
    written = write_varint(value)
    assert written == rw.varint(value)
    assert read_varint(b"\xff" + written + b"\xff", 1, len(written) + 1) == (
        value,
        len(written) + 1,
    )


@pytest.mark.parametrize("data", [b"", b"\x80", b"\xff" * 9, b"\x80" * 10 + b"\x01"])
def test_a_number_that_does_not_end_is_malformed(data: bytes) -> None:
    with pytest.raises(MalformedError):
        read_varint(data, 0, len(data))


def test_a_number_ends_where_its_message_does() -> None:
    with pytest.raises(MalformedError, match="ends inside a number"):
        read_varint(b"\x80\x01", 0, 1)


def test_a_number_of_ten_bytes_is_cut_to_64_bits() -> None:
    assert read_varint(b"\xff" * 9 + b"\x7f", 0, 10) == (2**64 - 1, 10)


@given(st.integers(-(2**63), 2**63 - 1))
def test_signed_numbers_read_back(value: int) -> None:
    assert signed(value & (2**64 - 1)) == value
    assert zigzag(read_varint(rw.zigzag(value), 0, 10)[0]) == value


def test_fields_of_every_kind_are_found() -> None:
    data = b"\x08\x96\x01" + b"\x12\x02hi" + b"\x19" + bytes(8) + b"\x25" + bytes(4)
    assert list(read_fields(data, 0, len(data))) == [
        Field(1, VARINT, 150, 1, 3),
        Field(2, LENGTH, 0, 5, 7),
        Field(3, FIXED64, 0, 8, 16),
        Field(4, FIXED32, 0, 17, 21),
    ]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\x00\x01", "number 0"),
        (b"\x0b", "unknown wire type 3"),
        (b"\x0e", "unknown wire type 6"),
        (b"\x0a\x05hi", "longer than the message"),
        (b"\x09" + bytes(7), "longer than the message"),
        (b"\x0d" + bytes(3), "longer than the message"),
        (b"\x0a", "ends inside a number"),
    ],
)
def test_a_field_that_breaks_the_format_is_malformed(data: bytes, reason: str) -> None:
    with pytest.raises(MalformedError, match=reason):
        list(read_fields(data, 0, len(data)))


@given(st.binary(max_size=200))
def test_any_bytes_are_fields_or_malformed(data: bytes) -> None:
    try:
        fields = list(read_fields(data, 0, len(data)))
    except MalformedError:
        return
    assert all(0 < each.start <= each.stop <= len(data) for each in fields)
    assert not fields or fields[-1].stop == len(data)


def test_another_wire_type_than_expected_is_named() -> None:
    with pytest.raises(MalformedError, match="a label has the wire type 0, not 2"):
        expect(Field(1, VARINT, 1, 0, 1), LENGTH, "a label")


@given(st.lists(st.integers(0, 2**32)))
def test_repeated_numbers_are_read_packed_and_one_by_one(values: list[int]) -> None:
    packed = b"".join(map(rw.varint, values))
    field = Field(1, LENGTH, 0, 0, len(packed))
    assert list(packed_varints(packed, field, "x")) == values
    assert [list(packed_varints(b"", Field(1, VARINT, v, 0, 1), "x")) for v in values] == [
        [v] for v in values
    ]


def test_repeated_doubles_are_read_packed_and_one_by_one() -> None:
    data = struct.pack("<2d", 1.5, -2.0)
    assert list(packed_doubles(data, Field(1, LENGTH, 0, 0, 16), "x")) == [1.5, -2.0]
    assert list(packed_doubles(data, Field(1, FIXED64, 0, 8, 16), "x")) == [-2.0]
    with pytest.raises(MalformedError, match="no whole number of float64"):
        list(packed_doubles(data, Field(1, LENGTH, 0, 0, 15), "x"))


def test_the_bits_of_a_number_survive() -> None:
    stale = struct.pack("<Q", rw.STALE)
    assert double_bits(stale, 0) == rw.STALE
    assert double(struct.pack("<d", 0.1), 0) == 0.1


@given(st.integers(1, 1000), st.integers(0, 2**64 - 1), st.binary(max_size=300))
def test_what_we_write_is_what_others_write(number: int, value: int, content: bytes) -> None:
    assert write_message(number, content) == rw.length(number, content)
    assert write_number(number, value) == rw.number(number, value)
    assert write_bits(number, value) == rw.bits(number, value)


# --- snappy ---------------------------------------------------------------------------------------


def unpacked(body: bytes, most: int = 1 << 26) -> bytes:
    memory, (size,) = Unpacker(most).unpack((body,))
    assert len(memory) >= size + SLACK
    return bytes(memory[:size])


@given(st.binary(max_size=5000))
def test_a_block_unpacks_to_what_was_packed(data: bytes) -> None:
    assert unpacked(rw.compressed(data)) == data


@given(st.lists(st.binary(max_size=500), min_size=1, max_size=5))
def test_several_blocks_stand_one_behind_the_other(parts: list[bytes]) -> None:
    memory, ends = Unpacker(1 << 26).unpack([rw.compressed(part) for part in parts])
    assert bytes(memory[: ends[-1]]) == b"".join(parts)
    assert ends == list(accumulate(map(len, parts)))


def test_a_block_larger_than_the_kept_memory_unpacks_too() -> None:
    data = bytes(range(256)) * 40_000
    assert unpacked(rw.compressed(data)) == data


def test_a_bomb_is_refused_by_its_announced_size_alone() -> None:
    bomb = rw.compressed(bytes(100 << 20))
    assert len(bomb) < 6 << 20
    with pytest.raises(MalformedError, match="unpacks to 104857600 bytes, more than 67108864"):
        Unpacker(64 << 20).unpack((bomb,))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xff",
        b"\xff\xff\xff\xff\xff\x01",
        b"\x05",
        b"\x05\x00a",
        b"0" + rw.compressed(b"hello, hello, hello, hello")[1:],
        rw.compressed(b"hello" * 20)[:-1],
        rw.compressed(b"hello" * 20) + b"x",
        bytes(cramjam.snappy.compress(b"hello" * 20)),  # framed, which remote write never is
    ],
)
def test_what_is_no_block_is_malformed(body: bytes) -> None:
    with pytest.raises(MalformedError, match="the body"):
        unpacked(body)


@given(st.binary(max_size=200))
def test_any_body_unpacks_or_is_malformed(body: bytes) -> None:
    with contextlib.suppress(MalformedError):
        assert len(unpacked(body, 1 << 16)) <= 1 << 16
