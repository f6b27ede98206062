"""A worker that is cancelled has ended, also where a message arrives in the same turn."""

from __future__ import annotations

import asyncio

from streamgauge.cancellation import cancel


async def test_a_cancellation_that_meets_a_result_is_repeated() -> None:
    messages: asyncio.Queue[int] = asyncio.Queue()

    async def work() -> None:
        while True:
            try:
                await asyncio.wait_for(messages.get(), 10)
            except TimeoutError:
                continue

    task = asyncio.create_task(work())
    await asyncio.sleep(0)
    await asyncio.sleep(0)  # it waits for a message
    messages.put_nowait(1)
    async with asyncio.timeout(5):
        await cancel([task])
    assert task.cancelled()


async def test_a_task_that_does_not_end_is_left_after_so_many_times() -> None:
    ended = asyncio.Event()

    async def work() -> None:
        while not ended.is_set():
            try:
                await ended.wait()
            except asyncio.CancelledError:
                continue

    task = asyncio.create_task(work())
    await asyncio.sleep(0)
    assert await cancel([task], pause=0.01, times=2) == {task}
    ended.set()
    await task
