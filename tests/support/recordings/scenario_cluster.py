"""The assets of the recorded cluster: replicated ones, and some that one server alone holds."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import nats.errors
from nats.aio.client import Client
from support.nats.servers import SYS, NatsCluster, connected
from support.recordings.scenario import MINUTE, Api
from support.waiting import until

_TRIES: Final = 40
_REPLICATED: Final = (
    "STREAM.INFO.ORDERS",
    "STREAM.INFO.CACHE",
    "CONSUMER.INFO.ORDERS.worker",
    "CONSUMER.INFO.ORDERS.idle",
    "CONSUMER.INFO.CACHE.reader",
)

Peer = dict[str, Any]


@asynccontextmanager
async def clustered(cluster: NatsCluster) -> AsyncIterator[str]:
    """Gives the name of the server that alone holds the stream SOLO and the consumer ORDERS/solo."""
    async with connected(cluster) as client:
        api = Api(client)
        await api.stream("ORDERS", subjects=["orders.>"], num_replicas=3, max_bytes=10_000_000)
        await api.stream("CACHE", subjects=["cache"], num_replicas=3, storage="memory")
        await api.consumer("ORDERS", "worker")
        await api.consumer("ORDERS", "idle", max_deliver=3, backoff=[MINUTE, 2 * MINUTE])
        await api.consumer("CACHE", "reader", ack_policy="all")
        await api.consumer("ORDERS", "solo", num_replicas=1)
        alone = await until(
            lambda: _leader(api, "CONSUMER.INFO.ORDERS.solo"), bool, "solo has no leader"
        )
        await _stream_on(api, alone)
        await _traffic(api)
        await until(lambda: _behind(api), lambda seen: seen == [], "replicas are behind")
        yield alone


async def lose(cluster: NatsCluster, alone: str) -> None:
    """Stops that server; returns when the others know it and everything else is led again."""
    await cluster.stop(alone)
    await cluster.settle()
    async with connected(cluster) as client, connected(cluster, SYS) as system:
        api = Api(client)
        for request in _REPLICATED:
            await until(
                lambda request=request: _offline(api, request),  # type: ignore[misc]
                lambda seen: seen == [alone],
                f"{request} does not hold {alone} for offline",
            )
        await until(
            lambda: _offline_in_meta(system), lambda seen: seen == [alone], "the meta group differs"
        )


async def _stream_on(api: Api, server: str) -> None:
    """Recreates the stream until the meta leader places it on that server."""
    for _ in range(_TRIES):
        await api.stream("SOLO", subjects=["solo"])
        if await _leader(api, "STREAM.INFO.SOLO") == server:
            break
        await api.request("STREAM.DELETE.SOLO")
    else:
        raise RuntimeError(f"SOLO never came to {server}")
    await api.consumer("SOLO", "worker")


async def _traffic(api: Api) -> None:
    await api.publish("orders.new", 20)
    await api.publish("cache", 3)
    await api.publish("solo", 4)
    for message in (await api.fetch("ORDERS", "worker", 6))[1:]:
        await message.ack_sync(timeout=10)
    for message in await api.fetch("ORDERS", "solo", 3):
        await message.ack_sync(timeout=10)
    await api.fetch("SOLO", "worker", 2)


async def _cluster(api: Api, request: str) -> dict[str, Any]:
    """Leader and replicas; empty while there is no leader."""
    try:
        found: dict[str, Any] = (await api.request(request)).get("cluster", {})
    except (RuntimeError, nats.errors.TimeoutError, nats.errors.NoRespondersError):
        return {}
    return found if found.get("leader") else {}


async def _leader(api: Api, request: str) -> str:
    return str((await _cluster(api, request)).get("leader", ""))


async def _behind(api: Api) -> list[str]:
    """The replicated assets that are not yet the same everywhere."""
    behind = []
    for request in _REPLICATED:
        peers: list[Peer] = (await _cluster(api, request)).get("replicas", [])
        if len(peers) < 2 or any(not peer["current"] or peer.get("lag") for peer in peers):
            behind.append(request)
    return behind


async def _offline(api: Api, request: str) -> list[str]:
    peers: list[Peer] = (await _cluster(api, request)).get("replicas", [])
    return [peer["name"] for peer in peers if peer.get("offline")]


async def _offline_in_meta(system: Client) -> list[str]:
    """As the leader of the meta group sees it."""
    message = await system.request("$SYS.REQ.SERVER.PING.JSZ", b'{"leader_only":true}', timeout=10)
    group = json.loads(message.data)["data"].get("meta_cluster", {})
    return [peer["name"] for peer in group.get("replicas") or () if peer.get("offline")]
