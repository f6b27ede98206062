"""A cluster whose every asset has a known place: on all three nodes, or on one alone."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

from support.exporter.source_polls import api, create_consumer, create_stream
from support.nats.servers import APP, NatsCluster, connected, default_options
from support.nats.stream_ready import store_first_message
from support.waiting import until

from nats.aio.client import Client

NODES: Final = ("n1", "n2", "n3")
LONE_MESSAGES: Final = 5
SHARED_MESSAGES: Final = 10
MOST_TRIES: Final = 40
CLUSTER_TRIES: Final = 3


@dataclass(frozen=True)
class Scenario:
    """SHARED lives on all nodes, with a consumer at work and an idle one."""

    cluster: NatsCluster
    lone_streams: dict[str, str]  # node -> the stream that only it has; its consumer is `c`
    lone_consumers: dict[str, str]  # node -> the consumer of SHARED that only it has

    def streams(self) -> set[str]:
        return {"SHARED", *self.lone_streams.values()}

    def consumers(self) -> set[tuple[str, str]]:
        of_shared = {"c", "idle", *self.lone_consumers.values()}
        of_lone = {(stream, "c") for stream in self.lone_streams.values()}
        return {("SHARED", name) for name in of_shared} | of_lone

    async def leaders_apart(self) -> tuple[str, str]:
        """The leaders of SHARED and of its consumer `c`, moved if need be until they differ."""
        stream = await self.cluster.stream_leader(APP, "SHARED")
        consumer = await self.cluster.consumer_leader(APP, "SHARED", "c")
        if stream == consumer:
            consumer = await self.cluster.step_down_consumer(APP, "SHARED", "c")
        return stream, consumer

    async def repair(self) -> None:
        """Every node runs and follows the same meta leader."""
        for node in self.cluster.nodes:
            if not node.running:
                await node.restart(healthy=False)
        await self.cluster.settle()


@asynccontextmanager
async def scenario_of(version: str) -> AsyncIterator[Scenario]:
    """A young cluster may leave one node out of every placement, for good: then another is built."""
    for _ in range(CLUSTER_TRIES):
        async with NatsCluster(3, version, default_options()) as cluster:
            scenario = await _settled_scenario(cluster)
            if scenario is not None:
                yield scenario
                return
    raise AssertionError(f"no node of {CLUSTER_TRIES} clusters got an asset of its own")


async def _settled_scenario(cluster: NatsCluster) -> Scenario | None:
    async with connected(cluster) as client:
        # First the one that needs all nodes: then each of them can also have one of its own.
        lone_consumers = await _shared_stream(client)
        scenario = Scenario(cluster, await _lone_streams(client), lone_consumers)
    complete = len(scenario.lone_streams) == len(scenario.lone_consumers) == len(NODES)
    return scenario if complete else None


@asynccontextmanager
async def two_waiting_pulls(scenario: Scenario) -> AsyncIterator[None]:
    """On the consumer `idle`, for which nothing comes."""
    async with connected(scenario.cluster) as client:
        inbox = client.new_inbox()
        await client.subscribe(inbox)
        for _ in range(2):
            request = b'{"batch":1,"expires":60000000000}'
            await client.publish("$JS.API.CONSUMER.MSG.NEXT.SHARED.idle", request, reply=inbox)

        async def waiting() -> int:
            return int((await api(client, "CONSUMER.INFO.SHARED.idle"))["num_waiting"])

        await until(waiting, lambda count: count == 2, "the pulls do not arrive")
        yield


async def _lone_streams(client: Client) -> dict[str, str]:
    """The node of a stream with one replica is random: create some until each node has one."""
    found: dict[str, str] = {}
    surplus = []
    for number in range(MOST_TRIES):
        name = f"LONE{number}"
        made = await create_stream(client, name, storage="file")
        node = await _leader(client, f"STREAM.INFO.{name}", made)
        if found.setdefault(node, name) != name:
            surplus.append(name)
        if len(found) == len(NODES):
            break
    for name in surplus:
        await api(client, f"STREAM.DELETE.{name}")
    for name in found.values():
        await create_consumer(client, name, "c")
        await _fill(client, name.lower(), LONE_MESSAGES)
    return found


async def _shared_stream(client: Client) -> dict[str, str]:
    await create_stream(client, "SHARED", storage="file", num_replicas=3)
    await _fill(client, "shared", SHARED_MESSAGES)
    await create_consumer(client, "SHARED", "c", ack_wait=3600 * 10**9)
    await create_consumer(client, "SHARED", "idle", deliver_policy="new")
    await _work(client)
    found: dict[str, str] = {}
    for number in range(MOST_TRIES):
        name = f"lone{number}"
        made = await create_consumer(client, "SHARED", name, num_replicas=1)
        node = await _leader(client, f"CONSUMER.INFO.SHARED.{name}", made)
        if found.setdefault(node, name) != name:
            await api(client, f"CONSUMER.DELETE.SHARED.{name}")
        if len(found) == len(NODES):
            break
    return found


async def _leader(client: Client, request: str, response: Any) -> str:
    """From the response to its creation, or requested during the election."""

    async def named() -> str:
        return str((await api(client, request)).get("cluster", {}).get("leader", ""))

    at_once = str(response.get("cluster", {}).get("leader", ""))
    return at_once or await until(named, bool, request)


async def _fill(client: Client, subject: str, count: int) -> None:
    jetstream = client.jetstream(timeout=10)
    await store_first_message(jetstream, subject)
    for _ in range(count - 1):
        await jetstream.publish(subject, b"x")


async def _work(client: Client) -> None:
    """Three delivered, one of them acked."""

    async def leads() -> bool:
        return bool((await api(client, "CONSUMER.INFO.SHARED.c")).get("cluster", {}).get("leader"))

    await until(leads, bool, "the consumer has no leader")
    puller = await client.jetstream(timeout=10).pull_subscribe_bind("c", "SHARED")
    messages = await puller.fetch(3, timeout=10)
    await messages[0].ack_sync(timeout=10)
    await puller.unsubscribe()
