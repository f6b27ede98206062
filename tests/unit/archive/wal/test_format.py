"""The bytes of the log are a promise: WAL.md describes them."""

import base64
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cramjam
import msgspec
import pytest
from support.archive.wal_batches import NOON, batch, definition, keep, plain, records_of

from archive.batch import Opaque, OpaqueKind
from archive.wal.recovery import read_series
from archive.wal.segments.segment import segment_path
from archive.wal.series_checkpoint import NAMES

REQUESTS = (
    batch([0, 1], values=[1.5, 2.0]),
    batch([2, 0], starts=True, opaque=(Opaque(OpaqueKind.EXEMPLAR, 2, NOON, b"e"),)),
)
# As format 2 wrote REQUESTS on the day on which it was fixed.
SEGMENT = (
    "Q%6@pObrSG0RR9100000000000000005?R$paB2?UYKSChX4Qo{GvrdN9asHrT_o{@EMnpm8@`bZ*66CXk~SCEn&|9"
    "00E%HL^l8e!T^;5lK=t40Fwj&!~hBa{UZkg0s;jH0t1|&pr~J8ZeeX@Utg$gWpr|BV_z_+V{dMAb!}yGqGK?lYHwns"
    "ZeetDCjb{QCjbyJQ~)IalX3uO0mJ~r5C8!Hp!fhkK$8Ff!~nqmj{pDw8q9?iB^Uu?rvLx|@D`Vmm8@`bZ*66CXk~SC"
    "En&|900E%HL^l8e!vU26lL7$50Fwj-0QD#U0mK6Y0t1+!prdMUVx(?ibaSX*Uv6P-WnW*YZDn+FX=7h9sAF$#b9HTH"
    "a-w50lLG$40FzJvXaU3k#1H@h05k9aKOX>cLrkCn!~m3T00DCV1vdb20K@>1!~tdh"
)
SERIES = (
    "Q%6@pObrSG000000000000000000000000000000_7id}W&i*HEG03C?%w_Ni~s-t@Bowo1C;}l00G1RlLP?7015#8"
    "DGLGu0tE;H0|g8M2iyP<prEK<Uv6P-WnW*YZDn+FX=7h7sAF$#b9HTHa-w4}qiSzrq;6q!b0+{7F(&{WF&+RHG9Cb6"
    "GLrxR!~p*"
)


def stranger_frames(data: bytes) -> Iterator[Any]:
    """What WAL.md says, written down a second time and without a line of ours."""
    magic, version, _, _, _, own = struct.unpack_from("<7sBQQqI", data)
    assert (magic, version, own) == (b"SGWAL\r\n", 2, zlib.crc32(data[:32]))
    place = 36
    while place < len(data):
        length, checksum, own = struct.unpack_from("<III", data, place)
        assert own == zlib.crc32(data[place : place + 8])
        record = data[place + 12 : place + 12 + length]
        assert checksum == zlib.crc32(record)
        assert data[place + 12 + length] == 0xFF
        yield msgspec.msgpack.decode(bytes(cramjam.lz4.decompress_block(record)))
        place += 12 + length + 1


def stranger_column(column: tuple[int, int, bytes], count: int) -> list[int]:
    first, step, planes = column
    if not planes:
        return [first + step * number for number in range(count)]
    numbers = [first]
    for each in range(count - 1):
        parts = [planes[plane * (count - 1) + each] for plane in range(step)]
        zigzag = int.from_bytes(bytes(parts), "little")
        numbers.append(numbers[-1] + (zigzag >> 1 if zigzag % 2 == 0 else -(zigzag >> 1) - 1))
    return numbers


def stranger_definitions(packed: Any) -> dict[int, tuple[str, dict[str, str]]]:
    """Number of the series: its replica, its labels."""
    count, ids, widths, cells, pairs = packed
    wide = stranger_column(widths, count)
    places = iter(stranger_column(cells, sum(wide)))
    found = {}
    for series, width in zip(stranger_column(ids, count), wide, strict=True):
        row = [pairs[2 * next(places) :][:2] for _ in range(width)]
        (nothing, replica), *labels = row
        assert nothing == ""
        found[series] = (replica, dict(labels))
    return found


def stranger_values(planes: bytes) -> list[float]:
    count = len(planes) // 8
    return [
        struct.unpack("<d", bytes(planes[plane * count + each] for plane in range(8)))[0]
        for each in range(count)
    ]


@pytest.fixture
def written(tmp_path: Path) -> Path:
    keep(tmp_path, REQUESTS)
    return tmp_path


def test_a_stranger_reads_a_segment_by_the_page_alone(written: Path) -> None:
    first, second = stranger_frames(segment_path(written, 1).read_bytes())
    assert first[0] == [["prometheus-a", NOON, 2, False, 0]]
    assert stranger_definitions(first[1]) == {
        number: ("", dict(definition(number).labels)) for number in (0, 1)
    }
    assert stranger_column(first[2], 2) == [0, 1]
    assert stranger_column(first[3], 2) == [NOON, NOON + 1]
    assert stranger_values(first[4]) == [1.5, 2.0]
    assert (stranger_column(first[5], 0), first[6]) == ([], None)
    assert second[0] == [["prometheus-a", NOON, 2, True, 1]]
    assert stranger_column(second[2], 2) == [2, 0]
    assert stranger_column(second[5], 2) == [NOON - 60_000, NOON - 59_999]
    kinds, series, times, messages = second[6]
    columns = [stranger_column(column, 1) for column in (kinds, series, times)]
    assert (columns, messages) == ([[2], [2], [NOON]], [b"e"])


def test_a_stranger_reads_columns_of_uneven_steps(tmp_path: Path) -> None:
    series = [5, 3, 4, 0, 1, 2, 5]
    keep(tmp_path, [batch(series)])
    (record,) = stranger_frames(segment_path(tmp_path, 1).read_bytes())
    assert record[2][2] != b""
    assert stranger_column(record[2], len(series)) == series


def test_a_stranger_reads_the_table_of_series(written: Path) -> None:
    for name in NAMES:
        (checkpoint,) = stranger_frames((written / name).read_bytes())
        next_segment, next_series, definitions, seen = checkpoint
        assert (next_segment, next_series) == (2, 3)
        assert sorted(stranger_definitions(definitions)) == [0, 1, 2]
        assert stranger_column(seen, 3) == [0, 0, 0]


def test_what_format_2_wrote_is_read(tmp_path: Path) -> None:
    segment_path(tmp_path, 1).write_bytes(base64.b85decode(SEGMENT))
    for name in NAMES:
        (tmp_path / name).write_bytes(base64.b85decode(SERIES))
    found = [plain(record.batch) for record in records_of(tmp_path)]
    assert found == [plain(each) for each in REQUESTS]
    assert list(read_series(tmp_path)) == [definition(number) for number in range(3)]


def test_the_format_did_not_change_unseen(written: Path) -> None:
    """When it must: another version number."""
    for path, before in ((segment_path(written, 1), SEGMENT), (written / NAMES[0], SERIES)):
        known = base64.b85decode(before)
        assert path.read_bytes()[:36] == known[:36]
        # Unpacked: another release of the compressor may find other bytes for the same.
        assert list(stranger_frames(path.read_bytes())) == list(stranger_frames(known))
