"""Segments: where they end, how they are handed over and removed, and that one process has them."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest
from support.archive.wal_batches import (
    EAGER,
    HOUR,
    NOON,
    append,
    batch,
    batches_of,
    definition,
    failing,
    keep,
    plain,
)

from archive.settings.wal import WalSettings
from archive.wal import fsync
from archive.wal.errors import WalLockedError, WalUnavailableError
from archive.wal.recovery import read_series
from archive.wal.segments.reader import read_segment
from archive.wal.segments.segment import segment_paths
from archive.wal.write_ahead_log import Wal

OPEN_AND_WAIT = """
import sys
from pathlib import Path
from archive.wal.write_ahead_log import Wal
from archive.settings.wal import WalSettings
wal = Wal.open(Path(sys.argv[1]), WalSettings())
print("open", flush=True)
sys.stdin.read()
"""


@pytest.fixture
async def wal(tmp_path: Path) -> AsyncIterator[Wal]:
    opened = await asyncio.to_thread(Wal.open, tmp_path, EAGER)
    yield opened
    await opened.close()


async def found(folder: Path) -> list[object]:
    return list(await asyncio.to_thread(batches_of, folder))


def sizes_of_segments(folder: Path) -> list[int]:
    return [path.stat().st_size for path in segment_paths(folder).values()]


def hours_of_segments(folder: Path) -> list[set[int]]:
    return [
        {record.batch.received // HOUR for record in read_segment(path)}
        for path in segment_paths(folder).values()
    ]


async def test_a_segment_ends_with_its_hour(wal: Wal, tmp_path: Path) -> None:
    for received in (NOON, NOON + HOUR - 1, NOON + HOUR, NOON + 2 * HOUR):
        await append(wal, batch([0], received=received))
    hours = await asyncio.to_thread(hours_of_segments, tmp_path)
    assert hours == [{NOON // HOUR + number} for number in range(3)]
    assert [segment.created for segment in wal.sealed_segments()] == [NOON, NOON + HOUR]


async def test_a_segment_ends_when_it_is_large(tmp_path: Path) -> None:
    settings = WalSettings(reserve=0, segment_size=4096)
    wal = await asyncio.to_thread(Wal.open, tmp_path, settings)
    values = np.random.default_rng(1).random(400).tolist()
    for _ in range(6):
        await append(wal, batch(range(400), values=values))
    sizes = [segment.size for segment in wal.sealed_segments()]
    assert len(sizes) >= 3
    assert all(4096 <= size < 12_000 for size in sizes)
    assert len(await found(tmp_path)) == 6
    await wal.close()


async def test_sealing_closes_the_segment_and_starts_a_new_one(wal: Wal, tmp_path: Path) -> None:
    assert await asyncio.to_thread(wal.seal) is None
    await append(wal, batch([0]))
    assert wal.sealed_segments() == []
    sealed = await asyncio.to_thread(wal.seal)
    assert sealed is not None
    assert wal.sealed_segments() == [sealed]
    assert [sealed.size] == await asyncio.to_thread(sizes_of_segments, tmp_path)
    await append(wal, batch([1]))
    assert len(await asyncio.to_thread(segment_paths, tmp_path)) == 2
    assert wal.sealed_segments() == [sealed]


async def test_space_is_made_ready_ahead_and_given_back(wal: Wal, tmp_path: Path) -> None:
    """A file that does not grow is synced without its file system's journal."""
    await append(wal, batch([0]))
    (ready,) = await asyncio.to_thread(sizes_of_segments, tmp_path)
    assert ready > 256 * 1024
    for _ in range(10):
        await append(wal, batch([0]))
    assert [ready] == await asyncio.to_thread(sizes_of_segments, tmp_path)
    await asyncio.to_thread(wal.seal)
    (sealed,) = await asyncio.to_thread(sizes_of_segments, tmp_path)
    assert sealed == wal.size < 4096


async def test_size_and_age_follow_what_is_there(wal: Wal, tmp_path: Path) -> None:
    assert wal.size == 0
    assert wal.oldest is None
    await append(wal, batch([0], received=NOON))
    await append(wal, batch([0], received=NOON + HOUR))
    before = wal.size
    await asyncio.to_thread(wal.seal)
    assert wal.size == before == sum(await asyncio.to_thread(sizes_of_segments, tmp_path))
    assert wal.oldest == NOON
    await asyncio.to_thread(wal.remove, wal.sealed_segments()[:1])
    assert wal.oldest == NOON + HOUR
    await asyncio.to_thread(wal.seal)
    await asyncio.to_thread(wal.remove, wal.sealed_segments())
    assert wal.size == 0
    assert wal.oldest is None


