"""The demo's living workload: healthy and sick actors on one account, named for what they do."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final

import nats
from nats.js import JetStreamContext

from streamgauge.demo.actors import invoices, notices, orders, payments, settings, signups

# What a visitor should look at, and what is wrong there.
STORIES: Final = (
    ("ORDERS/healthy", "keeps up: acks at once"),
    ("ORDERS/slow", "falls behind for half a minute, then catches up"),
    ("PAYMENTS/stuck", "took all it may hold and never acks: its backlog only grows"),
    ("INVOICES/poison", "fails on every tenth message, again and again"),
    ("SIGNUPS", "everything is published three times under one message id"),
    ("NOTICES/push", "a push consumer with a subscriber"),
    ("KV_settings", "a key-value bucket"),
)
Actor = Callable[[JetStreamContext], Awaitable[None]]
ACTORS: Final[tuple[Actor, ...]] = (
    orders.publish,
    orders.consume_healthily,
    orders.consume_slowly,
    payments.publish,
    payments.consume_without_acks,
    invoices.publish,
    invoices.consume_and_choke,
    signups.publish_copies,
    signups.consume,
    notices.publish,
    notices.consume,
    settings.write,
)


log = logging.getLogger(__name__)


async def prepare(jetstream: JetStreamContext) -> None:
    """Makes all streams and consumers; what is there already stays as it is."""
    for room in (orders, payments, invoices, signups, notices, settings):
        await room.prepare(jetstream)


@asynccontextmanager
async def workload(url: str, user: str, password: str) -> AsyncIterator[asyncio.Task[None]]:
    """Runs the actors meanwhile; the task ends only when one of them fails."""
    client = await nats.connect(
        url, user=user, password=password, name="streamgauge demo", error_cb=_say
    )
    try:
        # Patient: a busy laptop is no reason to end the demo.
        jetstream = client.jetstream(timeout=30)
        await prepare(jetstream)
        task = asyncio.create_task(_act(jetstream), name="workload")
        try:
            yield task
        finally:
            task.cancel()
            await asyncio.wait({task})
    finally:
        # The server may have died first; a connection that is gone needs no closing.
        with suppress(OSError):
            await client.close()


async def _say(error: Exception) -> None:
    """One line instead of the library's traceback; an actor that cannot go on raises anyway."""
    log.warning("workload: %s: %s", type(error).__name__, error)


async def _act(jetstream: JetStreamContext) -> None:
    async with asyncio.TaskGroup() as group:
        for actor in ACTORS:
            group.create_task(_act_again(actor, jetstream), name=actor.__module__)


async def _act_again(actor: Actor, jetstream: JetStreamContext) -> None:
    """A busy machine may miss a deadline: said in one line, and the actor begins anew."""
    while True:
        try:
            await actor(jetstream)
        except TimeoutError:
            log.warning("workload: %s: no answer in time, trying again", actor.__module__)
            await asyncio.sleep(1)
