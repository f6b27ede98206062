"""Leaders and replicas in a real cluster, from stream and consumer info."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Final

import aiohttp
from support.audit.live.assets import WORKER, Row
from support.nats.servers import SYS, NatsCluster, NatsServer, connected
from support.recordings.scenario import Api
from support.waiting import until

NODES: Final = ("n1", "n2", "n3")


@dataclass(frozen=True)
class Holders:
    """By stream: its leader and followers, and the leader of its consumer."""

    streams: dict[str, tuple[str, frozenset[str]]]
    workers: dict[str, str]

    @property
    def complete(self) -> bool:
        return all(leader for leader, _ in self.streams.values()) and all(self.workers.values())

    @property
    def stream_leaders(self) -> Counter[str]:
        return Counter(leader for leader, _ in self.streams.values())

    @property
    def consumer_leaders(self) -> Counter[str]:
        return Counter(self.workers.values())

    @property
    def copies(self) -> Counter[str]:
        return Counter(name for leader, rest in self.streams.values() for name in {leader, *rest})

    @property
    def with_single_copies(self) -> set[str]:
        return {leader for leader, rest in self.streams.values() if not rest}


async def holders(api: Api, rows: Sequence[Row]) -> Holders:
    assets = [(row.name_of(asset), asset) for row in rows for asset in (row.bad, row.good)]
    streams = {name: _peers(await api.request(f"STREAM.INFO.{name}")) for name, _ in assets}
    workers = {
        name: _peers(await api.request(f"CONSUMER.INFO.{name}.{WORKER}"))[0]
        for name, asset in assets
        if asset.consumer is not None
    }
    return Holders(streams, workers)


def _peers(info: dict[str, Any]) -> tuple[str, frozenset[str]]:
    cluster = info.get("cluster") or {}
    return cluster.get("leader", ""), frozenset(
        peer["name"] for peer in cluster.get("replicas") or ()
    )


def above_average(counts: Counter[str]) -> set[str]:
    average = fmean(counts[name] for name in NODES)
    return {name for name in counts if counts[name] > average}


async def page_of(node: NatsServer, page: str) -> dict[str, Any]:
    """A page of the monitoring port; empty while the server does not respond."""
    try:
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"{node.monitor_url}/{page}") as response,
        ):
            content: dict[str, Any] = await response.json(content_type=None)
    except aiohttp.ClientError:
        return {}
    return content


async def meta_of(node: NatsServer) -> dict[str, Any]:
    """The meta group as that node sees it."""
    group: dict[str, Any] = (await page_of(node, "jsz")).get("meta_cluster") or {}
    return group


async def lead_meta(cluster: NatsCluster, name: str) -> None:
    """Makes the node the meta leader. Needs server 2.11 for the preferred leader."""
    preference = json.dumps({"placement": {"preferred": name}}).encode()

    async def leader() -> str:
        found = await cluster.meta_leader()
        if found != name:
            async with connected(cluster.node_of(found), SYS) as client:
                await client.request("$JS.API.META.LEADER.STEPDOWN", preference, timeout=10)
        return found

    await until(leader, lambda found: found == name, f"{name} does not become leader")
    await cluster.settle()
