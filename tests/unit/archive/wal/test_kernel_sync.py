"""Groups that the kernel syncs: as durable as with a thread, and with a thread as the fallback."""

import asyncio
import errno
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import uvloop
from support.archive.wal_batches import EAGER, append, batch, batches_of, plain
from support.waiting import DEADLINE_SECONDS

from archive.wal import fsync, kernel_sync
from archive.wal.errors import WalUnavailableError
from archive.wal.kernel_sync import Done, KernelSync, SlowTimer, linux_aio
from archive.wal.segments.segment import segment_paths
from archive.wal.write_ahead_log import Wal

pytestmark = pytest.mark.skipif(linux_aio is None, reason="no kernel sync on this system")


@pytest.fixture
async def wal(tmp_path: Path) -> AsyncIterator[Wal]:
    """With a first record: the space for what follows is there."""
    opened = await asyncio.to_thread(Wal.open, tmp_path, EAGER)
    await append(opened, batch([0], sender="first"))
    yield opened
    await opened.close()


class Held:
    """Syncs begin, and are done when `finish` is called; counts them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.started: asyncio.Queue[Done] = asyncio.Queue()
        monkeypatch.setattr(KernelSync, "start", lambda _, __, done: self.started.put_nowait(done))

    async def finish(self, error: OSError | None = None) -> None:
        async with asyncio.timeout(DEADLINE_SECONDS):
            (await self.started.get())(error)


@pytest.fixture
def no_thread(wal: Wal, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sync in a thread fails the test."""

    def unexpected(*_: object) -> None:
        raise AssertionError("a thread synced")

    monkeypatch.setattr(fsync, "sync_data", unexpected)
    monkeypatch.setattr(fsync, "write_through", unexpected)


async def senders(folder: Path) -> list[str]:
    return [found[0] for found in await asyncio.to_thread(batches_of, folder)]


@pytest.mark.usefixtures("no_thread")
async def test_what_needs_no_more_space_is_synced_by_the_kernel(wal: Wal, tmp_path: Path) -> None:
    sent = [batch([number % 3], sender=f"s{number}") for number in range(50)]
    await append(wal, sent[0])
    await asyncio.gather(*(append(wal, each) for each in sent[1:]))
    found = await asyncio.to_thread(batches_of, tmp_path)
    assert found[1:] == [plain(each) for each in sent]


