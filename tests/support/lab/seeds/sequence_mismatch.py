"""Numbers 1 to 7: a sequence mismatch, and what is taken for one."""

from __future__ import annotations

import asyncio
from typing import Final

from nats.aio.msg import Msg
from support.lab.failure import Failure, Lab, acknowledge, drop, seconds
from support.lab.seeds.kinds import Redelivered
from support.nats.servers import APP


class Lag(Failure):
    number, stream, alert = 1, "LAG", "ConsumerBacklogGrowing"

    async def prepare(self, lab: Lab) -> None:
        await lab.api.stream(self.stream, subjects=["lag"])
        await lab.api.consumer(self.stream, "worker", ack_wait=seconds(60))

    async def provoke(self, lab: Lab) -> None:
        async def slowly(message: Msg) -> None:
            await asyncio.sleep(0.5)
            await message.ack()

        lab.start(lab.publisher("lag", 10))
        lab.start(lab.worker(self.stream, "worker", slowly, batch=1))

    async def remedy(self, lab: Lab) -> None:
        await lab.cli("nats consumer info LAG worker")
        for _ in range(4):
            lab.start(lab.worker(self.stream, "worker", acknowledge))


class Recreated(Failure):
    number, stream, alert = 2, "RECREATED", "ConsumerRecreated"

    async def prepare(self, lab: Lab) -> None:
        await lab.api.stream(self.stream, subjects=["recreated"])
        await lab.api.consumer(self.stream, "worker")
        await lab.api.publish("recreated", 20)
        for message in await lab.api.fetch(self.stream, "worker", 20):
            await message.ack()

    async def provoke(self, lab: Lab) -> None:
        await lab.api.publish("recreated", 10)  # the new one skips them
        await lab.api.request("CONSUMER.DELETE.RECREATED.worker")
        await lab.api.consumer(self.stream, "worker", deliver_policy="new")


class LostAcks(Redelivered):
    number, stream, alert, subject = 3, "LOSTACKS", "ConsumerRedeliveryHigh", "lostacks"


class RetentionOverran(Failure):
    number, stream, alert = 4, "OVERRUN", "ConsumerMessagesLost"
    beside = ("ConsumerRetentionHeadroomLow", "ConsumerNoWorkerPulls")
    LOST: Final = 300

    async def prepare(self, lab: Lab) -> None:
        await lab.api.stream(self.stream, subjects=["overrun"], max_msgs=200, discard="old")
        await lab.api.consumer(self.stream, "worker")

    async def provoke(self, lab: Lab) -> None:
        for _ in range(200 + self.LOST):  # at once: the text counts what one window has
            await lab.api.client.publish("overrun", b"x")
        await lab.api.client.flush(timeout=30)

    async def true_numbers(self, lab: Lab) -> tuple[float, float] | None:
        return self.LOST, self.LOST

    async def remedy(self, lab: Lab) -> None:
        await lab.cli("nats stream edit OVERRUN --max-msgs 5000 --force")
        lab.start(lab.worker(self.stream, "worker", acknowledge))


class MissedDeliveries(Failure):
    """One of two push subscribers does not read: the server closes its connection."""

    number, stream, alert = 6, "", "ClientsTooSlow"

    async def prepare(self, lab: Lab) -> None:
        await lab.api.stream("PUSHED", subjects=["pushed"])
        push = {"deliver_subject": "to.slow", "ack_policy": "none", "ack_wait": 0}
        await lab.api.consumer("PUSHED", "push", **push)
        await lab.api.client.subscribe("to.slow", cb=drop)

    async def provoke(self, lab: Lab) -> None:
        subscribed = asyncio.Event()
        lab.start(self._subscribe(lab, subscribed))
        await subscribed.wait()
        for _ in range(200):
            await lab.api.jetstream.publish("pushed", b"x" * 500_000)

    async def _subscribe(self, lab: Lab, subscribed: asyncio.Event) -> None:
        host, port = lab.server.url.rpartition("/")[2].split(":")
        _, writer = await asyncio.open_connection(host, int(port), limit=1024)
        login = f'{{"verbose":false,"user":"{APP.user}","pass":"{APP.password}"}}'
        writer.write(f"CONNECT {login}\r\nSUB to.slow 1\r\nPING\r\n".encode())
        await writer.drain()
        subscribed.set()
        try:
            await asyncio.Event().wait()  # without reading
        finally:
            writer.transport.abort()
