"""After any damage to a segment every other record is read, and the damage is reported."""

import asyncio
import logging
import os
import shutil
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.archive.wal_batches import (
    EAGER,
    HOUR,
    NOON,
    append,
    batch,
    batches_of,
    definition,
    keep,
    labels,
    plain_record,
    records_of,
)
from support.examples import examples

from archive.batch import Opaque, OpaqueKind
from archive.wal import fsync
from archive.wal.errors import WalFormatError
from archive.wal.recovery import read_series
from archive.wal.segments.reader import SegmentFrames, check_segment, read_segment
from archive.wal.segments.segment import (
    FRAME_BYTES,
    HEADER_BYTES,
    SegmentHeader,
    framed,
    pack_header,
    segment_path,
    segment_paths,
)
from archive.wal.segments.tail_check import Damage, Ending, EndingKind
from archive.wal.series_checkpoint import NAMES
from archive.wal.write_ahead_log import Wal

REQUESTS = (
    batch([0, 1, 2]),
    batch([2, 3], starts=True, sender="b"),
    batch([], opaque=(Opaque(OpaqueKind.METADATA, -1, 0, b"metadata"),)),
    batch([1, 4], opaque=(Opaque(OpaqueKind.HISTOGRAM, 4, NOON, b"\x00" * 40),)),
    batch([5, 0, 3], values=[0.1, float("nan"), -0.0]),
)


@pytest.fixture(autouse=True, scope="module")
def no_waiting_for_the_disk() -> Iterator[None]:
    """Thousands of starts follow, and none of them loses its power."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(fsync, "sync_data", lambda _: None)
        patched.setattr(fsync, "sync_folder", lambda _: None)
        patched.setattr(os, "fsync", lambda _: None)
        yield


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose only segment holds REQUESTS; nothing of it is in the table of series yet."""
    folder = tmp_path_factory.mktemp("written") / "wal"
    keep(folder, REQUESTS)
    for name in NAMES:
        (folder / name).unlink()
    return folder


@pytest.fixture(scope="module")
def whole(written: Path) -> list[tuple[Any, ...]]:
    return [plain_record(record) for record in records_of(written)]


