"""All faults of the demo, and which of them are broken now."""

import asyncio
from collections.abc import Iterable
from typing import Final

from streamgauge.demo.actors.context import ActorContext
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
    publishing.Oversized,
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
NEED_CLUSTER: Final = frozenset(kind.name for kind in KINDS if kind.needs_cluster)


def needs_cluster(name: str) -> str:
    return f"{name} needs three servers: start with `streamgauge demo --nodes 3`"


class FaultError(Exception):
    """One line: which fault, and why the demo cannot switch it."""


class FaultRegistry:
    """One object per fault. It breaks or heals one fault at a time."""

    def __init__(self, context: ActorContext) -> None:
        self._stage = context
        self._lock = asyncio.Lock()
        self.faults: dict[str, Fault] = {kind.name: kind() for kind in KINDS}

    @property
    def available(self) -> list[Fault]:
        """The faults that this system supports."""
        clustered = self._stage.cluster is not None
        return [each for each in self.faults.values() if clustered or not each.needs_cluster]

    async def prepare(self) -> None:
        for fault in self.available:
            await fault.prepare(self._stage)

    def actors(self) -> Iterable[Work]:
        for fault in self.available:
            yield from fault.actors(self._stage)

    async def break_(self, name: str) -> Fault:
        """Does nothing if it is broken already."""
        fault = self._named(name)
        async with self._lock:
            if not fault.broken:
                fault.switch.set(broken=True)
                await fault.break_(self._stage)
        return fault

    async def fix(self, name: str) -> Fault:
        """Does nothing if it is healed already."""
        fault = self._named(name)
        async with self._lock:
            if fault.broken:
                await fault.fix(self._stage)
                fault.switch.set(broken=False)
        return fault

    def _named(self, name: str) -> Fault:
        if name not in self.faults:
            raise FaultError(f"unknown fault {name!r}; known: {', '.join(NAMES)}")
        fault = self.faults[name]
        if fault not in self.available:
            raise FaultError(needs_cluster(name))
        return fault
