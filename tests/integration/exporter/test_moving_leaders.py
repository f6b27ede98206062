"""Leaders move and servers die while all sources poll: no series changes its labels, no number is
wrong, no counter falls; unknown values are absent, and all comes back.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from itertools import cycle, islice
from typing import Final

import pytest
from aiohttp.test_utils import TestClient, TestServer
from nats.js.api import StreamConfig
from support.exporter.continuous_workload import Life, life
from support.exporter.exposed_series import (
    SOURCES,
    Exposed,
    polled,
    polling,
    read_back,
    served,
    settings_of,
)
from support.exporter.recorder import Asset, Recorders, World, recorders
from support.nats.servers import (
    APP,
    NEWEST,
    OLDEST,
    SYS,
    NatsCluster,
    NatsServer,
    default_options,
    long_run,
)
from support.signals.known_workload import Workshop, version_of, workshop
from support.waiting import until

from exporter import catalog
from exporter.metric import PREFIX, Origin
from exporter.polling.supervisor import Supervisor
from exporter.settings.config import ExporterSettings, SourceName
from exporter.web import make_app

NODES: Final = ("n1", "n2", "n3")
KILLS: Final = 100 if long_run() else 10
CLUSTER_KILLS: Final = 5 if long_run() else 1

QUIET, PARKED, HELD = ("APP", "QUIET"), ("APP", "QUIET", "parked"), ("APP", "QUIET", "held")
SINGLE, LIVE, LIVING = ("APP", "QUIET", "single"), ("APP", "LIVE"), ("APP", "LIVE", "living")
SOLO, ALONE = ("APP", "SOLO"), ("APP", "SOLO", "alone")

# The samples that each must have while it is up. The rows of followers have other numbers:
# of `parked` 0 pending messages since 2.10, of `held` 37 before.
TRUTH: Final[Mapping[Asset, Mapping[str, float]]] = {
    QUIET: {"messages": 37, "first_seq": 1, "stored_messages_total": 37, "consumers": 3},
    PARKED: {"num_pending": 37, "num_ack_pending": 0, "deliveries_total": 0},
    HELD: {"num_pending": 0, "deliveries_total": 37, "delivered_stream_seq": 37},
    SINGLE: {"num_pending": 37, "deliveries_total": 0},
    SOLO: {"messages": 11, "stored_messages_total": 11, "consumers": 1},
    ALONE: {"num_pending": 11, "deliveries_total": 0},
    LIVE: {"first_seq": 1, "consumers": 1},
    LIVING: {"max_ack_pending": 1000},
}
# A leader of 2.9 that steps down still calls itself the leader for a quarter of a second after it
# dropped the unacked messages, and nothing in its response shows it.
SINCE_2_10: Final[Mapping[Asset, Mapping[str, float]]] = {
    HELD: {"num_ack_pending": 5, "ack_floor_gap": 5}
}


def world_of(place: NatsServer | NatsCluster) -> World:
    if isinstance(place, NatsServer):
        return World(frozenset({"n1"}), {SOLO: TRUTH[SOLO], ALONE: TRUTH[ALONE]})
    more = SINCE_2_10 if version_of(place) >= (2, 10) else {}
    truth = {asset: {**reported, **more.get(asset, {})} for asset, reported in TRUTH.items()}
    return World(frozenset(NODES), truth)


async def store(shop: Workshop, stream: str, count: int, replicas: int) -> Workshop:
    config = StreamConfig(name=stream, subjects=[stream.lower()], num_replicas=replicas)
    await shop.store(config)
    for _ in range(count):
        await shop.publish(stream.lower())
    return Workshop(shop.client, shop.jetstream, stream)


async def furnish_alone(shop: Workshop) -> None:
    await (await store(shop, "SOLO", 11, replicas=1)).consumer("alone")


async def furnish(shop: Workshop) -> None:
    quiet = await store(shop, "QUIET", 37, replicas=3)
    await quiet.consumer("parked")
    await quiet.consumer("held", ack_wait=3600)
    await quiet.ack(*(await quiet.fetch("held", 37))[:32])
    await quiet.consumer("single", num_replicas=1)
    await (await store(shop, "LIVE", 1, replicas=3)).consumer("living")
    await furnish_alone(shop)


@asynccontextmanager
async def watched(cluster: NatsCluster) -> AsyncIterator[tuple[Recorders, Life]]:
    """The cluster with all of TRUTH in it, a life on LIVE, and every source looking."""
    async with workshop(cluster) as shop:
        await furnish(shop)
    async with (
        life(cluster, "LIVE", "living") as lived,
        recorders(cluster, world_of(cluster)) as observed,
    ):
        await observed.observe_until_all_is_up()
        yield observed, lived


# --- leaders step down ----------------------------------------------------------------------------


async def true_leader(cluster: NatsCluster, asset: Asset) -> str:
    if len(asset) == 2:
        return await cluster.stream_leader(APP, asset[1])
    return await cluster.consumer_leader(APP, asset[1], asset[2])


def shown_leader(exposed: Exposed, asset: Asset) -> str:
    """The leader in the INFO response; "" while there is none."""
    metric = "stream_info" if len(asset) == 2 else "consumer_info"
    identity = dict(zip(("account", "stream", "consumer"), asset, strict=False))
    infos = [dict(labels) for labels in exposed.named(metric, **identity)]
    return next((labels["leader"] for labels in infos), "")


async def until_leaders_are_shown(cluster: NatsCluster, observed: Recorders, *of: Asset) -> None:
    async def is_wrong() -> list[tuple[Asset, str, set[str]]]:
        truth = {asset: await true_leader(cluster, asset) for asset in of}
        await observed.observe()
        shown = {asset: {shown_leader(one.now, asset) for one in observed.all} for asset in of}
        return [
            (asset, truth[asset], shown[asset]) for asset in of if shown[asset] != {truth[asset]}
        ]

    await until(is_wrong, lambda seen: seen == [], "some source shows another leader")


async def step_down(cluster: NatsCluster, *assets: Asset) -> None:
    async def one(asset: Asset) -> None:
        if len(asset) == 2:
            await cluster.step_down_stream(APP, asset[1])
        else:
            await cluster.step_down_consumer(APP, asset[1], asset[2])

    await asyncio.gather(*(one(asset) for asset in assets))


async def until_the_meta_leader_is_shown(cluster: NatsCluster, observed: Recorders) -> None:
    leader = await cluster.meta_leader()
    await observed.observe_until(
        lambda seen: (
            seen.value("meta_leader", server=leader) == 1
            and sum(seen.named("meta_leader").values()) == 1
        ),
        f"{leader} is not the one meta leader",
        but="account",
    )


async def test_leaders_that_step_down_change_no_series_and_no_number(
    nats_cluster: NatsCluster,
) -> None:
    async with watched(nats_cluster) as (observed, lived):
        for assets in ((QUIET, LIVE), (PARKED, HELD, LIVING)):
            await observed.observe_during(step_down(nats_cluster, *assets))
            await until_leaders_are_shown(nats_cluster, observed, *assets)
        await observed.observe_during(nats_cluster.step_down_meta(SYS))
        await until_the_meta_leader_is_shown(nats_cluster, observed)
        await observed.observe_until_all_is_up()
        await one_pull_waits(nats_cluster, observed)
        known = lived.stored
        await observed.observe()
        live = {"account": "APP", "stream": "LIVE"}
        seen = [one.now.value("stream_stored_messages_total", **live) for one in observed.all]
    assert known > 1
    assert all(value is not None and value >= known for value in seen), (known, seen)


async def one_pull_waits(cluster: NatsCluster, observed: Recorders) -> None:
    """Only the consumer's leader knows of an open pull."""
    labels = {"account": "APP", "stream": "QUIET", "consumer": "held"}
    async with workshop(cluster) as shop:
        inbox = shop.client.new_inbox()
        await shop.client.subscribe(inbox)
        pull = b'{"batch":1,"expires":600000000000}'
        await shop.client.publish("$JS.API.CONSUMER.MSG.NEXT.QUIET.held", pull, reply=inbox)
        await observed.observe_until(
            lambda seen: seen.value("consumer_num_waiting", **labels) == 1, "no pull is waiting"
        )


