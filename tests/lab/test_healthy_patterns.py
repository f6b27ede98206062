"""Healthy work of unusual kinds raises no page and no ticket."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Final

import pytest
from support.alert_pipeline.config import Tempo
from support.lab.failure import Lab
from support.lab.laboratory import FAST, laboratory
from support.lab.odd_patterns import ODD
from support.lab.plain_patterns import PLAIN

from alerts.thresholds import YOUNG_ASSET

FAST_SECONDS: Final = 330.0  # longer than the exporter's longest window
REAL_SECONDS: Final = 1800.0
REAL: Final = Tempo(speed=1, numbers=())


async def all_patterns(lab: Lab) -> None:
    for pattern in (*ODD, *PLAIN):
        await pattern(lab)


async def stays_quiet(folder: Path, tempo: Tempo, seconds: float) -> None:
    """`seconds`, after the time in which everything is young."""
    async with laboratory(folder, all_patterns, tempo) as (_, recorder):
        await asyncio.sleep(tempo.terms.seconds(YOUNG_ASSET) + seconds)
        noise = [f"{one.name} {one.stream}: {one.description}" for one in recorder.above_info()]
    assert not noise, "\n".join(noise)


@pytest.mark.long
@pytest.mark.timeout(FAST_SECONDS + 240)
async def test_healthy_patterns_are_quiet_at_sixty_times_the_speed(tmp_path: Path) -> None:
    await stays_quiet(tmp_path, FAST, FAST_SECONDS)


@pytest.mark.long
@pytest.mark.timeout(REAL_SECONDS + 900)
async def test_healthy_patterns_are_quiet_for_half_an_hour(tmp_path: Path) -> None:
    await stays_quiet(tmp_path, REAL, REAL_SECONDS)