@pytest.mark.usefixtures("no_thread")
async def test_append_returns_only_after_the_sync_and_what_arrives_meanwhile_is_one_group(
    wal: Wal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held(monkeypatch)
    appending = [asyncio.create_task(append(wal, batch([0], sender="a")))]
    async with asyncio.timeout(DEADLINE_SECONDS):
        done = await held.started.get()
    appending += [asyncio.create_task(append(wal, batch([0], sender=each))) for each in "bcd"]
    for _ in range(5):
        await asyncio.sleep(0)
    assert not any(each.done() for each in appending)
    done(None)
    await held.finish()
    await asyncio.gather(*appending)
    assert held.started.empty()
    assert await senders(tmp_path) == ["first", "a", "b", "c", "d"]


async def test_after_a_failed_sync_nothing_goes_to_the_same_segment(
    wal: Wal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        held = Held(patched)
        refused = asyncio.create_task(append(wal, batch([0, 1], sender="refused")))
        await held.finish(OSError(errno.EIO, "Input/output error"))
        with pytest.raises(WalUnavailableError, match="Input/output error"):
            await refused
    assert "Input/output error" in wal.unavailable
    await asyncio.sleep(2 * EAGER.retry)
    await append(wal, batch([1], sender="next"))
    assert await senders(tmp_path) == ["first", "next"]
    assert len(await asyncio.to_thread(segment_paths, tmp_path)) == 2
    assert wal.unavailable == ""


async def test_a_write_that_fails_is_refused_and_ends_the_segment(
    wal: Wal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(fsync, "write_at", full)
        with pytest.raises(WalUnavailableError, match="No space left on device"):
            await append(wal, batch([0], sender="refused"))
    await asyncio.sleep(2 * EAGER.retry)
    await append(wal, batch([0], sender="next"))
    assert await senders(tmp_path) == ["first", "next"]


class FakeContext:
    """The library's context, with a kernel whose result the test sets."""

    def __init__(self, submit: Callable[[Callable[[int], None]], int]) -> None:
        self.fileno, self._end = os.pipe()  # never written to
        self._submit = submit

    def submit(self, operation: SimpleNamespace) -> int:
        return self._submit(operation.callback)


def fake_kernel(
    monkeypatch: pytest.MonkeyPatch, submit: Callable[[Callable[[int], None]], int]
) -> None:
    def fdsync(_: int) -> SimpleNamespace:
        operation = SimpleNamespace(callback=None)
        operation.set_callback = lambda callback: setattr(operation, "callback", callback)
        return operation

    fake = SimpleNamespace(
        Context=lambda max_requests: FakeContext(submit), Operation=SimpleNamespace(fdsync=fdsync)
    )
    monkeypatch.setattr(kernel_sync, "linux_aio", fake)


async def test_an_error_of_the_kernel_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The library returns the error number without its sign; a 204 would be wrong."""
    loop = asyncio.get_running_loop()

    def fail(callback: Callable[[int], None]) -> int:
        loop.call_soon(callback, 2**64 - errno.EIO)
        return 1

    fake_kernel(monkeypatch, fail)
    opened = await asyncio.to_thread(Wal.open, tmp_path, EAGER)
    await append(opened, batch([0], sender="first"))
    with pytest.raises(WalUnavailableError, match="Input/output error"):
        await append(opened, batch([0], sender="refused"))
    await opened.close()
    assert await senders(tmp_path) == ["first"]


BEYOND_THE_LIMIT = """
import resource, sys, tempfile
from caio import linux_aio
results = []
with tempfile.TemporaryFile() as file:
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    context = linux_aio.Context(max_requests=1)
    operation = linux_aio.Operation.write(b"x", file.fileno(), 0)
    operation.set_callback(results.append)
    assert context.submit(operation) == 1
    context.process_events(1, 1, 10)
sys.stdout.write(str(results[0]))
"""


def test_the_library_reports_errors_as_expected() -> None:
    """By the real kernel, of a write that is too large: a sync is hard to make fail."""
    command = [sys.executable, "-c", BEYOND_THE_LIMIT]
    reported = subprocess.run(command, capture_output=True, check=True, timeout=DEADLINE_SECONDS)
    error = kernel_sync._error(int(reported.stdout))
    assert error is not None
    assert error.errno == errno.EFBIG
    assert kernel_sync._error(0) is None


@pytest.mark.parametrize("error", [OverflowError("busy"), ValueError("bad"), SystemError(12)])
async def test_a_kernel_that_takes_no_sync_is_tried_once_and_a_thread_does_it(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: Exception,
) -> None:
    """Whatever kind of error the library makes of it."""
    caplog.set_level(logging.INFO)

    def refuse(_: object) -> int:
        raise error

    fake_kernel(monkeypatch, refuse)
    opened = await asyncio.to_thread(Wal.open, tmp_path, EAGER)
    for sender in "abc":
        await append(opened, batch([0], sender=sender))
    await opened.close()
    assert await senders(tmp_path) == ["a", "b", "c"]
    assert caplog.text.count("a thread syncs instead") == 1


@pytest.mark.parametrize("error", [PermissionError(errno.EPERM, "no"), SystemError(11)])
async def test_a_system_without_kernel_sync_is_logged(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: Exception,
) -> None:
    caplog.set_level(logging.INFO)

    def refuse(**_: object) -> None:
        raise error

    monkeypatch.setattr(linux_aio, "Context", refuse)
    opened = await asyncio.to_thread(Wal.open, tmp_path, EAGER)
    for sender in "ab":
        await append(opened, batch([0], sender=sender))
    await opened.close()
    assert await senders(tmp_path) == ["a", "b"]
    assert caplog.text.count("a thread syncs instead") == 1


async def test_an_internal_error_reaches_the_caller_and_ends_nothing(
    wal: Wal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(fsync, "write_at", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            await append(wal, batch([0], sender="failed"))
    await append(wal, batch([0], sender="next"))
    assert await senders(tmp_path) == ["first", "next"]


async def test_a_slow_disk_is_a_threads_until_it_is_tried_again(
    wal: Wal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    with monkeypatch.context() as patched:
        patched.setattr("archive.wal.group_commit.SLOW_SECONDS", 0.01)
        held, slow, is_slow = Held(patched), asyncio.Event(), wal._commit._is_slow
        patched.setattr(wal._commit, "_is_slow", lambda: (is_slow(), slow.set()))
        appending = asyncio.create_task(append(wal, batch([0], sender="slow")))
        async with asyncio.timeout(DEADLINE_SECONDS):
            await slow.wait()
        await held.finish()
        await appending
        await append(wal, batch([0], sender="thread"))
        assert held.started.empty()
    assert caplog.text.count("disk is slow") == 1
    wal._commit._slow_until = 1e-9  # as a minute later
    await append(wal, batch([0], sender="quick"))
    assert "disk is no longer slow" in caplog.text
    assert await senders(tmp_path) == ["first", "slow", "thread", "quick"]


async def test_a_write_that_waits_is_slow_too_and_one_slower_than_a_minute_is_not_quick(
    wal: Wal, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    monkeypatch.setattr("archive.wal.group_commit.SLOW_AGAIN_SECONDS", 0.01)
    write_at = fsync.write_at

    def waiting(*arguments: Any) -> None:
        end = time.monotonic() + 0.1
        while time.monotonic() < end:
            pass
        write_at(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr("archive.wal.group_commit.SLOW_SECONDS", 0.05)
        patched.setattr(fsync, "write_at", waiting)
        held = Held(patched)
        appending = asyncio.create_task(append(wal, batch([0], sender="slow")))
        done = await held.started.get()
        await asyncio.sleep(0.02)  # as long as a minute is here
        done(None)
        await appending
    assert "disk is slow" in caplog.text
    assert "disk is no longer slow" not in caplog.text
    assert wal._commit._slow_until > 0


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_a_busy_loop_does_not_take_a_finished_sync_for_slow(
    new_loop: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    late: list[str] = []

    async def watched(name: str, *, over: bool) -> None:
        loop, reported_error, (reading, writing) = (
            asyncio.get_running_loop(),
            asyncio.Event(),
            os.pipe(),
        )

        def report_late() -> None:
            late.append(name)
            reported_error.set()

        def end() -> None:
            timer.end()
            loop.remove_reader(reading)
            reported_error.set()

        timer = SlowTimer(0.01, report_late)
        loop.add_reader(reading, end)
        if over:
            os.write(writing, b"x")
        busy = time.monotonic() + 0.05
        while time.monotonic() < busy:
            pass
        async with asyncio.timeout(DEADLINE_SECONDS):
            await reported_error.wait()
        await asyncio.sleep(0.02)  # nothing may follow

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(watched("over", over=True))
        runner.run(watched("not over", over=False))
    assert late == ["not over"]


async def test_a_segment_is_sealed_after_the_sync_under_way(
    wal: Wal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else it would be cut off before what is acknowledged a moment later."""
    held = Held(monkeypatch)
    appending = asyncio.create_task(append(wal, batch([0], sender="last")))
    async with asyncio.timeout(DEADLINE_SECONDS):
        done = await held.started.get()
    began = threading.Event()

    def seal() -> object:
        began.set()
        return wal.seal()

    sealing = asyncio.create_task(asyncio.to_thread(seal))
    assert await asyncio.to_thread(began.wait, DEADLINE_SECONDS)
    assert not sealing.done()
    done(None)
    await appending
    assert await sealing is not None
    assert await senders(tmp_path) == ["first", "last"]


async def test_the_event_loop_does_not_wait_for_a_locked_log(wal: Wal, tmp_path: Path) -> None:
    wal._log._lock.acquire()
    appending = asyncio.create_task(append(wal, batch([0], sender="next")))
    for _ in range(5):
        await asyncio.sleep(0)  # it would hang here
    wal._log._lock.release()
    await appending
    assert await senders(tmp_path) == ["first", "next"]
