"""A disk that breaks under the log: the kernel makes it read-only, and what was kept stays."""

import asyncio
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.archive.process import archiving
from support.archive.wal_batches import EAGER, append, batch, batches_of, plain, records_of
from support.remote_write import messages as rw

from archive.wal.errors import WalUnavailableError
from archive.wal.write_ahead_log import Wal

IMAGE_BYTES = 16 * 1024**2
BROKEN = r"Read-only file system|Input/output error|Structure needs cleaning"


@dataclass(frozen=True)
class Disk:
    """A mounted ext4 image, which can simulate a broken disk."""

    image: Path
    folder: Path

    def mount(self) -> None:
        run("mount", "-o", "loop,errors=remount-ro", str(self.image), str(self.folder))

    def remount(self, mode: str) -> None:
        run("mount", "-o", f"remount,{mode}", str(self.folder))

    def unmount(self) -> None:
        run("umount", str(self.folder))

    def break_it(self) -> None:
        device = run("findmnt", "-n", "-o", "SOURCE", str(self.folder)).strip()
        Path("/sys/fs/ext4", Path(device).name, "trigger_fs_error").write_text("1")

    def repair(self) -> None:
        """fsck exits with 1 after a repair."""
        subprocess.run(["e2fsck", "-fy", str(self.image)], capture_output=True, check=False)


def run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    made = Disk(tmp_path / "image", tmp_path / "disk")
    made.folder.mkdir()
    made.image.write_bytes(bytes(IMAGE_BYTES))
    try:
        run("mkfs.ext4", "-q", str(made.image))
        made.mount()
    except OSError as error:
        pytest.skip(f"cannot make a disk of a file here: {error}")
    yield made
    # Lazily: a test that failed may still have files open, and must not leave a disk behind.
    run("umount", "--lazy", str(made.folder))


async def refused(wal: Wal) -> None:
    with pytest.raises(WalUnavailableError, match=BROKEN):
        await append(wal, batch([0], sender="refused"))
    await asyncio.sleep(2 * EAGER.retry)


async def test_a_disk_that_breaks_keeps_what_was_acknowledged(disk: Disk) -> None:
    folder = disk.folder / "wal"
    wal = await asyncio.to_thread(Wal.open, folder, EAGER)
    kept = [batch([number], sender=str(number)) for number in range(20)]
    for each in kept:
        await append(wal, each)
    await asyncio.to_thread(disk.break_it)
    for _ in range(3):
        await refused(wal)
    expected = [plain(each) for each in kept]
    assert await asyncio.to_thread(batches_of, folder) == expected
    await wal.close()

    await asyncio.to_thread(disk.unmount)
    await asyncio.to_thread(disk.repair)
    await asyncio.to_thread(disk.mount)
    wal = await asyncio.to_thread(Wal.open, folder, EAGER)
    after = batch([3, 20], sender="after")
    await append(wal, after)
    await wal.close()
    assert await asyncio.to_thread(batches_of, folder) == [*expected, plain(after)]


async def test_a_read_only_disk_is_refused_at_the_start_and_read_all_the_same(disk: Disk) -> None:
    folder = disk.folder / "wal"
    wal = await asyncio.to_thread(Wal.open, folder, EAGER)
    kept = batch([0, 1])
    await append(wal, kept)
    await wal.close()
    await asyncio.to_thread(disk.remount, "ro")
    with pytest.raises(WalUnavailableError, match=f"{folder}: Read-only file system"):
        await asyncio.to_thread(Wal.open, folder, EAGER)
    assert await asyncio.to_thread(batches_of, folder) == [plain(kept)]
    await asyncio.to_thread(disk.remount, "rw")
    wal = await asyncio.to_thread(Wal.open, folder, EAGER)
    await append(wal, kept)
    await wal.close()


async def test_an_archive_on_a_disk_that_becomes_read_only_defers_and_loses_nothing(
    disk: Disk,
) -> None:
    """As a process: 503 and never 400, reads go on, and everything is there after the repair."""
    at = time.time_ns() // 1_000_000
    config = "wal: {reserve: 0B, retry: 10ms}\n"
    files, flags = {"archive.yml": config}, ("--config", str(disk.image.parent / "archive.yml"))
    data = disk.folder / "data"
    async with archiving(disk.image.parent, *flags, files=files, data=data) as archive:
        for number in range(20):
            message = rw.request_v1(*rw.many(5, {}, at + number))
            assert (await archive.write(message)).status == 204
        await asyncio.to_thread(disk.break_it)
        for number in range(20, 25):
            message = rw.request_v1(*rw.many(5, {}, at + number))
            assert (await archive.write(message)).status == 503
        assert (await archive.request("/-/ready")).status == 503
        assert (await archive.scrape()).value("archive_samples_total") == 100
        await archive.child.kill()
        await asyncio.to_thread(disk.unmount)
        await asyncio.to_thread(disk.repair)
        await asyncio.to_thread(disk.mount)
        await archive.start()
        await archive.ready()
        for number in range(20, 25):  # the sender repeats them
            message = rw.request_v1(*rw.many(5, {}, at + number))
            assert (await archive.write(message)).status == 204
        found = await asyncio.to_thread(records_of, data / "wal")
        times = {int(time) for record in found for time in record.batch.times}
        assert times == {at + number for number in range(25)}
