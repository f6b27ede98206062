"""Usual work of each kind of stream and consumer: no page and no ticket may come of it."""

from __future__ import annotations

import asyncio
from typing import Final

from nats.aio.msg import Msg
from nats.errors import TimeoutError as NatsTimeoutError
from support.lab.failure import Lab, acknowledge, seconds
from support.lab.odd_patterns import Pattern

from streamgauge.cancellation import cancel


async def idle(lab: Lab) -> None:
    """A stream with messages, a durable that has read all of them, and nothing more."""
    await lab.api.stream("IDLE", subjects=["idle"])
    await lab.api.consumer("IDLE", "worker", ack_wait=seconds(30))
    await lab.api.publish("idle", 5)
    for message in await lab.api.fetch("IDLE", "worker", 5):
        await message.ack()


async def push_with_heartbeat(lab: Lab) -> None:
    await lab.api.stream("NOTICES", subjects=["notices"])
    push = {"deliver_subject": "to.notices", "flow_control": True, "idle_heartbeat": seconds(5)}
    await lab.api.consumer("NOTICES", "push", ack_wait=seconds(30), **push)

    async def response(message: Msg) -> None:
        if message.reply and not message.headers:
            await message.ack()
        elif message.reply:
            await message.respond(b"")  # flow control

    await lab.api.client.subscribe("to.notices", cb=response)
    lab.start(lab.publisher("notices", 2))


async def ordered_reader(lab: Lab) -> None:
    """Without acks; the library makes its consumer and forgets it."""
    await lab.api.stream("FEED", subjects=["feed"])

    async def read(_: Msg) -> None:
        return

    await lab.api.jetstream.subscribe("feed", stream="FEED", ordered_consumer=True, cb=read)
    lab.start(lab.publisher("feed", 2))


async def mirror_and_source(lab: Lab) -> None:
    """Copies of a busy stream and of one that gets nothing."""
    for name in ("BUSY", "SILENT"):
        await lab.api.stream(name, subjects=[name.lower()])
        await lab.api.publish(name.lower(), 5)
        await lab.api.stream(f"{name}_COPY", mirror={"name": name})
    await lab.api.stream("GATHERED", sources=[{"name": "BUSY"}, {"name": "SILENT"}])
    lab.start(lab.publisher("busy", 2))


async def parts_of_a_work_queue(lab: Lab) -> None:
    await lab.api.stream("TASKS", subjects=["tasks.*"], retention="workqueue")
    for part in ("mail", "print"):
        await lab.api.consumer("TASKS", part, ack_wait=seconds(30), filter_subject=f"tasks.{part}")
        lab.start(lab.publisher(f"tasks.{part}", 2))
        lab.start(lab.worker("TASKS", part, acknowledge))


async def interest_of_two(lab: Lab) -> None:
    await lab.api.stream("SHARED", subjects=["shared"], retention="interest")
    for reader in ("one", "two"):
        await lab.api.consumer("SHARED", reader, ack_wait=seconds(30))
        lab.start(lab.worker("SHARED", reader, acknowledge))
    lab.start(lab.publisher("shared", 2))


async def short_histories(lab: Lab) -> None:
    """Limits remove all the time what the worker has finished long ago."""
    limits = {
        "AGED": {"max_age": seconds(60)},
        "RING": {"max_msgs": 100},
        "LATEST": {"max_msgs_per_subject": 1},
    }
    for name, limit in limits.items():
        await lab.api.stream(name, subjects=[name.lower()], **limit)
        await lab.api.consumer(name, "worker", ack_wait=seconds(30))
        lab.start(lab.publisher(name.lower(), 2))
        lab.start(lab.worker(name, "worker", acknowledge))


