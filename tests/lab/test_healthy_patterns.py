"""Healthy work of unusual kinds raises no page and no ticket."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Final

import pytest
from support.alert_pipeline.config import Tempo
from support.lab.failure import Lab
from support.lab.laboratory import FASTEST, laboratory
from support.lab.odd_patterns import ODD
from support.lab.plain_patterns import PLAIN

from alerts.thresholds import YOUNG_ASSET

REAL_SECONDS: Final = 1800.0
REAL: Final = Tempo(speed=1)
# A poll covers 20 seconds, as in production. At a higher speed, polls miss what is short.
BRISK: Final = Tempo(speed=10)
SHORT_SECONDS: Final = 20.0  # a window of the exporter; waits of the rules are 8 seconds
BRISK_SECONDS: Final = 390.0  # more than an hour as the rules see it, the longest wait of a ticket


async def all_patterns(lab: Lab) -> None:
    for pattern in (*ODD, *PLAIN):
        await pattern(lab)


async def stays_quiet(folder: Path, tempo: Tempo, seconds: float) -> None:
    """`seconds`, after the time in which everything is young."""
    async with laboratory(folder, all_patterns, tempo) as (_, recorder):
        await asyncio.sleep(tempo.terms.seconds(YOUNG_ASSET) + seconds)
        noise = [f"{one.name} {one.stream}: {one.description}" for one in recorder.above_info()]
    assert not noise, "\n".join(noise)


async def test_healthy_patterns_are_quiet_for_the_shortest_waits(tmp_path: Path) -> None:
    await stays_quiet(tmp_path, FASTEST, SHORT_SECONDS)


@pytest.mark.long
@pytest.mark.timeout(BRISK_SECONDS + 240)
async def test_healthy_patterns_are_quiet_at_ten_times_the_speed(tmp_path: Path) -> None:
    await stays_quiet(tmp_path, BRISK, BRISK_SECONDS)


@pytest.mark.long
@pytest.mark.timeout(REAL_SECONDS + 900)
async def test_healthy_patterns_are_quiet_for_half_an_hour(tmp_path: Path) -> None:
    await stays_quiet(tmp_path, REAL, REAL_SECONDS)
