"""Appending: durable when it returns, in groups, and refused with a reason when the disk fails.

Here a thread syncs, as on kernels without asynchronous sync; test_kernel_sync has the other way.
"""

import asyncio
import logging
import os
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.archive.wal_batches import (
    EAGER,
    append,
    batch,
    batches_of,
    definition,
    failing,
    labels,
    plain,
    records_of,
)
from support.waiting import DEADLINE_SECONDS

from archive.batch import Batch
from archive.settings.wal import WalSettings
from archive.wal import fsync, kernel_sync
from archive.wal.errors import WalUnavailableError
from archive.wal.record_definitions import Definitions
from archive.wal.segments import log
from archive.wal.segments.segment import segment_paths
from archive.wal.write_ahead_log import Wal


@pytest.fixture(autouse=True)
def a_thread_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_sync, "linux_aio", None)


@pytest.fixture
async def wal(tmp_path: Path) -> AsyncIterator[Wal]:
    opened = await asyncio.to_thread(Wal.open, tmp_path, EAGER)
    yield opened
    await opened.close()


async def found(folder: Path) -> list[object]:
    return list(await asyncio.to_thread(batches_of, folder))


class Gate:
    """Blocks every sync until it is opened; `is_reached` waits for the first."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._reached = threading.Event()
        self.opened = threading.Event()
        self.syncs = 0
        for call in ("sync_data", "write_through"):
            monkeypatch.setattr(fsync, call, self._held_up(getattr(fsync, call)))

    async def is_reached(self) -> None:
        assert await asyncio.to_thread(self._reached.wait, DEADLINE_SECONDS)

    def _held_up(self, sync: Callable[..., Any]) -> Callable[..., Any]:
        def wait(*arguments: Any) -> Any:
            self.syncs += 1
            self._reached.set()
            self.opened.wait(DEADLINE_SECONDS)
            return sync(*arguments)

        return wait


async def test_what_was_appended_is_there_when_append_returns(wal: Wal, tmp_path: Path) -> None:
    sent = [batch([0, 1]), batch([1, 2], starts=True)]
    for number, each in enumerate(sent):
        await append(wal, each)
        assert await found(tmp_path) == [plain(kept) for kept in sent[: number + 1]]


async def test_append_returns_only_after_the_sync(
    wal: Wal, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch)
    appending = asyncio.create_task(append(wal, batch([0])))
    await gate.is_reached()
    assert not appending.done()
    gate.opened.set()
    await appending


async def test_what_arrives_during_a_sync_is_one_group(
    wal: Wal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch)
    sent = [batch([number], sender=f"s{number}") for number in range(20)]
    appending = [asyncio.create_task(append(wal, sent[0]))]
    await gate.is_reached()
    appending += [asyncio.create_task(append(wal, each)) for each in sent[1:]]
    await asyncio.sleep(0)
    gate.opened.set()
    await asyncio.gather(*appending)
    assert gate.syncs == 2
    assert await found(tmp_path) == [plain(each) for each in sent]


async def test_a_group_does_not_grow_without_end(
    wal: Wal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("archive.wal.group_commit.MAX_GROUP_SAMPLES", 4)
    gate = Gate(monkeypatch)
    gate.opened.set()
    sent = [batch([0, 1, 2]) for _ in range(6)]
    await asyncio.gather(*(append(wal, each) for each in sent))
    assert gate.syncs == 3
    assert len(await found(tmp_path)) == 6


async def test_an_append_cancelled_before_its_group_is_not_written(
    wal: Wal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch)
    first, second, third = (batch([0], sender=name) for name in ("first", "second", "third"))
    appending = [asyncio.create_task(append(wal, first))]
    await gate.is_reached()
    appending += [asyncio.create_task(append(wal, each)) for each in (second, third)]
    await asyncio.sleep(0)
    appending[1].cancel()
    await asyncio.sleep(0)
    gate.opened.set()
    await asyncio.gather(*appending, return_exceptions=True)
    assert appending[1].cancelled()
    assert await found(tmp_path) == [plain(first), plain(third)]


async def test_an_append_cancelled_half_way_harms_no_other(
    wal: Wal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its series were defined by it, and are used by those that come after it."""
    gate = Gate(monkeypatch)
    cancelled = asyncio.create_task(append(wal, batch([0, 1])))
    same_group = asyncio.create_task(append(wal, batch([1, 0])))
    await gate.is_reached()
    cancelled.cancel()
    later = asyncio.create_task(append(wal, batch([1, 2])))
    await asyncio.sleep(0)
    gate.opened.set()
    await asyncio.gather(same_group, later)
    assert gate.syncs == 2
    assert cancelled.cancelled()
    records = await asyncio.to_thread(records_of, tmp_path)
    assert [each.id for record in records for each in record.definitions] == [0, 1, 2]
    kept = [plain(record.batch) for record in records[1:]]
    assert kept == [plain(batch([1, 0])), plain(batch([1, 2]))]