def changed(written: Path, folder: Path, data: bytes) -> Path:
    """A copy of the folder whose segment holds these bytes."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(written, folder)
    path = segment_path(folder, 1)
    path.write_bytes(data)
    return path


def read(path: Path) -> tuple[list[tuple[Any, ...]], Ending]:
    frames = SegmentFrames(path)
    return [plain_record(record) for record in frames.requests()], frames.ending


def recovered(folder: Path) -> Wal:
    """Opened, one more request kept, closed: what a start after the damage does."""
    wal = Wal.open(folder, EAGER)

    async def append_one() -> None:
        await append(wal, batch([0, 9], sender="after"))
        await wal.close()

    asyncio.run(append_one())
    return wal


def check(path: Path, kept: list[tuple[Any, ...]]) -> Ending:
    """Exactly these are read, and a restart changes nothing; returns the reported ending."""
    found, ending = read(path)
    assert found == kept
    assert (ending.kind is EndingKind.CLEAN) == (ending.torn + ending.damaged_bytes == 0)
    wal = recovered(path.parent)
    reported = [] if ending.kind is EndingKind.CLEAN else [ending]
    assert [each.ending for each in wal.recovery.dropped] == reported
    # Replayed again, with what came later behind it.
    *again, last = [plain_record(record) for record in records_of(path.parent)]
    assert again == found
    assert last[1] == "after"
    # An id that a readable record uses is not assigned again, even if its labels are lost.
    used = {series for record in found for series in record[3]}
    defined = [each.id for each in last[0]]
    assert defined == list(range(max(used, default=-1) + 1, 10))
    return ending


def frames_of(data: bytes) -> list[tuple[int, int]]:
    """Where each record begins and ends, with its frame."""
    found, at = [], HEADER_BYTES
    while at < len(data):
        (length,) = struct.unpack_from("<I", data, at)
        found.append((at, at + FRAME_BYTES + length + 1))
        at = found[-1][1]
    return found


@pytest.mark.slow
def test_a_segment_cut_at_every_byte_yields_a_prefix(
    written: Path, whole: list[tuple[Any, ...]], tmp_path: Path
) -> None:
    data = segment_path(written, 1).read_bytes()
    kinds = []
    for size in range(len(data) + 1):
        path = changed(written, tmp_path / "wal", data[:size])
        kept = sum(end <= size for _, end in frames_of(data))
        kinds.append(check(path, whole[:kept]).kind)
    assert EndingKind.DAMAGED not in kinds
    # Nothing at all, the header alone, and the end of each request.
    assert kinds.count(EndingKind.CLEAN) == 2 + len(REQUESTS)


@pytest.mark.slow
def test_a_segment_blank_from_any_byte_on_yields_a_prefix(
    written: Path, whole: list[tuple[Any, ...]], tmp_path: Path
) -> None:
    """As a write leaves it that was broken off in space that had been made ready."""
    data = segment_path(written, 1).read_bytes()
    kinds = []
    for size in range(len(data) + 1):
        path = changed(written, tmp_path / "wal", data[:size] + bytes(len(data) + 99 - size))
        found, ending = read(path)
        assert found == whole[: len(found)]
        kinds.append(ending.kind)
    assert EndingKind.DAMAGED not in kinds
    assert kinds.count(EndingKind.CLEAN) == 2 + len(REQUESTS)


@pytest.mark.slow
@settings(max_examples=examples(150), deadline=None)
@given(place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_a_flipped_bit_costs_one_record(
    tmp_path_factory: pytest.TempPathFactory,
    written: Path,
    whole: list[tuple[Any, ...]],
    place: float,
    bit: int,
) -> None:
    data = bytearray(segment_path(written, 1).read_bytes())
    flipped, frames = int(place * len(data)), frames_of(bytes(data))
    data[flipped] ^= 1 << bit
    folder = tmp_path_factory.getbasetemp() / "flipped"
    path = changed(written, folder, bytes(data))
    hit = [begin <= flipped < end for begin, end in frames]
    kept = [record for record, is_hit in zip(whole, hit, strict=True) if not is_hit]
    (damage,) = check(path, kept).damage
    bounds = frames[hit.index(True)] if any(hit) else (0, HEADER_BYTES)
    assert (damage.offset, damage.offset + damage.size) == bounds


@pytest.mark.slow
@settings(max_examples=examples(150), deadline=None)
@given(
    place=st.floats(0, 1),
    junk=st.binary(min_size=1, max_size=200),
    keeps_the_rest=st.booleans(),
)
def test_junk_costs_the_record_that_it_is_in(
    tmp_path_factory: pytest.TempPathFactory,
    written: Path,
    whole: list[tuple[Any, ...]],
    place: float,
    junk: bytes,
    keeps_the_rest: bool,
) -> None:
    data = segment_path(written, 1).read_bytes()
    cut = int(place * len(data))
    torn = data[:cut] + junk + (data[cut:] if keeps_the_rest else b"")
    path = changed(written, tmp_path_factory.getbasetemp() / "junk", torn)
    frames = frames_of(data)
    whole_before = [end <= cut for _, end in frames]
    whole_behind = [keeps_the_rest and begin >= cut for begin, _ in frames]
    kept = [a or b for a, b in zip(whole_before, whole_behind, strict=True)]
    check(path, [record for record, is_kept in zip(whole, kept, strict=True) if is_kept])


def test_blank_space_behind_the_last_record_is_a_clean_end(
    written: Path, whole: list[tuple[Any, ...]], tmp_path: Path
) -> None:
    """It is made ready for more, and stays when the writer is killed."""
    data = segment_path(written, 1).read_bytes()
    path = changed(written, tmp_path / "wal", data + bytes(3_000_000))
    assert check(path, whole) == Ending(len(data))
    path = changed(written, tmp_path / "wal", bytes(len(data)))
    assert check(path, []) == Ending(0)


def test_something_far_behind_blank_space_is_damage_and_not_an_end(
    written: Path, whole: list[tuple[Any, ...]], tmp_path: Path
) -> None:
    data = segment_path(written, 1).read_bytes()
    path = changed(written, tmp_path / "wal", data + bytes(3_000_000) + b"?" + bytes(9))
    damage = Damage(len(data), 3_000_001, "has a damaged length")
    assert check(path, whole) == Ending(len(data), damage=(damage,))


def test_a_record_that_makes_no_sense_costs_no_other(
    written: Path, whole: list[tuple[Any, ...]], tmp_path: Path
) -> None:
    data = segment_path(written, 1).read_bytes()
    nonsense = b"".join(framed(b"nonsense"))
    path = changed(written, tmp_path / "wal", data[:HEADER_BYTES] + nonsense + data[HEADER_BYTES:])
    (damage,) = check(path, whole).damage
    assert (damage.offset, damage.size) == (HEADER_BYTES, len(nonsense))
    assert "makes no sense" in str(damage)


def test_every_other_record_is_read_between_damaged_ones(
    written: Path, whole: list[tuple[Any, ...]], tmp_path: Path
) -> None:
    data = bytearray(segment_path(written, 1).read_bytes())
    for begin, _ in frames_of(bytes(data))[::2]:
        data[begin] ^= 1
    path = changed(written, tmp_path / "wal", bytes(data))
    assert len(check(path, whole[1::2]).damage) == 3


def test_a_frame_inside_a_damaged_record_is_not_read(tmp_path: Path) -> None:
    """A sender chooses the bytes of a message, so it can send the bytes of a frame."""
    inner = b"".join(framed(os.urandom(500)))  # not compressible, so its bytes are in the log
    message = Opaque(OpaqueKind.EXEMPLAR, 0, NOON, inner)
    keep(tmp_path, [batch([0], opaque=(message,)), batch([0], sender="honest")])
    path = segment_path(tmp_path, 1)
    data = bytearray(path.read_bytes())
    assert inner in data
    data[HEADER_BYTES + FRAME_BYTES] ^= 1
    path.write_bytes(data)
    assert len(list(SegmentFrames(path))) == 1
    assert [record[1] for record in read(path)[0]] == ["honest"]


def test_labels_lost_with_a_record_are_reported_and_their_ids_stay_used(tmp_path: Path) -> None:
    keep(tmp_path, [batch([0]), batch([1]), batch([1, 0])])
    for name in NAMES:
        (tmp_path / name).unlink()
    path = segment_path(tmp_path, 1)
    data = bytearray(path.read_bytes())
    data[frames_of(bytes(data))[1][1] - 1] ^= 1
    path.write_bytes(data)
    wal = Wal.open(tmp_path, EAGER)
    assert wal.recovery.faults == [f"{path}: the labels of 1 series are lost"]
    assert wal.series.identify(labels(1)) == 2
    assert wal.damaged == frames_of(bytes(data))[1][1] - frames_of(bytes(data))[1][0]
    asyncio.run(wal.close())


def test_the_next_record_is_found_behind_a_damaged_length_at_any_distance(tmp_path: Path) -> None:
    header = pack_header(SegmentHeader(1, 0, NOON))
    path = tmp_path / "0000000001.wal"
    good = b"".join(framed(b"good"))
    for size in (1, 2, 11, 12, 13, 100, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 3_000_000):
        path.write_bytes(header + os.urandom(size) + good)
        frames = SegmentFrames(path)
        assert list(frames) == [b"good"]
        assert frames.ending.offset == HEADER_BYTES + size + len(good)


def test_what_was_dropped_is_logged_with_its_place(
    written: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    data = segment_path(written, 1).read_bytes()
    changed(written, tmp_path / "torn", data[:-1])
    changed(written, tmp_path / "damaged", data[:-1] + b"?")
    for name, level in (("torn", logging.WARNING), ("damaged", logging.ERROR)):
        caplog.clear()
        recovered(tmp_path / name)
        (line,) = [each for each in caplog.records if f"is {name}" in each.getMessage()]
        assert line.levelno == level
        reported: str = line.fields["segment"]  # type: ignore[attr-defined]
        assert reported.startswith("0000000001.wal ")
        assert " bytes are not read" in reported


def test_a_torn_segment_is_removed_and_a_damaged_one_is_renamed(
    written: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    data = segment_path(written, 1).read_bytes()
    torn = changed(written, tmp_path / "torn", data[:-1])
    damaged = changed(written, tmp_path / "damaged", data[:-1] + b"?")
    for path in (torn, damaged):
        wal = Wal.open(path.parent, EAGER)
        wal.remove(wal.sealed_segments())
        assert wal.sealed_segments() == []
        assert not path.exists()
        asyncio.run(wal.close())
    assert list(torn.parent.glob("*.damaged")) == []
    (aside,) = damaged.parent.glob("*.damaged")
    assert aside.read_bytes() == data[:-1] + b"?"
    assert "damaged segment of the write-ahead log renamed" in caplog.text
    wal = Wal.open(damaged.parent, EAGER)
    assert wal.sealed_segments() == []
    asyncio.run(wal.close())


def test_a_segment_that_never_got_a_record_is_cleared_away(written: Path, tmp_path: Path) -> None:
    data = segment_path(written, 1).read_bytes()
    path = changed(written, tmp_path / "wal", data[:HEADER_BYTES])
    wal = Wal.open(path.parent, EAGER)
    assert wal.sealed_segments() == []
    assert wal.size == 0
    assert wal.oldest is None
    assert not path.exists()
    asyncio.run(wal.close())


def test_the_format_of_a_newer_version_is_refused_and_not_taken_for_damage(
    written: Path, tmp_path: Path
) -> None:
    data = bytearray(segment_path(written, 1).read_bytes())
    data[7] = 3
    data[HEADER_BYTES - 4 : HEADER_BYTES] = struct.pack("<I", zlib.crc32(data[: HEADER_BYTES - 4]))
    path = changed(written, tmp_path / "wal", bytes(data))
    with pytest.raises(WalFormatError, match=r"0000000001\.wal is of format 3, and this program"):
        Wal.open(path.parent, EAGER)
    with pytest.raises(WalFormatError, match=r"0000000001\.wal is of format 3"):
        list(read_segment(path))
    assert path.read_bytes() == data
    path.write_bytes(segment_path(written, 1).read_bytes())
    asyncio.run(Wal.open(path.parent, EAGER).close())


def test_series_and_segments_keep_their_numbers_when_all_is_published(tmp_path: Path) -> None:
    keep(tmp_path, [batch([0, 1])])
    wal = Wal.open(tmp_path, EAGER)
    (first,) = wal.sealed_segments()
    wal.remove([first])
    asyncio.run(wal.close())
    assert segment_paths(tmp_path) == {}
    keep(tmp_path, [batch([2, 0])])
    (record,) = records_of(tmp_path)
    assert record.definitions == (definition(2),)
    assert list(segment_paths(tmp_path)) == [first.number + 1]
    assert list(read_series(tmp_path)) == [definition(number) for number in range(3)]


def test_segment_numbers_that_the_archive_covers_are_not_given_again(tmp_path: Path) -> None:
    """The log folder was removed, the published files were not."""

    async def start() -> None:
        wal = await asyncio.to_thread(Wal.open, tmp_path, EAGER, least_segment=40)
        await wal.append((definition(0),), batch([0]))
        await wal.close()

    asyncio.run(start())
    assert list(segment_paths(tmp_path)) == [40]


def test_a_lost_table_of_series_costs_labels_and_no_numbers(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    keep(tmp_path, [batch([0, 1])])
    wal = Wal.open(tmp_path, EAGER)
    wal.remove(wal.sealed_segments())
    asyncio.run(wal.close())
    keep(tmp_path, [batch([2])])
    for name in NAMES:
        (tmp_path / name).unlink()
    wal = Wal.open(tmp_path, EAGER)
    assert "series table of the write-ahead log is damaged" in caplog.text
    assert wal.recovery.faults == [f"{tmp_path}: the labels of series 0 to 1 are lost"]
    assert list(wal.series) == [definition(2)]
    assert wal.series.identify(labels(0)) == 3
    asyncio.run(wal.close())


def test_numbers_of_a_lost_table_are_not_given_again_when_nothing_else_records_them(
    tmp_path: Path,
) -> None:
    keep(tmp_path, [batch([0, 1])])
    wal = Wal.open(tmp_path, EAGER)
    wal.remove(wal.sealed_segments())
    asyncio.run(wal.close())
    keep(tmp_path, [batch([0])])
    for name in NAMES:
        (tmp_path / name).unlink()
    wal = Wal.open(tmp_path, EAGER)
    assert wal.series.identify(labels(7)) == 2
    asyncio.run(wal.close())


def test_a_segment_whose_definitions_are_known_is_not_read_at_the_start(tmp_path: Path) -> None:
    keep(tmp_path, [batch([0], received=NOON), batch([1], received=NOON + HOUR)])
    first, last = segment_paths(tmp_path).values()
    for path in (first, last):
        path.write_bytes(path.read_bytes()[:-1] + b"?")
    wal = Wal.open(tmp_path, EAGER)
    assert [each.path for each in wal.recovery.dropped] == [last]
    assert list(wal.series) == [definition(0), definition(1)]
    asyncio.run(wal.close())


def test_definitions_are_taken_from_segments_that_the_table_does_not_cover(tmp_path: Path) -> None:
    keep(tmp_path, [batch([number], received=NOON + number * HOUR) for number in range(4)])
    for name in NAMES:
        (tmp_path / name).unlink()
    assert list(read_series(tmp_path)) == [definition(number) for number in range(4)]


def test_labels_lost_in_a_damaged_segment_cost_no_other_series(tmp_path: Path) -> None:
    keep(tmp_path, [batch([number], received=NOON + number * HOUR) for number in range(3)])
    for name in NAMES:
        (tmp_path / name).unlink()
    path = segment_path(tmp_path, 2)
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    wal = Wal.open(tmp_path, EAGER)
    assert [each.path for each in wal.recovery.dropped] == [path]
    assert wal.recovery.faults == [f"{tmp_path}: the labels of series 1 to 1 are lost"]
    assert list(wal.series) == [definition(0), definition(2)]
    # An unreadable segment stays in the list, and is renamed at its removal.
    assert [segment.number for segment in wal.sealed_segments()] == [1, 2, 3]
    asyncio.run(wal.close())


def test_a_folder_that_is_not_there_has_no_segments_and_no_series(tmp_path: Path) -> None:
    assert segment_paths(tmp_path / "none") == {}
    assert len(read_series(tmp_path / "none")) == 0


def test_series_can_be_read_while_segments_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The writer removes the first segment between listing the folder and opening the file."""
    keep(tmp_path, [batch([0], received=NOON), batch([1], received=NOON + HOUR)])
    for name in NAMES:
        (tmp_path / name).unlink()
    wal = Wal.open(tmp_path, EAGER)
    attempts = 0

    def listed(folder: Path) -> dict[int, Path]:
        nonlocal attempts
        attempts += 1
        paths = segment_paths(folder)
        if attempts == 1:
            wal.remove(wal.sealed_segments()[:1])
        return paths

    monkeypatch.setattr("archive.wal.recovery.segment_paths", listed)
    assert list(read_series(tmp_path)) == [definition(0), definition(1)]
    assert attempts == 2
    asyncio.run(wal.close())


def test_other_files_in_the_folder_are_left_alone(tmp_path: Path) -> None:
    for name in ("1.wal", "00000000001.wal", "notes.txt", "0000000009.wal.damaged"):
        (tmp_path / name).write_bytes(b"mine")
    keep(tmp_path, [batch([0])])
    assert list(segment_paths(tmp_path)) == [1]
    assert batches_of(tmp_path)
    assert (tmp_path / "1.wal").read_bytes() == b"mine"


def test_the_ending_is_not_known_before_the_end(written: Path) -> None:
    frames = SegmentFrames(segment_path(written, 1))
    next(frames.requests())
    with pytest.raises(RuntimeError, match="was not read to its end"):
        _ = frames.ending


def test_a_segment_is_checked_without_being_decoded(tmp_path: Path) -> None:
    path = tmp_path / "0000000001.wal"
    header = pack_header(SegmentHeader(1, 0, NOON))
    path.write_bytes(header + b"".join(framed(b"nonsense")))
    assert check_segment(path).kind is EndingKind.CLEAN
