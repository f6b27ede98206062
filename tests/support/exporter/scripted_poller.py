"""A poller with a scripted source, and what the poller serves."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from exporter import catalog
from exporter.exposition.text_format import Format, assemble
from exporter.model import UNNAMED, Consumer, Outcome, Server, Snapshot, Stream
from exporter.polling.loop import SystemPoller
from exporter.polling.scrape_view import ScrapeView
from exporter.polling.supervisor import system_samples
from exporter.samples.render import Limits, Renderer

_SYSTEM = re.compile(r'system="([^"]*)"')
NOW = 1_794_800_000.0
INTERVAL = 15.0
RESPONDED = (Outcome("stream_list", True, 0.01), Outcome("consumer_list", True, 0.02))
REFUSED = (Outcome("stream_list", False, 0.1, "connection", "nats://127.0.0.1:1: refused"),)
WORKER = Consumer("APP", "ORDERS", "worker", True, "", "n1", None, num_pending=7)
ORDERS = Stream("APP", "ORDERS", True, "", "n1", "", None)


def snapshot(taken: float = NOW, **changes: Any) -> Snapshot:
    defaults: dict[str, Any] = {
        "streams": (ORDERS,),
        "consumers": (WORKER,),
        "servers": (Server("n1", "ID1", True),),
        "outcomes": RESPONDED,
        "servers_expected": 1,
        "servers_responding": 1,
    }
    return Snapshot("test", taken, **(defaults | changes))


def outage(taken: float = NOW) -> Snapshot:
    """No response: the source still lists the server, as down."""
    return Snapshot(
        "test",
        taken,
        servers=(Server("n1", "ID1", False),),
        outcomes=REFUSED,
        servers_expected=1,
        servers_responding=0,
        complete=False,
    )


@dataclass
class MemorySource:
    """Returns the given snapshots, one per poll, the last one for ever."""

    responses: list[Snapshot | Exception]
    deadlines: list[float] = field(default_factory=list)
    closed: bool = False
    before_response: Callable[[], Awaitable[None]] | None = None

    async def poll(self, deadline: float) -> Snapshot:
        self.deadlines.append(deadline)
        if self.before_response is not None:
            await self.before_response()
        response = self.responses.pop(0) if len(self.responses) > 1 else self.responses[0]
        if isinstance(response, Exception):
            raise response
        return response

    async def close(self) -> None:
        self.closed = True


def poller_of(
    *responses: Snapshot | Exception,
    interval: float = INTERVAL,
    timeout: float = 10.0,
    limits: Limits | None = None,
) -> tuple[SystemPoller, MemorySource]:
    source = MemorySource(list(responses))
    renderer = Renderer("test", limits=limits or Limits())
    return SystemPoller(
        "test", "account", ("nats://x",), source, renderer, interval, timeout
    ), source


async def polled(poller: SystemPoller, times: int = 1, at: float = NOW) -> None:
    poller.clock = lambda: at
    for _ in range(times):
        await poller.poll_once()


def unnamed_poller(
    *responses: Snapshot | Exception, interval: float = INTERVAL, naming_seconds: float = 60.0
) -> SystemPoller:
    """Of a system that the settings do not name."""
    poller, _ = poller_of(*responses, interval=interval)
    poller.system, poller.unnamed, poller.naming_seconds = UNNAMED, True, naming_seconds
    return poller


def exposed_systems(poller: SystemPoller, now: float = NOW) -> set[str]:
    """The values of the label `system` of what a scrape gets, without the poll's own outcome."""
    view = ScrapeView(now, ((poller.system, poller.state),))
    lines = served_lines(poller, now)
    names = {found[1] for line in lines if (found := _SYSTEM.search(line))}
    ages = (s for s in view.self_samples() if s.metric is catalog.SNAPSHOT_AGE_SECONDS)
    return names | {sample.labels[0] for sample in ages}


def served_names(poller: SystemPoller, now: float) -> set[str]:
    return {block.metric.name for block in poller.served(now).blocks}


def served_lines(poller: SystemPoller, now: float) -> list[str]:
    """Without comments."""
    text = b"".join(assemble([poller.served(now).blocks], b"", Format.TEXT).plain_chunks()).decode()
    return [line for line in text.splitlines() if not line.startswith("#")]


def own(poller: SystemPoller, now: float = NOW) -> dict[tuple[str, ...], float]:
    """The exporter's own series of this system, without their common first label."""
    return {
        (sample.metric.name.removeprefix("streamgauge_"), *sample.labels[1:]): sample.value
        for sample in system_samples(poller, now)
    }
