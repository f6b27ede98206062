"""A full disk: requests are refused, nothing is damaged, and accepted again with free space."""

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.archive.wal_batches import (
    EAGER,
    append,
    batch,
    definition,
    plain,
    plain_record,
    records_of,
)
from support.waiting import until

from archive.batch import Batch
from archive.settings.wal import WalSettings
from archive.wal.errors import WalUnavailableError
from archive.wal.recovery import read_series
from archive.wal.segments.reader import check_segment
from archive.wal.segments.segment import segment_paths
from archive.wal.segments.tail_check import EndingKind
from archive.wal.series_checkpoint import NAMES
from archive.wal.write_ahead_log import Wal

DISK_BYTES = 2 * 1024**2
SERIES = 500
FULL = "No space left on device"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of two megabytes."""
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(tmp_path)]
    mounted = subprocess.run(mount, capture_output=True, text=True, check=False)
    if mounted.returncode:
        pytest.skip(f"cannot mount a small disk here: {mounted.stderr.strip()}")
    yield tmp_path
    # Lazily: a test that failed may still have files open, and must not leave a disk behind.
    subprocess.run(["umount", "--lazy", str(tmp_path)], check=True)


@pytest.fixture
async def wal(disk: Path) -> AsyncIterator[Wal]:
    opened = await asyncio.to_thread(Wal.open, disk / "wal", EAGER)
    yield opened
    await opened.close()


def request_of(number: int) -> Batch:
    """Of values that do not compress, about four kilobytes."""
    values = np.random.default_rng(number).random(SERIES).tolist()
    return batch(range(SERIES), values=values, sender=str(number))


def fill(disk: Path) -> Path:
    """A file that takes all the space there is."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            return ballast


async def append_until_refused(wal: Wal, first: int) -> list[Batch]:
    """The acknowledged requests; `wal.unavailable` is the reason for the next refusal."""
    kept: list[Batch] = []
    while True:
        each = request_of(first + len(kept))
        try:
            await append(wal, each)
        except WalUnavailableError:
            return kept
        kept.append(each)


async def append_again(wal: Wal, each: Batch) -> None:
    """Until it is taken, as a sender does."""

    async def attempt() -> str:
        try:
            await append(wal, each)
        except WalUnavailableError as error:
            return str(error)
        return ""

    await until(attempt, lambda refused: not refused, "never taken again")


def check_folder(folder: Path, kept: list[Batch]) -> None:
    """Exactly what was acknowledged, in its order, in segments that are whole."""
    found = [plain_record(record) for record in records_of(folder)]
    assert [record[1:] for record in found] == [plain(each) for each in kept]
    endings = [check_segment(path).kind for path in segment_paths(folder).values()]
    assert set(endings) == {EndingKind.CLEAN}
    assert list(read_series(folder)) == [definition(number) for number in range(SERIES)]


async def test_a_full_disk_refuses_and_spoils_nothing(wal: Wal, disk: Path) -> None:
    kept = await append_until_refused(wal, 0)
    assert len(kept) > 100
    assert FULL in wal.unavailable
    await asyncio.to_thread(check_folder, disk / "wal", kept)


async def test_samples_are_taken_again_when_space_returns(wal: Wal, disk: Path) -> None:
    ballast = await asyncio.to_thread(fill_but, disk, 300_000)
    kept = await append_until_refused(wal, 0)
    assert FULL in wal.unavailable
    await asyncio.to_thread(ballast.unlink)
    await append_again(wal, request_of(len(kept)))
    kept.append(request_of(len(kept)))
    assert wal.unavailable == ""
    kept += await append_until_refused(wal, len(kept))
    await asyncio.to_thread(check_folder, disk / "wal", kept)


def fill_but(disk: Path, free: int) -> Path:
    ballast = fill(disk)
    os.truncate(ballast, ballast.stat().st_size - free)
    return ballast


async def test_a_start_on_a_full_disk_reads_all_and_takes_again_later(disk: Path) -> None:
    folder = disk / "wal"
    wal = await asyncio.to_thread(Wal.open, folder, EAGER)
    kept = [request_of(0), request_of(1)]
    for each in kept:
        await append(wal, each)
    await wal.close()
    ballast = await asyncio.to_thread(fill, disk)
    wal = await asyncio.to_thread(Wal.open, folder, EAGER)
    assert await append_until_refused(wal, 2) == []
    await asyncio.to_thread(check_folder, folder, kept)
    await asyncio.to_thread(ballast.unlink)
    await append_again(wal, request_of(2))
    await wal.close()
    await asyncio.to_thread(check_folder, folder, [*kept, request_of(2)])


async def test_published_segments_can_be_removed_from_a_full_disk(wal: Wal, disk: Path) -> None:
    await append(wal, request_of(0))
    sealed = await asyncio.to_thread(wal.seal)
    assert sealed is not None
    kept = await append_until_refused(wal, 1)
    await asyncio.to_thread(fill, disk)
    await asyncio.to_thread(wal.remove, [sealed])
    await append_again(wal, request_of(99_999))
    await asyncio.to_thread(check_folder, disk / "wal", [*kept, request_of(99_999)])


async def test_the_reserve_is_left_to_others(disk: Path) -> None:
    reserve = DISK_BYTES // 2
    settings = WalSettings(reserve=reserve, retry=0.01)
    wal = await asyncio.to_thread(Wal.open, disk / "wal", settings)
    kept = await append_until_refused(wal, 0)
    assert "less than 1MiB free (wal.reserve)" in wal.unavailable
    free = (await asyncio.to_thread(os.statvfs, disk)).f_bavail * 4096
    assert reserve - 300_000 < free < reserve
    sealed = await asyncio.to_thread(wal.seal)
    assert sealed is not None
    await asyncio.to_thread(wal.remove, [sealed])
    await append_again(wal, request_of(0))
    await wal.close()
    assert len(kept) > 50


async def test_a_series_table_that_could_not_be_saved_is_saved_later(
    wal: Wal, disk: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Otherwise sealing gives back enough to save the table.
    monkeypatch.setattr("archive.wal.segments.writer._BLANK_BYTES", 0)
    await append(wal, request_of(0))
    ballast = await asyncio.to_thread(fill, disk)
    sealed = await asyncio.to_thread(wal.seal)
    assert sealed is not None
    assert "cannot save the series table" in caplog.text
    with pytest.raises(WalUnavailableError, match=FULL):
        await asyncio.to_thread(wal.remove, [sealed])
    assert wal.sealed_segments() == [sealed]
    await asyncio.to_thread(ballast.unlink)
    await asyncio.to_thread(wal.remove, [sealed])
    files: list[Any] = [await asyncio.to_thread((disk / "wal" / n).read_bytes) for n in NAMES]
    assert files[0] == files[1]
    series = await asyncio.to_thread(read_series, disk / "wal")
    assert len(series) == SERIES
