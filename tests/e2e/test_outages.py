"""Outages of a whole system, and of its exporters: what pages, what stays open, what is found after."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from support.alert_pipeline.config import SYSTEM, Tempo
from support.alert_pipeline.pipeline import Pipeline, pipeline
from support.alert_pipeline.webhook import Inbox
from support.faults.cluster import placed
from support.faults.cluster_alerts import QUORUM_PAGES, SOLO_PAGES, down
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
from support.nats.servers import NatsCluster, NatsServer, default_options

MINUTE: Final = 60.0
POLL_TIMEOUT_SECONDS: Final = 10.0  # a busy machine must not look like a request that fails
FAST: Final = Tempo(speed=15)
REAL: Final = Tempo(speed=1)
# What is open before the outage need not take its ten minutes.
REAL_SOON_OPEN: Final = Tempo(speed=1, numbers=("ack_pending_full=2m", "stream_full=2m"))


async def until_open(watched: Pipeline, alerts: Iterable[Expected]) -> None:
    for alert in alerts:
        await watched.inbox.until_firing(alert)


def muted_tickets(watched: Pipeline) -> list[Expected]:
    """True tickets that the page mutes. One may come while the page ends, because Alertmanager waits
    for seconds here and not for two minutes."""
    return [
        *BESIDE,
        *(ticket("ExporterDown", instance=each.instance) for each in watched.exporters),
        *(
            ticket("ExporterStale", system=SYSTEM, instance=each.instance)
            for each in watched.exporters
        ),
    ]


def print_posts(what: str, inbox: Inbox, began: float, tempo: Tempo) -> None:
    """For the table of what pages when."""
    for post in inbox.posts:
        if post.at >= began:
            print(f"{what} {(post.at - began) * tempo.speed / MINUTE:6.1f} min {post}")


async def total_outage(folder: Path, tempo: Tempo, minutes: float) -> None:
    async with NatsServer(options=default_options()) as server:
        outage = Outage(server)
        await outage.prepare()
        async with pipeline(folder, [server.url], tempo, POLL_TIMEOUT_SECONDS) as watched:
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
            assert_notified_once(inbox, (*OPEN, UNREACHABLE, *LOST), muted_tickets(watched))
        print_posts("outage", inbox, began, tempo)


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
    await total_outage(tmp_path, REAL_SOON_OPEN, 20)


@pytest.mark.long
@pytest.mark.timeout(900)
async def test_a_pair_of_exporters_loses_one_and_then_both(tmp_path: Path) -> None:
    async with NatsServer(options=default_options()) as server:
        outage = Outage(server)
        await outage.prepare()
        async with pipeline(
            tmp_path, [server.url], FAST, POLL_TIMEOUT_SECONDS, exporters=2
        ) as watched:
            inbox, (one, two) = watched.inbox, watched.exporters
            await until_open(watched, OPEN)
            await one.stop()
            await one.start()
            await watched.until_fresh(one)
            gone = ticket("ExporterDown", instance=two.instance)
            await two.stop()
            await inbox.until_firing(gone)
            await two.start()
            await inbox.until_resolved(gone)
            await asyncio.gather(one.stop(), two.stop())
            await inbox.until_firing(UNMONITORED)
            await asyncio.gather(one.start(), two.start())
            await inbox.until_resolved(UNMONITORED)
            assert not any(inbox.is_resolved(alert) for alert in OPEN)
            await outage.remedy()
            for alert in OPEN:
                await inbox.until_resolved(alert)
            assert_notified_once(inbox, (*OPEN, UNMONITORED, gone), muted_tickets(watched))


@pytest.mark.long
@pytest.mark.timeout(90 * MINUTE)
async def test_what_pages_when_at_real_tempo(tmp_path: Path) -> None:
    """One of three servers, then two, then all of them; one of two exporters, then both."""
    async with NatsCluster(3, options=default_options()) as cluster:
        site = await placed(cluster)
        async with pipeline(tmp_path, cluster.urls, REAL, exporters=2) as watched:
            inbox, (one, two) = watched.inbox, watched.exporters
            await watched.until_watched_for(6 * MINUTE)

            async def happens(what: str, act: Awaitable[Any], raised: Sequence[Expected]) -> None:
                began = inbox.now
                await act
                await until_open(watched, raised)
                print_posts(what, inbox, began, REAL)

            async def ends(act: Awaitable[Any], over: Sequence[Expected]) -> None:
                await act
                for alert in over:
                    await inbox.until_resolved(alert)

            one_down = (*SOLO_PAGES, down(site.victim.name))
            await happens("one of three", site.victim.stop(), one_down)
            await ends(site.victim.restart(), one_down)
            await site.let_others_lead()
            crash = asyncio.gather(*(node.kill() for node in site.others))
            await happens("two of three", crash, QUORUM_PAGES)
            await happens("all three", site.victim.kill(), [UNREACHABLE])
            assert not any(inbox.is_resolved(alert) for alert in QUORUM_PAGES)
            back = asyncio.gather(*(node.restart(healthy=False) for node in cluster.nodes))
            await ends(back, (*QUORUM_PAGES, UNREACHABLE))
            gone = [ticket("ExporterDown", instance=two.instance)]
            await happens("one of two exporters", two.stop(), gone)
            await ends(two.start(), gone)
            both = asyncio.gather(one.stop(), two.stop())
            await happens("both exporters", both, [UNMONITORED])
            await ends(asyncio.gather(one.start(), two.start()), [UNMONITORED])
            print_posts("end", inbox, inbox.now - 5 * MINUTE, REAL)
