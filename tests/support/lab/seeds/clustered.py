"""Numbers 5, 7 and 24: failures that need a cluster, and a server that is stopped for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support.lab.failure import Failure, Lab
from support.nats.servers import SYS, NatsServer
from support.signals.damaged_stores import (
    MAX_BYTES,
    blocks_of,
    delete_block,
    fill_blocks,
    messages_in,
    stream_folder,
    while_stopped,
)
from support.waiting import until

_STORED = 40
_ATTEMPTS = 50


class Damaged(Failure):
    """A server is restarted with a part of its store missing."""

    replicas = 1
    part = 0  # which block is lost

    async def prepare(self, lab: Lab) -> None:
        self.victim = await _placed(lab, self._create, f"STREAM.{{}}.{self.stream}")
        if self.replicas == 1:
            lab.holders.add(self.victim.name)
        await fill_blocks(lab.api.client, self.stream.lower(), _STORED)

    async def _create(self, lab: Lab) -> None:
        await lab.api.stream(
            self.stream, subjects=[self.stream.lower()], max_bytes=MAX_BYTES, num_replicas=self.replicas
        )  # fmt: skip

    async def provoke(self, lab: Lab) -> None:
        self.gone = await while_stopped(self.victim, self._lose)

    def _lose(self, store: Path) -> int:
        folder = stream_folder(store, self.stream)
        block = blocks_of(folder)[self.part]
        gone = messages_in(block, self.stream.lower())
        delete_block(folder, block)
        assert 0 < gone < _STORED
        return gone

    async def true_numbers(self, lab: Lab) -> tuple[float, float] | None:
        return self.gone, self.gone


class SetBack(Damaged):
    """Its last messages never reached the disk of the only server that had them."""

    number, stream, alert, part = 5, "TORN", "StreamDataLost", -1

    async def true_numbers(self, lab: Lab) -> tuple[float, float] | None:
        return None

    async def remedy(self, lab: Lab) -> None:
        await lab.cli("nats stream info TORN")
        await fill_blocks(lab.api.client, "torn", self.gone)


class Diverged(Damaged):
    """A follower lost its oldest messages; its log says that it has all of them."""

    account_sees = False
    number, stream, alert, replicas = 7, "APART", "StreamReplicasDiverged", 3

    async def remedy(self, lab: Lab) -> None:
        await lab.cli("nats server stream-check --stream APART", SYS)
        await lab.cli("nats stream edit APART --replicas 1 --force")
        await until(lambda: self._copies(lab), lambda found: found == 1, "copies are left")
        await lab.cli("nats stream edit APART --replicas 3 --force")

    async def _copies(self, lab: Lab) -> int:
        check = await lab.cli("nats server stream-check --stream APART", SYS)
        return sum("│ APART " in line for line in check.splitlines())


class ConsumerLeaderless(Failure):
    """Its only replica is on a server that stops; the stream goes on."""

    number, stream, alert = 24, "ALONG", "ConsumerNoLeader"
    # ServerDown mutes the others. Sixty times as fast both waits are the shortest window there is,
    # and a request that gets no response takes longer than the difference.
    of_servers = ("ServerDown", "MetaPeerOffline", "StreamReplicaOffline")

    async def prepare(self, lab: Lab) -> None:
        await lab.api.stream(self.stream, subjects=["along"], num_replicas=3)
        self.victim = await _placed(lab, self._create, "CONSUMER.{}.ALONG.worker")

    async def _create(self, lab: Lab) -> None:
        await lab.api.consumer(self.stream, "worker", num_replicas=1)

    async def provoke(self, lab: Lab) -> None:
        await self.victim.stop()

    async def remedy(self, lab: Lab) -> None:
        await lab.cli("nats consumer report ALONG")
        await self.victim.restart()


async def _placed(lab: Lab, create: Any, subject: str) -> NatsServer:
    """A server that holds it, or a copy of it, and may be stopped: not the one of the clients, nor
    one whose loss would be an election or cost another failure its stream."""
    for _ in range(_ATTEMPTS):
        await create(lab)
        cluster = (await lab.api.request(subject.format("INFO")))["cluster"]
        holders = {each["name"] for each in cluster.get("replicas", ())} or {cluster["leader"]}
        free = [node for node in lab.nodes[1:] if node.name in holders - lab.holders]
        if free:
            return free[0]
        await lab.api.request(subject.format("DELETE"))
    raise AssertionError(f"{subject}: always placed on {lab.server.name}")
