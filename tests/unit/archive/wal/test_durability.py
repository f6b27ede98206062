"""The order of writes, syncs and names: what a loss of power may meet, and no test can cause."""

import asyncio
import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.archive.wal_batches import EAGER, append, batch, definition

from archive.wal import fsync, kernel_sync
from archive.wal.kernel_sync import KernelSync
from archive.wal.series_checkpoint import NAMES
from archive.wal.write_ahead_log import Wal


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The disk operations in order, with file names."""
    reported: list[str] = []

    def watch(place: Any, name: str, word: str, named: Callable[..., str]) -> None:
        real = getattr(place, name)

        def watched(*arguments: Any, **more: Any) -> Any:
            reported.append(f"{word} {named(*arguments)}")
            return real(*arguments, **more)

        monkeypatch.setattr(place, name, watched)

    names: dict[int, str] = {}

    def opened(descriptor: int, *_: Any) -> str:
        if asyncio._get_running_loop() is None:  # the event loop calls it later, and must not block
            names[descriptor] = Path(f"/proc/self/fd/{descriptor}").readlink().name
        return names[descriptor]

    def written(descriptor: int, _: Any, offset: int, flags: int = 0) -> str:
        through = "and sync " if flags == os.RWF_DSYNC else ""
        return f"{through}{opened(descriptor)}"

    watch(os, "pwritev", "write", written)
    watch(os, "fdatasync", "sync", opened)
    watch(os, "fsync", "sync", opened)
    watch(KernelSync, "start", "sync", lambda _, descriptor, *__: opened(descriptor))
    watch(Path, "replace", "rename", lambda old, new: f"{old.name} to {new.name}")
    watch(Path, "unlink", "remove", lambda path: path.name)
    return reported


async def test_append_returns_after_the_name_and_the_bytes_are_durable(
    tmp_path: Path, steps: list[str]
) -> None:
    wal = await asyncio.to_thread(Wal.open, tmp_path, EAGER)
    steps.clear()
    await append(wal, batch([0]))
    segment = "0000000001.wal"
    assert steps == [
        f"write {segment}", f"sync {tmp_path.name}", f"write {segment}", f"sync {segment}",
    ]  # fmt: skip
    steps.clear()
    await append(wal, batch([0]))
    assert steps == [f"write {segment}", f"sync {segment}"]
    await wal.close()


async def test_a_thread_writes_and_syncs_in_one_call(
    tmp_path: Path, steps: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel_sync, "linux_aio", None)
    wal = await asyncio.to_thread(Wal.open, tmp_path, EAGER)
    await append(wal, batch([0]))
    steps.clear()
    await append(wal, batch([0]))
    assert steps == ["write and sync 0000000001.wal"]
    await wal.close()


async def test_where_no_call_does_both_the_sync_is_another(
    tmp_path: Path, steps: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel_sync, "linux_aio", None)
    wal = await asyncio.to_thread(Wal.open, tmp_path, EAGER)
    await append(wal, batch([0]))
    segment, pwritev = "0000000001.wal", os.pwritev

    def unable(descriptor: int, parts: list[bytes], offset: int, flags: int = 0) -> int:
        if flags:
            raise OSError(errno.EOPNOTSUPP, "Operation not supported")
        return pwritev(descriptor, parts, offset)

    monkeypatch.setattr(os, "pwritev", unable)
    steps.clear()
    await append(wal, batch([0]))
    assert steps == [f"write {segment}", f"sync {segment}"]
    await wal.close()


def test_a_part_that_was_taken_is_not_all(
    tmp_path: Path, steps: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A short write is continued and synced again."""
    path, pwritev = tmp_path / "log", os.pwritev

    def short(descriptor: int, parts: list[bytes], offset: int, flags: int = 0) -> int:
        return pwritev(descriptor, parts[:1] if flags else parts, offset, flags)

    monkeypatch.setattr(os, "pwritev", short)
    descriptor = fsync.create_file(path)
    assert fsync.write_through(descriptor, [b"one ", b"two"], 0)
    assert path.read_bytes() == b"one two"
    assert steps == ["write and sync log", "write log", "sync log"]
    os.close(descriptor)


async def test_a_segment_goes_when_both_copies_of_its_series_are_safe(
    tmp_path: Path, steps: list[str]
) -> None:
    wal = await asyncio.to_thread(Wal.open, tmp_path, EAGER)
    await append(wal, batch([0]))
    await asyncio.to_thread(wal.seal)
    await wal.append([definition(1)], batch([1]))
    await asyncio.to_thread(wal._log._seal)  # as the log does it, without saving
    steps.clear()
    await asyncio.to_thread(wal.remove, wal.sealed_segments())
    saved = [f"{word} {name}" for name in NAMES for word in ("write", "sync")]
    removed = ["remove 0000000001.wal", "remove 0000000002.wal"]
    assert steps == [*saved, *removed, f"sync {tmp_path.name}"]
    await wal.close()


def test_a_file_gets_its_name_when_all_of_it_is_safe(tmp_path: Path, steps: list[str]) -> None:
    path = tmp_path / "table"
    fsync.replace_file(path, [b"one ", b"two"])
    assert steps == [
        "remove table.new", "write table.new", "write table.new", "sync table.new",
        "rename table.new to table", f"sync {tmp_path.name}",
    ]  # fmt: skip
    assert path.read_bytes() == b"one two"


def test_a_file_that_could_not_be_written_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "table"
    path.write_bytes(b"old")

    def fail(_: int) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", fail)
        with pytest.raises(OSError, match="Input/output error"):
            fsync.replace_file(path, [b"new"])
    assert path.read_bytes() == b"old"
    fsync.replace_file(path, [b"newer"])
    assert path.read_bytes() == b"newer"
