"""The demo's living workload: healthy actors, and those that can be broken, on one account."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Final

import nats

from streamgauge.demo.actors import key_value_bucket, orders
from streamgauge.demo.actors.context import PATIENCE_SECONDS, Stage
from streamgauge.demo.faults.registry import BROKEN_AT_FIRST, Cast
from streamgauge.demo.nats_server.clock_proxy import WrongClock
from streamgauge.demo.nats_server.cluster import NatsCluster

# Patient: a busy laptop is no reason to end the demo.
ANSWER_SECONDS: Final = 30.0

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Workload:
    """`ended` ends only when an actor fails."""

    cast: Cast
    ended: asyncio.Task[None]


@asynccontextmanager
async def workload(
    url: str | Sequence[str],
    user: str,
    password: str,
    *,
    cluster: NatsCluster | None = None,
    clock: WrongClock | None = None,
    broken: Iterable[str] = BROKEN_AT_FIRST,
) -> AsyncIterator[Workload]:
    """Runs the actors meanwhile."""
    client = await nats.connect(
        [url] if isinstance(url, str) else list(url),
        user=user,
        password=password,
        name="streamgauge demo",
        error_cb=_say,
        max_reconnect_attempts=-1,
        reconnect_time_wait=PATIENCE_SECONDS,
    )
    try:
        jetstream = client.jetstream(timeout=ANSWER_SECONDS)
        stage = Stage(client, jetstream, clock or WrongClock(), cluster)
        cast = await _prepared(stage, broken)
        task = asyncio.create_task(_act(stage, cast), name="workload")
        try:
            yield Workload(cast, task)
        finally:
            task.cancel()
            await asyncio.wait({task})
    finally:
        # The server may have died first; a connection that is gone needs no closing.
        with suppress(OSError):
            await client.close()


async def _prepared(stage: Stage, broken: Iterable[str]) -> Cast:
    cast = Cast(stage)
    for room in (orders, key_value_bucket):
        await room.prepare(stage)
    await cast.prepare()
    for name in broken:
        await cast.harm(name)
    return cast


async def _say(error: Exception) -> None:
    """One line instead of the library's traceback; an actor that cannot go on raises anyway."""
    log.warning("workload: %s: %s", type(error).__name__, error)


async def _act(stage: Stage, cast: Cast) -> None:
    """Until one of them fails, or everybody is told to end."""
    actors = (*orders.actors(stage), *key_value_bucket.actors(stage), *cast.actors())
    tasks = [asyncio.create_task(actor) for actor in actors]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        for task in tasks:
            if task.done():
                task.result()
    finally:
        await _end(tasks)


async def _end(tasks: Sequence[asyncio.Task[None]]) -> None:
    """Says it again and again: waiting with a deadline swallows a cancellation that comes together
    with the answer (Python 3.11), and then the actor plays on."""
    while pending := [task for task in tasks if not task.done()]:
        for task in pending:
            task.cancel()
        await asyncio.wait(pending, timeout=0.2)
    await asyncio.gather(*tasks, return_exceptions=True)