async def test_nothing_is_removed_before_its_series_are_safe(
    wal: Wal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await append(wal, batch([0]))
    with monkeypatch.context() as patched:
        patched.setattr(fsync, "replace_file", failing(28, "No space left on device"))
        await asyncio.to_thread(wal.seal)
        with pytest.raises(WalUnavailableError, match="No space left on device"):
            await asyncio.to_thread(wal.remove, wal.sealed_segments())
    assert len(wal.sealed_segments()) == 1
    assert len(await found(tmp_path)) == 1
    await asyncio.to_thread(wal.remove, wal.sealed_segments())
    assert await found(tmp_path) == []


async def test_series_that_came_after_the_last_saving_outlive_their_segment(
    wal: Wal, tmp_path: Path
) -> None:
    await append(wal, batch([0], received=NOON))
    await append(wal, batch([1], received=NOON + HOUR))
    await asyncio.to_thread(wal.remove, wal.sealed_segments())
    await append(wal, batch([2], received=NOON + HOUR))
    await append(wal, batch([2], received=NOON + 2 * HOUR))
    await asyncio.to_thread(wal.remove, wal.sealed_segments())
    series = await asyncio.to_thread(read_series, tmp_path)
    assert list(series) == [definition(number) for number in range(3)]


async def test_the_number_of_the_last_segment_outlives_it(tmp_path: Path) -> None:
    await asyncio.to_thread(keep, tmp_path, [batch([0])])
    wal = await asyncio.to_thread(Wal.open, tmp_path, EAGER)
    await append(wal, batch([0]))
    await asyncio.to_thread(wal.seal)
    *_, last = wal.sealed_segments()
    await asyncio.to_thread(wal.remove, wal.sealed_segments())
    await wal.close()
    await asyncio.to_thread(keep, tmp_path, [batch([0])])
    assert list(await asyncio.to_thread(segment_paths, tmp_path)) == [last.number + 1]


async def test_removing_writes_nothing_when_all_is_saved_elsewhere(
    wal: Wal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So it also works where nothing can be written any more."""
    for _ in range(3):
        await append(wal, batch([0]))
        await asyncio.to_thread(wal.seal)
    first, second, third = wal.sealed_segments()
    with monkeypatch.context() as patched:
        patched.setattr(fsync, "write_at", failing(28, "No space left on device"))
        await asyncio.to_thread(wal.remove, [first, second])
    assert wal.sealed_segments() == [third]


async def test_removing_a_missing_segment_is_no_error(wal: Wal) -> None:
    await append(wal, batch([0]))
    sealed = await asyncio.to_thread(wal.seal)
    assert sealed is not None
    await asyncio.to_thread(sealed.path.unlink)
    await asyncio.to_thread(wal.remove, [sealed])
    assert wal.sealed_segments() == []


async def test_appending_goes_on_while_segments_are_sealed_and_removed(
    wal: Wal, tmp_path: Path
) -> None:
    taken: list[object] = []
    stop = threading.Event()

    def publish() -> None:
        while not stop.is_set():
            wal.seal()
            for segment in wal.sealed_segments():
                taken.extend(plain(record.batch) for record in read_segment(segment.path))
                wal.remove([segment])

    publishing = asyncio.create_task(asyncio.to_thread(publish))
    sent = [batch([number % 7, number], sender=str(number)) for number in range(150)]
    for each in sent:
        await append(wal, each)
    stop.set()
    await publishing
    assert taken + await found(tmp_path) == [plain(each) for each in sent]


def test_a_second_process_in_one_folder_is_refused(tmp_path: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", OPEN_AND_WAIT, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "open\n"
        reported = rf"{tmp_path} is in use by another archive \(process {holder.pid}\)"
        with pytest.raises(WalLockedError, match=reported):
            Wal.open(tmp_path, EAGER)
        # Killed, it leaves no lock behind.
        holder.kill()
    asyncio.run(Wal.open(tmp_path, EAGER).close())


def test_a_second_log_in_one_process_is_refused(tmp_path: Path) -> None:
    wal = Wal.open(tmp_path, EAGER)
    with pytest.raises(WalLockedError, match="is already open in this process"):
        Wal.open(tmp_path / ".." / tmp_path.name, EAGER)
    asyncio.run(wal.close())
    asyncio.run(Wal.open(tmp_path, EAGER).close())


def test_a_folder_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(WalUnavailableError, match="file/wal: Not a directory"):
        Wal.open(tmp_path / "file" / "wal", EAGER)