# --- nodes go and come back -----------------------------------------------------------------------


async def held_only_by(cluster: NatsCluster, node: str) -> set[Asset]:
    lonely = (SOLO, ALONE, SINGLE)
    return {asset for asset in lonely if await true_leader(cluster, asset) == node}


async def comes_back(cluster: NatsCluster, observed: Recorders, node: str) -> None:
    observed.forgive_restart(node)
    await observed.observe_during(cluster.restart(node))
    await observed.observe_until_all_is_up()
    await observed.observe_until(
        lambda seen: all(seen.value("server_up", server=name) == 1 for name in NODES),
        "not all servers are up again",
    )
    await cluster.settle()
    await until_the_meta_leader_is_shown(cluster, observed)
    await observed.observe_until(
        lambda seen: not any(seen.named("stream_replica_lag", stream="QUIET").values()),
        "it does not catch up",
    )


@pytest.mark.timeout(180 * CLUSTER_KILLS)
async def test_a_killed_node_takes_only_what_it_alone_held(nats_cluster: NatsCluster) -> None:
    async with watched(nats_cluster) as (observed, _):
        first = NODES.index(await nats_cluster.stream_leader(APP, "SOLO"))
        for victim in islice(cycle(NODES), first, first + CLUSTER_KILLS):
            lonely = await held_only_by(nats_cluster, victim)
            await observed.observe_during(nats_cluster.kill(victim))
            await observed.observe_until_down(lonely)
            for one in observed.all:
                ups = {name: one.now.value("server_up", server=name) for name in NODES}
                assert ups == {name: float(name != victim) for name in NODES}
            await until_the_meta_leader_is_shown(nats_cluster, observed)
            await comes_back(nats_cluster, observed, victim)


