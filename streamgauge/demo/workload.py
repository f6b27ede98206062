"""The workload of the demo on one account: healthy actors, and actors with faults."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Final

import nats

from streamgauge.cancellation import cancel
from streamgauge.demo.actors import key_value_bucket, orders
from streamgauge.demo.actors.context import RETRY_PAUSE_SECONDS, ActorContext
from streamgauge.demo.faults.registry import FaultRegistry
from streamgauge.demo.nats_server.clock_proxy import WrongClock
from streamgauge.demo.nats_server.cluster import NatsCluster
from streamgauge.demo.plan import BROKEN_AT_START

# Long: a busy laptop must not end the demo.
REQUEST_TIMEOUT_SECONDS: Final = 30.0

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Workload:
    """`ended` is done only when an actor fails."""

    registry: FaultRegistry
    ended: asyncio.Task[None]


@asynccontextmanager
async def workload(
    url: str | Sequence[str],
    user: str,
    password: str,
    *,
    cluster: NatsCluster | None = None,
    clock: WrongClock | None = None,
    broken: Iterable[str] = BROKEN_AT_START,
) -> AsyncIterator[Workload]:
    """Runs the actors in the background."""
    client = await nats.connect(
        [url] if isinstance(url, str) else list(url),
        user=user,
        password=password,
        name="streamgauge demo",
        error_cb=_log_error,
        max_reconnect_attempts=-1,
        reconnect_time_wait=RETRY_PAUSE_SECONDS,
    )
    try:
        jetstream = client.jetstream(timeout=REQUEST_TIMEOUT_SECONDS)
        context = ActorContext(client, jetstream, clock or WrongClock(), cluster)
        registry = await _prepared(context, broken)
        task = asyncio.create_task(_act(context, registry), name="workload")
        try:
            yield Workload(registry, task)
        finally:
            task.cancel()
            await asyncio.wait({task})
    finally:
        # The server may have ended first.
        with suppress(OSError):
            await client.close()


async def _prepared(context: ActorContext, broken: Iterable[str]) -> FaultRegistry:
    registry = FaultRegistry(context)
    for actor in (orders, key_value_bucket):
        await actor.prepare(context)
    await registry.prepare()
    for name in broken:
        await registry.break_(name)
    return registry


async def _log_error(error: Exception) -> None:
    """One line instead of the traceback of nats-py; an actor that cannot go on raises."""
    log.warning("nats client error: type=%s error=%s", type(error).__name__, error)


async def _act(context: ActorContext, registry: FaultRegistry) -> None:
    """Until one of them fails, or all are cancelled."""
    actors = (*orders.actors(context), *key_value_bucket.actors(context), *registry.actors())
    tasks = [asyncio.create_task(actor) for actor in actors]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        for task in tasks:
            if task.done():
                task.result()
    finally:
        await cancel(tasks)
        await asyncio.gather(*tasks, return_exceptions=True)
