"""Deploys, leader moves and a server's restart under a healthy workload send no notification."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

import pytest
from support.alert_pipeline.config import Tempo
from support.alert_pipeline.pipeline import Pipeline, pipeline
from support.faults.healthy_workload import PULLED, SUBJECTS, Day, healthy_day
from support.nats.servers import APP, SYS, NatsCluster, default_options

DAY_SECONDS: Final = 600.0
# Waits and windows a third of the real ones: half an hour as the rules see it.
BRISK: Final = Tempo(speed=3)


async def move_leaders(day: Day) -> None:
    cluster = day.cluster
    for stream in ("ORDERS", "JOBS", "NOTICES", "KV_settings"):
        await cluster.step_down_stream(APP, stream)
    for stream, consumer in (*PULLED, ("NOTICES", "push")):
        await cluster.step_down_consumer(APP, stream, consumer)
    await cluster.step_down_meta(SYS)


async def restart_a_server(day: Day) -> None:
    """The one that leads most of the work; the others must take over."""
    await day.cluster.restart(await day.cluster.stream_leader(APP, "ORDERS"))
    await day.cluster.settle()


PROGRAMME: Final[tuple[tuple[float, Callable[[Day], Awaitable[None]]], ...]] = (
    (0.10, Day.deploy),
    (0.20, move_leaders),
    (0.30, Day.deploy),
    (0.45, restart_a_server),
    (0.60, Day.deploy),
    (0.75, move_leaders),
    (0.85, Day.deploy),
    (1.00, Day.deploy),
)


async def live_through(day: Day) -> None:
    loop = asyncio.get_running_loop()
    morning = loop.time()
    for share, event in PROGRAMME:
        await asyncio.sleep(max(0.0, morning + share * DAY_SECONDS - loop.time()))
        await event(day)


async def firing_alerts(watched: Pipeline) -> float | None:
    return await watched.value('count(ALERTS{alertstate="firing",severity!="none"})')


@pytest.mark.long
@pytest.mark.timeout(DAY_SECONDS + 300)
async def test_deploys_leader_moves_and_a_restart_send_no_notification(tmp_path: Path) -> None:
    async with (
        NatsCluster(3, options=default_options()) as cluster,
        healthy_day(cluster) as day,
        pipeline(tmp_path, cluster.urls, BRISK) as watched,
    ):
        await live_through(day)
        assert watched.inbox.watchdogs >= 2, "alerts do not get through any more"
        assert await firing_alerts(watched) is None
        assert [str(post) for post in watched.inbox.posts] == []
    # And it was a day of work, not of silence.
    assert min(day.published[subject] for subject in SUBJECTS) > DAY_SECONDS
    assert min(day.done[consumer] for _, consumer in PULLED) > DAY_SECONDS
    assert day.done["push"] > DAY_SECONDS
