"""Events of a cluster: elections, lost quorum, and the system account's copies of them."""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg
from support.exporter.event_listeners import (
    listening,
    new_state,
    request_with_retry,
    stream_of,
    until_received,
)
from support.nats.servers import APP, NEWEST, OLDEST, SYS, NatsCluster, connected, default_options

from exporter.events.counts import EventCounts


async def make_orders(client: Client, replicas: int = 3, **stream: Any) -> None:
    await request_with_retry(client, "STREAM.CREATE.ORDERS",
              {"name": "ORDERS", "subjects": ["orders.>"], "num_replicas": replicas,
               **stream})  # fmt: skip
    config = {"durable_name": "worker", "ack_policy": "explicit"}
    await request_with_retry(client, "CONSUMER.DURABLE.CREATE.ORDERS.worker",
              {"stream_name": "ORDERS", "config": config})  # fmt: skip


def kinds_of(counts: EventCounts, account: str = "APP") -> dict[str, int]:
    return {kind: number for (of, kind), number in counts.advisories.items() if of == account}


def elections(counts: EventCounts) -> tuple[int, int]:
    kinds = kinds_of(counts)
    return kinds.get("stream_leader_elected", 0), kinds.get("consumer_leader_elected", 0)


@asynccontextmanager
async def truth(cluster: NatsCluster) -> AsyncIterator[Counter[str]]:
    """Elections as another client counts them: a busy machine may have more than expected."""
    logged: Counter[str] = Counter()

    async def take(message: Msg) -> None:
        logged[message.subject.split(".")[3].lower()] += 1

    async with connected(cluster) as client:
        await client.subscribe("$JS.EVENT.ADVISORY.*.LEADER_ELECTED.>", cb=take)
        await client.flush()
        yield logged


async def test_elections_are_counted_and_copies_for_the_system_account_are_not_counted_again(
    nats_cluster: NatsCluster,
) -> None:
    both = new_state()
    async with (
        connected(nats_cluster) as client,
        truth(nats_cluster) as logged,
        listening(nats_cluster) as own,
        listening(nats_cluster, SYS, of_system_account=True) as system,
        listening(nats_cluster, state=both),
        listening(nats_cluster, SYS, state=both, of_system_account=True),
    ):
        await make_orders(client)
        await nats_cluster.step_down_stream(APP, "ORDERS")
        await nats_cluster.step_down_consumer(APP, "ORDERS", "worker")
        await nats_cluster.step_down_consumer(APP, "ORDERS", "worker")
        for state in (own.state, system.state, both):
            await until_received(
                state, lambda seen: elections(seen)[0] >= 2 and elections(seen)[1] >= 3
            )
        await nats_cluster.step_down_meta(SYS)
        if nats_cluster.nodes[0].version != OLDEST:  # 2.9.10 does not report it
            await until_received(both, lambda seen: "domain_leader_elected" in kinds_of(seen, ""))
        # Time has passed: whatever would come twice has come.
        elected = (logged["stream"], logged["consumer"])
        assert [elections(state.counts()) for state in (own.state, system.state, both)] == [
            elected
        ] * 3
        assert kinds_of(own.state.counts(), "") == {}


@pytest.mark.parametrize("version", [pytest.param(OLDEST, marks=pytest.mark.long), NEWEST])
async def test_a_stream_that_lost_its_quorum_is_counted(version: str) -> None:
    """Servers find out within 10 to 20 seconds, and say so every 10 seconds while it lasts."""
    both = new_state()
    async with NatsCluster(3, version, default_options()) as cluster:
        async with connected(cluster) as client:
            await make_orders(client)
        home = await cluster.stream_leader(APP, "ORDERS")
        async with (
            listening(cluster.node_of(home)) as own,
            listening(cluster.node_of(home), state=both),
            listening(cluster.node_of(home), SYS, state=both, of_system_account=True),
        ):
            for node in [node.name for node in cluster.nodes if node.name != home]:
                await cluster.kill(node)
            counts = await until_received(own.state, lambda seen: stream_of(seen).quorum_lost >= 1)
            assert stream_of(counts).quorum_lost == 1
            assert kinds_of(counts)["stream_quorum_lost"] == 1
            counts = await until_received(both, lambda seen: stream_of(seen).quorum_lost >= 1)
            assert stream_of(counts).quorum_lost == 1