async def test_a_node_that_leaves_is_an_offline_replica(nats_cluster: NatsCluster) -> None:
    async with watched(nats_cluster) as (observed, _):
        gone = await nats_cluster.stream_leader(APP, "SOLO")
        lonely = await held_only_by(nats_cluster, gone)
        await observed.observe_during(nats_cluster.stop(gone))
        await observed.observe_until_down(lonely)
        replica = {"account": "APP", "stream": "QUIET", "server": gone}
        await observed.observe_until(
            lambda seen: seen.value("stream_replica_offline", **replica) == 1, "no offline replica"
        )
        await observed.observe_until(
            lambda seen: seen.value("meta_replica_offline", server=gone) == 1,
            "the meta group is complete",
            but="account",
        )
        await comes_back(nats_cluster, observed, gone)
        await observed.observe_until(
            lambda seen: sum(seen.named("stream_replica_offline").values()) == 0,
            "the replica stays offline",
        )


@pytest.mark.timeout(60 + 10 * KILLS)
async def test_long_kills_leave_every_poll_right_or_absent(nats_server: NatsServer) -> None:
    async with workshop(nats_server) as shop:
        await furnish_alone(shop)
    async with recorders(nats_server, world_of(nats_server)) as observed:
        await observed.observe_until_all_is_up()
        for _ in range(KILLS):
            await observed.observe_during(nats_server.kill())
            observed.forgive_restart("n1")
            await observed.observe_during(nats_server.restart())
            await observed.observe_until_all_is_up()
        failed = [sum(one.poller.state.errors.values()) for one in observed.all]
    assert min(failed) >= KILLS, "polls that failed, by source: else no poll ran while it was down"


# --- all systems of a process, and none -----------------------------------------------------------


async def scraped(settings: ExporterSettings) -> Exposed:
    """What a whole exporter serves once it has polled all its systems."""
    supervisor = Supervisor(settings, lambda: settings)
    supervisor.start()
    try:
        async with TestClient(TestServer(make_app(supervisor, "a test"))) as client:
            ready = partial(client.get, "/-/ready")
            await until(ready, lambda response: response.status == 200, "a system is not polled")
            return read_back(await (await client.get("/metrics")).text())
    finally:
        await supervisor.stop()


async def test_several_systems_in_one_process_share_no_series() -> None:
    async with (
        NatsServer(OLDEST, default_options()) as old,
        NatsServer(NEWEST, default_options()) as new,
    ):
        async with workshop(old) as shop:
            await store(shop, "SOLO", 11, replicas=1)
        async with workshop(new) as shop:
            await store(shop, "SOLO", 4, replicas=1)
        systems = (settings_of(old, "monitor", "east"), settings_of(new, "system", "west"))
        seen = await scraped(ExporterSettings(systems=systems))
    counts = seen.named("stream_messages", account="APP", stream="SOLO")
    assert {dict(labels)["system"]: value for labels, value in counts.items()} == {
        "east": 11,
        "west": 4,
    }
    ups = {dict(labels)["system"]: value for labels, value in seen.named("server_up").items()}
    assert ups == {"east": 1, "west": 1}


@pytest.mark.parametrize("source", SOURCES)
async def test_when_all_servers_are_gone_only_that_is_served(source: SourceName) -> None:
    async with NatsServer(NEWEST, default_options()) as server, polling(server, source) as poller:
        async with workshop(server) as shop:
            await furnish_alone(shop)
        before = await polled(poller)
        await server.kill()
        await poller.poll_once()
        succeeded = poller.state.last_response
        assert succeeded is not None
        fresh = await served(poller, succeeded + 3 * poller.interval)
        stale = await served(poller, succeeded + 3 * poller.interval + 0.001)
    solo = {"account": "APP", "stream": "SOLO"}
    assert before.value("stream_messages", **solo) == fresh.value("stream_messages", **solo) == 11
    assert stale.value("server_up", server="n1") == 0
    assert stale.value("up") == 0
    own = {
        metric.name.removeprefix(PREFIX) for metric in catalog.ALL if metric.origin is Origin.SELF
    }
    events = {metric.name.removeprefix(PREFIX) for metric in catalog.KEPT_IN_OUTAGES}
    assert {name for name, _ in stale.samples} - own - events == {
        "server_up",
        "server_info",
        "server_condition_start_timestamp_seconds",
    }
