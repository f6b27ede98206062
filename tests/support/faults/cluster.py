"""A cluster whose assets are placed so that the loss of one server, the victim, is felt."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import aiohttp
from support.nats.servers import APP, SYS, NatsCluster, NatsServer, connected
from support.recordings.scenario import Api

STORED: Final = 20
ATTEMPTS: Final = 50


@asynccontextmanager
async def user_of(cluster: NatsCluster) -> AsyncIterator[Api]:
    """For a moment only: whichever server it is connected to may be the next to go."""
    async with connected(cluster, APP) as client:
        yield Api(client)


@dataclass(frozen=True)
class ClusterSite:
    """SOLO, TORN and the consumer SHARED/solo live on the victim alone; SHARED on all servers."""

    cluster: NatsCluster
    victim: NatsServer
    torn: Path  # the folder with the messages of TORN

    @property
    def others(self) -> list[NatsServer]:
        return [node for node in self.cluster.nodes if node is not self.victim]

    async def let_others_lead(self) -> None:
        while await self.cluster.stream_leader(APP, "SHARED") == self.victim.name:
            await self.cluster.step_down_stream(APP, "SHARED")


async def placed(cluster: NatsCluster) -> ClusterSite:
    async with user_of(cluster) as api:
        await api.stream("SOLO", subjects=["solo"], num_replicas=1)
        victim = await cluster.stream_leader(APP, "SOLO")
        await api.stream("SHARED", subjects=["shared"], num_replicas=3)
        await api.consumer("SHARED", "worker")
        await _torn_beside(victim, cluster, api)
        await _solo_consumer_on(victim, cluster, api)
        for subject in ("solo", "torn"):
            await api.publish(subject, STORED)
    # The loss of a leader of many is an election: that is another fault.
    while await cluster.meta_leader() == victim:
        await cluster.step_down_meta(SYS)
    node = cluster.node_of(victim)
    site = ClusterSite(cluster, node, await _folder_of(node, "TORN"))
    await site.let_others_lead()
    return site


async def _torn_beside(victim: str, cluster: NatsCluster, api: Api) -> None:
    """A new stream goes to the server with the fewest: others are filled up until it is the victim."""
    for number in range(ATTEMPTS):
        await api.stream("TORN", subjects=["torn"], num_replicas=1)
        if await cluster.stream_leader(APP, "TORN") == victim:
            break
        await api.request("STREAM.DELETE.TORN")
        await api.stream(f"FILLER{number}", subjects=[f"filler.{number}"], num_replicas=1)
    else:
        raise AssertionError(f"no stream was placed on {victim} in {ATTEMPTS} attempts")
    for filler in range(number):
        await api.request(f"STREAM.DELETE.FILLER{filler}")


async def _solo_consumer_on(victim: str, cluster: NatsCluster, api: Api) -> None:
    for _ in range(ATTEMPTS):
        await api.consumer("SHARED", "solo", num_replicas=1)
        if await cluster.consumer_leader(APP, "SHARED", "solo") == victim:
            return
        await api.request("CONSUMER.DELETE.SHARED.solo")
    raise AssertionError(f"no consumer was placed on {victim} in {ATTEMPTS} attempts")


async def _folder_of(node: NatsServer, stream: str) -> Path:
    url = f"{node.monitor_url}/jsz?config=true"
    async with aiohttp.ClientSession() as session, session.get(url) as response:
        store = (await response.json(content_type=None))["config"]["store_dir"]
    return Path(store) / "APP" / "streams" / stream / "msgs"


async def lose_the_last_writes(folder: Path, messages: int) -> None:
    """As a disk does that reported them written and had them only in its memory."""
    await asyncio.to_thread(_cut, folder, messages)


def _cut(folder: Path, messages: int) -> None:
    (folder / "index.db").unlink(missing_ok=True)  # it lists the messages
    blocks = sorted(folder.glob("*.blk"))
    assert len(blocks) == 1, f"{folder} holds {[block.name for block in blocks]}"
    whole = blocks[0].read_bytes()
    size, rest = divmod(len(whole), STORED)
    # One digit or two in the payload: messages 0 to 9 are a byte shorter.
    assert rest == STORED // 2, f"{len(whole)} bytes are not {STORED} messages"
    blocks[0].write_bytes(whole[: -messages * (size + 1)])
