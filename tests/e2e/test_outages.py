"""Outages of a whole system, and of its exporters: what pages, what stays open, what is found after."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import pytest
from support.alert_pipeline.config import Tempo
from support.alert_pipeline.pipeline import Pipeline, pipeline
from support.faults.fault import Expected, assert_notified_once, ticket
from support.faults.outage import (
    BESIDE,
    EXPIRED,
    EXPIRED_UNREAD,
    LOST,
    OPEN,
    UNMONITORED,
    UNREACHABLE,
    Outage,
)
from support.nats.servers import NatsServer, default_options

MINUTE: Final = 60.0
FAST: Final = Tempo(speed=15)
REAL: Final = Tempo(speed=1, numbers=())


async def until_open(watched: Pipeline, alerts: Iterable[Expected]) -> None:
    for alert in alerts:
        await watched.inbox.until_firing(alert)


async def total_outage(folder: Path, tempo: Tempo, minutes: float) -> None:
    async with NatsServer(options=default_options()) as server:
        outage = Outage(server)
        await outage.prepare()
        async with pipeline(folder, [server.url], tempo) as watched:
            inbox = watched.inbox
            await until_open(watched, OPEN)
            began = inbox.now
            await outage.happen(watched, minutes * MINUTE / tempo.speed)
            ended = inbox.now
            paged = await inbox.until_firing(UNREACHABLE)
            assert paged.at < ended
            await inbox.until_resolved(UNREACHABLE)
            await until_open(watched, LOST)
            # What was open before is open still: nothing was fixed.
            assert not any(inbox.is_resolved(alert) for alert in OPEN)
            texts = " ".join((await inbox.until_firing(EXPIRED_UNREAD)).texts)
            assert f"{EXPIRED} messages" in texts
            await outage.remedy()
            for alert in OPEN:
                await inbox.until_resolved(alert)
            assert_notified_once(inbox, (*OPEN, UNREACHABLE, *LOST), BESIDE)
        for post in inbox.posts:
            print(f"{(post.at - began) * tempo.speed / MINUTE:6.1f} min {post}")


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("minutes", [5, 20, 60])
async def test_pages_stay_open_in_a_total_outage_and_its_loss_pages(
    tmp_path: Path, minutes: int
) -> None:
    await total_outage(tmp_path, FAST, minutes)


@pytest.mark.long
@pytest.mark.timeout(90 * MINUTE)
async def test_an_outage_of_twenty_minutes_at_real_tempo(tmp_path: Path) -> None:
    await total_outage(tmp_path, REAL, 20)


@pytest.mark.long
@pytest.mark.timeout(900)
async def test_a_pair_of_exporters_loses_one_and_then_both(tmp_path: Path) -> None:
    async with NatsServer(options=default_options()) as server:
        outage = Outage(server)
        await outage.prepare()
        async with pipeline(tmp_path, [server.url], FAST, exporters=2) as watched:
            inbox, (one, two) = watched.inbox, watched.exporters
            await until_open(watched, OPEN)
            await one.stop()
            await one.start()
            await watched.until_fresh(one)
            await two.stop()
            down = ticket("ExporterDown", instance=two.instance)
            await inbox.until_firing(down)
            # The last one ends too.
            await one.stop()
            await inbox.until_firing(UNMONITORED)
            await asyncio.gather(one.start(), two.start())
            for alert in (UNMONITORED, down):
                await inbox.until_resolved(alert)
            assert not any(inbox.is_resolved(alert) for alert in OPEN)
            await outage.remedy()
            for alert in OPEN:
                await inbox.until_resolved(alert)
            assert_notified_once(inbox, (*OPEN, UNMONITORED, down), BESIDE)