async def buckets(lab: Lab) -> None:
    """Keys that are watched, and objects that are replaced."""
    settings = await lab.api.jetstream.create_key_value(bucket="settings", history=3)
    objects = await lab.api.jetstream.create_object_store("files")
    watcher = await settings.watchall()

    async def watch() -> None:
        while True:
            try:
                await watcher.updates(timeout=5)
            except (TimeoutError, NatsTimeoutError):
                continue

    async def write() -> None:
        number = 0
        while True:
            await settings.put(f"key{number % 5}", b"x")
            await objects.put("file", b"x" * 1000)
            number += 1
            await asyncio.sleep(1)

    lab.start(watch())
    lab.start(write())


async def in_memory(lab: Lab) -> None:
    await lab.api.stream("CACHE", subjects=["cache"], storage="memory", max_msgs=500)
    await lab.api.consumer("CACHE", "worker", ack_wait=seconds(30), ack_policy="all")
    lab.start(lab.publisher("cache", 2))
    lab.start(lab.worker("CACHE", "worker", acknowledge))


async def deploys(lab: Lab) -> None:
    """Each deploy costs some messages in flight, which come again: less than one in twenty."""
    await lab.api.stream("ORDERS", subjects=["orders"])
    await lab.api.consumer("ORDERS", "worker", ack_wait=seconds(10))

    async def deploy() -> None:
        while True:
            work = lab.start(lab.worker("ORDERS", "worker", acknowledge))
            await asyncio.sleep(max(120 / lab.speed, 12))
            await cancel([work])
            await lab.api.publish("orders", 3)
            await lab.api.fetch("ORDERS", "worker", 3)

    lab.start(lab.publisher("orders", 5))
    lab.start(deploy())


async def bursts(lab: Lab) -> None:
    await lab.api.stream("BURSTS", subjects=["bursts"])
    await lab.api.consumer("BURSTS", "worker", ack_wait=seconds(60))

    async def burst() -> None:
        while True:
            await lab.api.publish("bursts", round(500 / lab.speed))
            await lab.pause(60)

    async def slowly(message: Msg) -> None:
        await asyncio.sleep(0.05)  # half of the time until the next burst
        await message.ack()

    lab.start(burst())
    lab.start(lab.worker("BURSTS", "worker", slowly))


async def short_batches(lab: Lab) -> None:
    """A job every four minutes that no owner has declared."""
    await lab.api.stream("BATCHES", subjects=["batches"])
    await lab.api.consumer("BATCHES", "worker", ack_wait=seconds(30))

    async def job() -> None:
        while True:
            for message in await lab.api.fetch("BATCHES", "worker", 500):
                await message.ack()
            await lab.pause(240)

    lab.start(lab.publisher("batches", 1))
    lab.start(job())


async def bad_messages_are_ended(lab: Lab) -> None:
    """One in ten cannot be processed; the worker terminates it at once."""
    await lab.api.stream("CHECKED", subjects=["checked"])
    await lab.api.consumer("CHECKED", "worker", ack_wait=seconds(30), max_deliver=5)

    async def response(message: Msg) -> None:
        bad = message.metadata.sequence.stream % 10 == 0
        await (message.term() if bad else message.ack())

    lab.start(lab.publisher("checked", 3))
    lab.start(lab.worker("CHECKED", "worker", response))


async def paused(lab: Lab) -> None:
    """For maintenance, while messages arrive."""
    await lab.api.stream("UPKEEP", subjects=["upkeep"])
    await lab.api.consumer("UPKEEP", "worker", ack_wait=seconds(30))
    request = {"pause_until": "2100-01-01T00:00:00Z"}
    await lab.api.request("CONSUMER.PAUSE.UPKEEP.worker", request)
    lab.start(lab.publisher("upkeep", 1))
    lab.start(lab.worker("UPKEEP", "worker", acknowledge))


PLAIN: Final[tuple[Pattern, ...]] = (
    idle, push_with_heartbeat, ordered_reader, mirror_and_source, parts_of_a_work_queue,
    interest_of_two, short_histories, buckets, in_memory, deploys, bursts, short_batches,
    bad_messages_are_ended, paused,
)  # fmt: skip
