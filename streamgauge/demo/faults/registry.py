"""The cast of failures: all that the demo can break, and who is broken now."""

import asyncio
from collections.abc import Iterable
from typing import Final

from streamgauge.demo.actors.context import Stage
from streamgauge.demo.faults import acks, assets, delivery, publishing, servers
from streamgauge.demo.faults.fault import Fault, Work

KINDS: Final[tuple[type[Fault], ...]] = (
    acks.Poison,
    acks.SlowAck,
    acks.LateAck,
    acks.NakLoop,
    acks.Exhausted,
    delivery.Outage,
    delivery.Unbound,
    delivery.MissedPush,
    delivery.Retention,
    publishing.Duplicate,
    publishing.Conflict,
    publishing.Full,
    assets.Recreate,
    assets.RemoveConsumer,
    assets.InterestOrphan,
    assets.WorkqueueOrphan,
    servers.Clock,
    servers.Leader,
    servers.ServerDown,
)
NAMES: Final = tuple(kind.name for kind in KINDS)
# So that there is something to see before anybody breaks anything.
BROKEN_AT_FIRST: Final = ("poison", "slow-ack", "duplicate")


class CastError(Exception):
    """One line: what was asked and why it cannot be."""


class Cast:
    """One object of each failure; a break or heal is whole before the next begins."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._turn = asyncio.Lock()
        self.faults: dict[str, Fault] = {kind.name: kind() for kind in KINDS}

    @property
    def playable(self) -> list[Fault]:
        """Those that this system can show."""
        clustered = self._stage.cluster is not None
        return [each for each in self.faults.values() if clustered or not each.needs_cluster]

    async def prepare(self) -> None:
        for fault in self.playable:
            await fault.prepare(self._stage)

    def actors(self) -> Iterable[Work]:
        for fault in self.playable:
            yield from fault.actors(self._stage)

    async def harm(self, name: str) -> Fault:
        """Breaks it; what is broken already stays so."""
        fault = self._named(name)
        async with self._turn:
            if not fault.broken:
                fault.switch.turn(broken=True)
                await fault.harm(self._stage)
        return fault

    async def mend(self, name: str) -> Fault:
        """Heals it; what is whole already stays so."""
        fault = self._named(name)
        async with self._turn:
            if fault.broken:
                await fault.mend(self._stage)
                fault.switch.turn(broken=False)
        return fault

    def _named(self, name: str) -> Fault:
        if name not in self.faults:
            raise CastError(f"there is no failure {name}; known: {', '.join(NAMES)}")
        fault = self.faults[name]
        if fault not in self.playable:
            raise CastError(f"{name} needs three servers: start with `streamgauge demo --nodes 3`")
        return fault
