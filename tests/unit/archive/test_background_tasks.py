"""What a running archive does when its background work fails: it says so once and goes on."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from archive.http.auth import Access, BearerTokens
from archive.serve import Archive, _log_task_end, _repeat
from archive.settings.options import read_options
from streamgauge.serving.web.live_config import LiveWebConfig


def archive_in(folder: Path) -> Archive:
    options = read_options(["--data", str(folder)], {})
    return Archive(options, options.load(), Access(LiveWebConfig(), BearerTokens({})))


def test_a_publication_that_fails_is_reported_once_and_its_recovery_too(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    archive = archive_in(tmp_path)

    def fail(now: int) -> None:
        assert now > 1_700_000_000_000
        raise OSError("the bucket is gone")

    with caplog.at_level("INFO"):
        assert [archive._published(work) for work in (fail, fail, int, int, fail)] == [
            False, False, True, True, False,
        ]  # fmt: skip
    failed = "publishing failed, the write-ahead log keeps all samples"
    assert [record.message for record in caplog.records] == [failed, "publishing works", failed]


async def test_work_is_repeated_until_it_is_ended(caplog: pytest.LogCaptureFixture) -> None:
    repeats = asyncio.Event()
    count = 0

    async def work() -> None:
        nonlocal count
        count += 1
        if count == 3:
            repeats.set()

    task = asyncio.create_task(_repeat(0.0, work), name="counting")
    task.add_done_callback(_log_task_end)
    await repeats.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert caplog.records == []


async def test_work_that_ends_by_a_fault_is_reported_and_makes_the_process_unhealthy(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    archive = await asyncio.to_thread(archive_in, tmp_path)
    assert archive._dead_task() == ""

    async def fail() -> None:
        raise ValueError("a bug")

    task = asyncio.create_task(_repeat(0.0, fail), name="forgetting")
    task.add_done_callback(_log_task_end)
    archive._tasks.append(task)
    await asyncio.wait([task])
    await asyncio.sleep(0)  # its callback runs in the next iteration
    assert archive._dead_task() == "forgetting ended"
    assert [record.message for record in caplog.records] == ["background task ended"]