async def test_series_that_the_table_numbered_need_no_definition(wal: Wal, tmp_path: Path) -> None:
    """Also those of a request that never came to be appended."""
    numbers = [wal.series.identify(labels(number)) for number in range(3)]
    await wal.append((), batch(numbers[2:]))
    (record,) = await asyncio.to_thread(records_of, tmp_path)
    assert record.definitions == tuple(definition(number) for number in range(3))


async def test_definitions_of_a_failed_group_are_written_by_the_next(
    wal: Wal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(fsync, "sync_data", failing(5, "Input/output error"))
        with pytest.raises(WalUnavailableError, match="Input/output error"):
            await append(wal, batch([0, 1]))
    kept = batch([1, 2])
    await until_kept(wal, kept)
    records = await asyncio.to_thread(records_of, tmp_path)
    assert records[-1].definitions == tuple(definition(number) for number in range(3))
    assert plain(records[-1].batch) == plain(kept)


async def until_kept(wal: Wal, each: Batch) -> None:
    """As a sender does: the same again, until it is taken."""
    while True:
        try:
            return await append(wal, each)
        except WalUnavailableError:
            await asyncio.sleep(0.002)


@pytest.mark.parametrize("call", ["sync_data", "write_at", "write_through"])
async def test_after_a_failed_write_nothing_goes_to_the_same_segment(
    wal: Wal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    """The kernel may have dropped what it could not write, and would call it synced next time."""
    first, refused, third = (batch([0], sender=name) for name in ("first", "refused", "third"))
    await append(wal, first)
    if call != "write_through":  # as on a system that has no call for both
        monkeypatch.delattr(os, "RWF_DSYNC")
    with monkeypatch.context() as patched:
        patched.setattr(fsync, call, failing(28, "No space left on device"))
        with pytest.raises(WalUnavailableError, match="No space left on device"):
            await append(wal, refused)
    await until_kept(wal, third)
    assert await found(tmp_path) == [plain(first), plain(third)]
    assert len(await asyncio.to_thread(segment_paths, tmp_path)) == 2


async def test_a_disk_that_fails_is_not_tried_for_every_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    wal = await asyncio.to_thread(Wal.open, tmp_path, WalSettings(reserve=0, retry=3_600.0))
    tried = 0

    def fail(_: Path) -> None:
        nonlocal tried
        tried += 1
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(fsync, "create_file", fail)
    for _ in range(5):
        with pytest.raises(WalUnavailableError, match="Read-only file system"):
            await append(wal, batch([0]))
    assert tried == 1
    assert "Read-only file system" in wal.unavailable
    assert caplog.text.count("write-ahead log is unavailable") == 1
    await wal.close()


async def test_the_disk_is_reported_once_when_it_fails_and_once_when_it_works(
    wal: Wal, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    with monkeypatch.context() as patched:
        patched.setattr(fsync, "create_file", failing(28, "No space left on device"))
        for _ in range(3):
            with pytest.raises(WalUnavailableError):
                await append(wal, batch([0]))
            await asyncio.sleep(2 * EAGER.retry)
    await until_kept(wal, batch([0]))
    assert wal.unavailable == ""
    assert caplog.text.count("write-ahead log is unavailable") == 1
    assert caplog.text.count("write-ahead log is available again") == 1


async def test_below_the_reserve_nothing_is_taken_and_nothing_is_written(tmp_path: Path) -> None:
    wal = await asyncio.to_thread(Wal.open, tmp_path, WalSettings(reserve=2**60))
    with pytest.raises(WalUnavailableError, match=r"less than 1048576TiB free \(wal.reserve\)"):
        await append(wal, batch([0]))
    assert await asyncio.to_thread(segment_paths, tmp_path) == {}
    await wal.close()


@pytest.mark.parametrize(
    ("wrong", "reported"),
    [
        (batch([7]), "series 7 is not defined"),
        (
            Batch(
                "a", 1, np.zeros(2, np.uint32), np.zeros(1, np.int64), np.zeros(2, np.uint64), None
            ),
            r"columns of different lengths: \[1, 2\]",
        ),
    ],
)
async def test_a_batch_that_cannot_be_right_fails_alone(
    wal: Wal, tmp_path: Path, wrong: Batch, reported: str
) -> None:
    await append(wal, batch([0]))
    other = asyncio.create_task(append(wal, batch([0], sender="other")))
    with pytest.raises(ValueError, match=reported):
        await wal.append((), wrong)
    await other
    assert len(await found(tmp_path)) == 2


async def test_an_internal_error_reaches_the_caller_and_ends_nothing(
    wal: Wal, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("archive.wal.segments.log.encode_group", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            await append(wal, batch([0]))
    assert "cannot write a group of requests" in caplog.text
    assert wal.unavailable == ""
    await append(wal, batch([0]))


@pytest.mark.parametrize(("small", "by_the_loop"), [(4, True), (3, False)])
async def test_only_a_small_group_is_prepared_by_the_event_loop(
    wal: Wal, monkeypatch: pytest.MonkeyPatch, small: int, by_the_loop: bool
) -> None:
    """Its two samples, and its two new series, which may be many more."""
    monkeypatch.setattr("archive.wal.segments.log.SMALL_GROUP", small)
    encode, threads = log.encode_group, list[threading.Thread]()

    def watched(definitions: Definitions | None, batches: Sequence[Batch]) -> bytes:
        threads.append(threading.current_thread())
        return encode(definitions, batches)

    monkeypatch.setattr(log, "encode_group", watched)
    await append(wal, batch([0, 1]))
    assert [each is threading.current_thread() for each in threads] == [by_the_loop]


async def test_what_needs_no_more_of_the_disk_is_taken_below_the_reserve(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wal = await asyncio.to_thread(Wal.open, tmp_path, WalSettings(reserve=1, retry=0.01))
    await append(wal, batch([0]))
    free = SimpleNamespace(f_bavail=0, f_frsize=4096)
    monkeypatch.setattr(os, "statvfs", lambda _: free)
    await append(wal, batch([0]))  # space for it is there since the first
    with pytest.raises(WalUnavailableError, match=r"less than 1B free \(wal.reserve\)"):
        await append(wal, batch(list(range(100_000))))
    assert len(await found(tmp_path)) == 2
    await wal.close()


async def test_closing_waits_for_what_is_on_its_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wal = await asyncio.to_thread(Wal.open, tmp_path, EAGER)
    gate = Gate(monkeypatch)
    first = asyncio.create_task(append(wal, batch([0])))
    await gate.is_reached()
    second = asyncio.create_task(append(wal, batch([0])))
    await asyncio.sleep(0)
    closing = asyncio.create_task(wal.close())
    await asyncio.sleep(0)
    with pytest.raises(WalUnavailableError, match="is closed"):
        await append(wal, batch([0], sender="late"))
    gate.opened.set()
    await closing
    await asyncio.gather(first, second)
    assert len(await found(tmp_path)) == 2
