"""Polls again and again while servers move, and holds every exposition to what must never break."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from support.exporter.exposed_series import (
    SOURCES,
    SYSTEM_NAME,
    Exposed,
    Labels,
    Series,
    polled,
    polling,
)
from support.nats.servers import NatsCluster, NatsServer
from support.waiting import until

from exporter import catalog
from exporter.metric import PREFIX, Kind, Origin
from exporter.polling.loop import SystemPoller

Asset = tuple[str, ...]  # account, stream and, for a consumer, its name
T = TypeVar("T")


@dataclass(frozen=True)
class World:
    """All there is, so that whatever else appears is wrong; and what is true of it all the time."""

    servers: frozenset[str]
    # By asset, the values of those metrics (without stream_ or consumer_) that never change.
    assets: Mapping[Asset, Mapping[str, float]]

    def knows(self, labels: Labels) -> bool:
        reported = dict(labels)
        asset = _asset(labels)
        return (
            reported.get("system", SYSTEM_NAME) == SYSTEM_NAME
            and reported.get("server", "n1") in self.servers
            and (len(asset) < 2 or asset in self.assets)
        )


@dataclass
class Recorder:
    """One source's exposition after each of its polls."""

    poller: SystemPoller
    world: World
    now: Exposed = field(default_factory=lambda: Exposed({}))
    polls: int = 0
    _counters: dict[Series, float] = field(default_factory=dict)
    _may_fall: set[Series] = field(default_factory=set)

    async def observe(self) -> Exposed:
        """Polls once; raises AssertionError for a violation."""
        self.now = await polled(self.poller)
        self.polls += 1
        wrong = [*self._label_faults(), *self._counter_faults(), *self._value_faults()]
        assert wrong == [], (self.poller.source_name, self.polls, wrong)
        return self.now

    async def look_while(self, moving: asyncio.Task[T]) -> None:
        while not moving.done():
            await self.observe()

    def forgive_restart(self, server: str) -> None:
        """What that server counts may begin again, once; so do an account's counts when it was
        the only server, for they are sums over all."""
        alone = self.world.servers == {server}
        self._may_fall |= {
            key
            for key in self._counters
            if ("server", server) in key[1] or (alone and key[0].startswith("account_"))
        }

    def _label_faults(self) -> list[str]:
        faults = []
        for name, labels in self.now.samples:
            metric = catalog.BY_NAME[PREFIX + name]
            # The owner's labels are there only where the metadata sets them.
            optional = {*catalog.OWNER_LABELS, *catalog.WRITER_LABELS}
            found = {label for label, _ in labels}
            if found - {*metric.labels} or {*metric.labels} - found - optional:
                faults.append(f"{name} has labels of its own: {sorted(labels)}")
            elif not self.world.knows(labels):
                faults.append(f"{name} belongs to no asset: {sorted(labels)}")
        return faults

    def _counter_faults(self) -> list[str]:
        faults = []
        for key, value in self.now.samples.items():
            if not key[0].endswith("_total"):
                continue
            before, self._counters[key] = self._counters.get(key, 0.0), value
            if value < before and not self._is_forgiven(key):
                faults.append(f"{key[0]} {sorted(key[1])} fell from {before} to {value}")
        return faults

    def _is_forgiven(self, counter: Series) -> bool:
        forgiven = counter in self._may_fall
        self._may_fall.discard(counter)
        return forgiven

    def _value_faults(self) -> list[str]:
        faults = []
        reported: dict[Asset, dict[str, float]] = {}
        for (name, labels), value in self.now.samples.items():
            asset, metric = _asset(labels), catalog.BY_NAME[PREFIX + name]
            # What the exporter itself counts or concludes may outlive its leader.
            from_response = metric.origin is Origin.RESPONSE and metric.kind is not Kind.INFO
            if len(asset) > 1 and from_response:
                reported.setdefault(asset, {})[name.partition("_")[2]] = value
        for asset, values in reported.items():
            if values["up"] == 0:
                faults += [f"{asset} is down, but has {name}" for name in values if name != "up"]
                continue
            for name, truth in self.world.assets[asset].items():
                if values.get(name) != truth:
                    faults.append(f"{asset} {name} is {values.get(name)}, not {truth}")
        return faults

    def down(self) -> set[Asset]:
        """Whatever is not there or not up."""
        up = {
            _asset(labels)
            for (name, labels), value in self.now.samples.items()
            if name in ("stream_up", "consumer_up") and value == 1
        }
        return set(self.world.assets) - up


@dataclass
class Recorders:
    """All three sources at once, none waiting for another."""

    all: Sequence[Recorder]

    async def observe(self) -> None:
        async with asyncio.TaskGroup() as group:
            for recorder in self.all:
                group.create_task(recorder.observe())

    async def observe_during(self, move: Coroutine[Any, Any, T]) -> T:
        """Each polls as often as it can until the move is done."""
        async with asyncio.TaskGroup() as group:
            moving = group.create_task(move)
            for recorder in self.all:
                group.create_task(recorder.look_while(moving))
        return moving.result()

    async def observe_until(
        self, holds: Callable[[Exposed], bool], otherwise: str, *, but: str = ""
    ) -> None:
        """Until it holds for every source; `but` names one that cannot know."""
        async with asyncio.TaskGroup() as group:
            for one in self.all:
                if (name := one.poller.source_name) != but:
                    group.create_task(until(one.observe, holds, f"{name}: {otherwise}"))

    async def observe_until_down(self, assets: set[Asset]) -> None:
        """Until these are down, and nothing else is."""

        async def down(one: Recorder) -> set[Asset]:
            await one.observe()
            return one.down()

        async with asyncio.TaskGroup() as group:
            for one in self.all:
                otherwise = f"{one.poller.source_name}: other than {assets} are down"
                group.create_task(until(partial(down, one), assets.__eq__, otherwise))

    async def observe_until_all_is_up(self) -> None:
        await self.observe_until_down(set())

    def forgive_restart(self, server: str) -> None:
        for recorder in self.all:
            recorder.forgive_restart(server)


@asynccontextmanager
async def recorders(
    place: NatsServer | NatsCluster, world: World, sources: Sequence[str] = SOURCES
) -> AsyncIterator[Recorders]:
    async with AsyncExitStack() as stack:
        made = [
            Recorder(await stack.enter_async_context(polling(place, source)), world)
            for source in SOURCES
            if source in sources
        ]
        yield Recorders(made)


def _asset(labels: Labels) -> Asset:
    reported = dict(labels)
    return tuple(reported[name] for name in ("account", "stream", "consumer") if name in reported)
