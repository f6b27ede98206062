"""Work that looks odd and is well: no page and no ticket may come of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from nats.aio.msg import Msg
from nats.js.errors import APIError
from support.lab.failure import Lab, acknowledge, seconds

from streamgauge.cancellation import cancel

Pattern = Callable[[Lab], Awaitable[None]]


async def long_jobs(lab: Lab) -> None:
    """Few jobs that take longer than the lab, with in-progress acks and a full window."""
    await lab.api.stream("JOBS", subjects=["jobs"])
    await lab.api.consumer("JOBS", "worker", ack_wait=seconds(6), max_ack_pending=4)
    await lab.api.publish("jobs", 20)

    async def work(message: Msg) -> None:
        while True:
            await message.in_progress()
            await asyncio.sleep(2)

    async def response(message: Msg) -> None:
        lab.start(work(message))

    lab.start(lab.worker("JOBS", "worker", response, batch=1))


async def declared_long_jobs(lab: Lab) -> None:
    """Without in-progress acks, but the owner says how long a job may take."""
    await lab.api.stream("RENDER", subjects=["render"])
    metadata = {"io.streamgauge.long-jobs": "2h"}
    options = {"ack_wait": seconds(7200), "max_ack_pending": 4, "metadata": metadata}
    await lab.api.consumer("RENDER", "worker", **options)
    await lab.api.publish("render", 20)
    await lab.api.fetch("RENDER", "worker", 4)


async def delayed_naks(lab: Lab) -> None:
    """A nak with delay as a scheduler: each message is done at its second delivery."""
    await lab.api.stream("TIMERS", subjects=["timers"])
    await lab.api.consumer("TIMERS", "worker", ack_wait=seconds(30))

    async def response(message: Msg) -> None:
        if message.metadata.num_delivered > 1:
            await message.ack()
        else:
            await message.nak(delay=20 / lab.speed)

    lab.start(lab.publisher("timers", 1))
    lab.start(lab.worker("TIMERS", "worker", response))


async def batch_job(lab: Lab) -> None:
    """A worker comes once a day, and the owner says so."""
    await lab.api.stream("NIGHTLY", subjects=["nightly"])
    metadata = {"io.streamgauge.idle-schedule": "25h"}
    await lab.api.consumer("NIGHTLY", "worker", ack_wait=seconds(30), metadata=metadata)
    lab.start(lab.publisher("nightly", 1))


async def compare_and_set(lab: Lab) -> None:
    """Writers of a bucket race; the loser reads again."""
    config = {"subjects": ["$KV.locks.>"], "max_msgs_per_subject": 1, "allow_rollup_hdrs": True}
    metadata = {"io.streamgauge.idempotent-writers": "true"}
    await lab.api.stream("KV_locks", discard="new", metadata=metadata, **config)

    async def write() -> None:
        number = 0
        while True:
            headers = {"Nats-Expected-Last-Subject-Sequence": "1" if number % 3 else str(number)}
            try:
                await lab.api.jetstream.publish("$KV.locks.a", b"x", headers=headers)
            except APIError:
                await lab.api.jetstream.publish("$KV.locks.a", b"x")
            number += 1
            await asyncio.sleep(0.3)

    lab.start(write())


async def redundant_writers(lab: Lab) -> None:
    """Two writers send every message with the same id: one copy is a duplicate."""
    metadata = {"io.streamgauge.idempotent-writers": "true"}
    await lab.api.stream("TWICE", subjects=["twice"], metadata=metadata)

    async def write() -> None:
        number = 0
        while True:
            for _ in range(2):
                headers = {"Nats-Msg-Id": str(number)}
                await lab.api.jetstream.publish("twice", b"x", headers=headers)
            number += 1
            await asyncio.sleep(0.3)

    lab.start(write())


async def back_pressure(lab: Lab) -> None:
    """A full stream that refuses is meant: publishers wait and try again."""
    metadata = {"io.streamgauge.back-pressure": "true"}
    await lab.api.stream(
        "BUFFER", subjects=["buffer"], max_msgs=50, discard="new", retention="workqueue",
        metadata=metadata,
    )  # fmt: skip
    await lab.api.consumer("BUFFER", "worker", ack_wait=seconds(30))

    async def write() -> None:
        while True:
            try:
                await lab.api.publish("buffer", 1)
            except APIError:
                await asyncio.sleep(0.5)

    async def slowly(message: Msg) -> None:
        await asyncio.sleep(0.2)
        await message.ack()

    lab.start(write())
    lab.start(lab.worker("BUFFER", "worker", slowly, batch=1))


async def out_of_order_acks(lab: Lab) -> None:
    """Many workers at once; the ack floor follows in steps. Number 17 of the seed failures."""
    await lab.api.stream("PARALLEL", subjects=["parallel"])
    await lab.api.consumer("PARALLEL", "worker", ack_wait=seconds(30))

    async def finish(message: Msg) -> None:
        await asyncio.sleep(message.metadata.sequence.stream % 7 / 3)
        await message.ack()

    async def response(message: Msg) -> None:
        lab.start(finish(message))

    lab.start(lab.publisher("parallel", 10))
    lab.start(lab.worker("PARALLEL", "worker", response))


async def ephemerals_come_and_go(lab: Lab) -> None:
    await lab.api.stream("VIEWS", subjects=["views"])

    async def view() -> None:
        number = 0
        while True:
            options = {"ephemeral": True, "inactive_threshold": seconds(5)}
            await lab.api.consumer("VIEWS", f"view{number}", ack_wait=seconds(5), **options)
            number += 1
            await asyncio.sleep(3)

    lab.start(lab.publisher("views", 2))
    lab.start(view())


async def purges(lab: Lab) -> None:
    """An operator purges, while a consumer reads. Part of number 10."""
    await lab.api.stream("PURGED", subjects=["purged"])
    await lab.api.consumer("PURGED", "worker", ack_wait=seconds(30))

    async def purge() -> None:
        while True:
            await asyncio.sleep(10)
            await lab.api.request("STREAM.PURGE.PURGED", {})

    lab.start(lab.publisher("purged", 5))
    lab.start(lab.worker("PURGED", "worker", acknowledge))
    lab.start(purge())


async def blue_and_green(lab: Lab) -> None:
    """Each deploy makes a durable of its own and removes the one before it."""
    await lab.api.stream("DEPLOYED", subjects=["deployed"])

    async def deploy() -> None:
        number, old = 0, None
        while True:
            name = f"deploy{number}"
            await lab.api.consumer("DEPLOYED", name, ack_wait=seconds(30), deliver_policy="new")
            new = lab.start(lab.worker("DEPLOYED", name, acknowledge))
            if old is not None:
                await lab.pause(5)  # both work for a while
                await cancel([old])
                await lab.api.request(f"CONSUMER.DELETE.DEPLOYED.deploy{number - 1}")
            number, old = number + 1, new
            await lab.pause(60)

    lab.start(lab.publisher("deployed", 2))
    lab.start(deploy())


ODD: Final[tuple[Pattern, ...]] = (
    long_jobs, declared_long_jobs, delayed_naks, batch_job, compare_and_set, redundant_writers,
    back_pressure, out_of_order_acks, ephemerals_come_and_go, purges, blue_and_green,
)  # fmt: skip
