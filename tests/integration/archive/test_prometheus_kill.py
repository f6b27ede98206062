"""kill -9 in a loop while a real Prometheus writes: what it counts as sent is kept, exactly once."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Final

import pytest
from support.archive.process import ArchiveProcess, archiving
from support.archive.published import read_published
from support.nats.servers import long_run
from support.remote_write.prometheus_sender import Prometheus, differences, sending
from support.waiting import until

KILLS: Final = 300 if long_run() else 10
SERIES: Final = 300


@pytest.mark.timeout(1800 if long_run() else 300)
async def test_no_acknowledged_sample_is_lost_or_doubled_by_kills(tmp_path: Path) -> None:
    chance = random.Random(20_261_116)
    async with archiving(tmp_path) as archive, sending(tmp_path, archive.port, SERIES) as sender:
        for _ in range(KILLS):
            await _killed_while_busy(archive, sender, chance)
        await sender.has_sent_everything()
        dropped, failed = (
            await sender.sent("samples_dropped_total"),
            await sender.sent("samples_failed_total"),
        )
        sent = await sender.sent()
        expected = await sender.points()
        assert await archive.stop() == 0
    found = (await asyncio.to_thread(read_published, archive.data)).without_stale()
    last = _last_of_the_page(expected)
    assert differences(expected, found, last) == []
    assert (dropped, failed) == (0, 0)
    # The comparison was about something: kills met a sender that was busy all the time.
    assert sent > KILLS * 60
    assert sum(map(len, expected.values())) > KILLS * 60


async def _killed_while_busy(
    archive: ArchiveProcess, sender: Prometheus, chance: random.Random
) -> None:
    """Killed at any moment between two acknowledgements or in one, and started again."""
    before = await sender.sent()

    async def more() -> bool:
        return await sender.sent() > before

    await until(more, bool, "Prometheus sends nothing")
    await asyncio.sleep(chance.random() * 0.2)  # no event to wait for: any moment must do
    await archive.child.kill()
    await archive.start()
    await archive.ready()


def _last_of_the_page(points: dict[tuple[tuple[str, str], ...], list[tuple[int, int]]]) -> int:
    """Prometheus never stops to write about itself; the page is what has an end."""
    return max(
        time
        for labels, found in points.items()
        if ("__name__", "test_value") in labels
        for time, _ in found
    )
