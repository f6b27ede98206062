"""Numbers 25 to 30: messages that are delivered again."""

from __future__ import annotations

import asyncio

from nats.aio.msg import Msg
from support.lab.failure import Failure, Lab, drop, seconds
from support.lab.seeds.kinds import Abandoned, Redelivered


class LateAcks(Failure):
    alert = "ConsumerAckWaitTooShort"
    beside = ("ConsumerRedeliveryHigh",)

    async def prepare(self, lab: Lab) -> None:
        await lab.api.stream(self.stream, subjects=[self.stream.lower()])
        await lab.api.consumer(self.stream, "worker", ack_wait=seconds(2))

    async def provoke(self, lab: Lab) -> None:
        async def finish(message: Msg) -> None:
            await asyncio.sleep(3)
            await message.ack()

        async def response(message: Msg) -> None:
            lab.start(finish(message))

        lab.start(lab.publisher(self.stream.lower(), 5))
        lab.start(lab.worker(self.stream, "worker", response))

    async def remedy(self, lab: Lab) -> None:
        await lab.cli(f"nats consumer edit {self.stream} worker --wait 60s --force")


class AckWaitShort(LateAcks):
    number, stream = 25, "HASTY"


class Crashes(Redelivered):
    number, stream, alert, subject = 26, "CRASHES", "ConsumerRedeliveryHigh", "crashes"


class DownstreamHangs(Failure):
    number, stream, alert = 27, "HANGS", "ConsumerAckPendingFull"
    # At this tempo the share of redeliveries outlives the page that mutes its ticket.
    beside = ("ConsumerAckPendingHigh", "ConsumerAckFloorStalled", "ConsumerRedeliveryHigh")

    async def prepare(self, lab: Lab) -> None:
        await lab.api.stream(self.stream, subjects=["hangs"])
        await lab.api.consumer(self.stream, "worker", ack_wait=seconds(10), max_ack_pending=20)
        self._mended = asyncio.Event()

    async def provoke(self, lab: Lab) -> None:
        lab.start(lab.worker(self.stream, "worker", self._response, batch=20))
        await lab.api.publish("hangs", 60)

    async def _response(self, message: Msg) -> None:
        if self._mended.is_set():
            await message.ack()

    async def remedy(self, lab: Lab) -> None:
        await lab.cli("nats consumer info HANGS worker")
        self._mended.set()


class DownstreamNaks(Failure):
    number, stream, alert = 27, "NAKS", "ConsumerRedeliveryLoop"
    beside = ("ConsumerNakLoop", "ConsumerRedeliveryHigh", "ConsumerAckFloorStalled")

    async def prepare(self, lab: Lab) -> None:
        await lab.api.stream(self.stream, subjects=["naks"])
        await lab.api.consumer(self.stream, "worker", ack_wait=seconds(30))
        self._mended = asyncio.Event()

    async def provoke(self, lab: Lab) -> None:
        await lab.api.publish("naks", 20)
        lab.start(lab.worker(self.stream, "worker", self._response))

    async def _response(self, message: Msg) -> None:
        if self._mended.is_set():
            await message.ack()
            return
        await asyncio.sleep(0.1)
        await message.nak()

    async def remedy(self, lab: Lab) -> None:
        await lab.cli("nats consumer pause NAKS worker 1h --force")
        self._mended.set()
        await lab.cli("nats consumer resume NAKS worker --force")


class PoisonGivenUp(Abandoned):
    number, stream = 28, "GIVENUP"


class LateAcksDone(LateAcks):
    number, stream = 29, "LATEACKS"


class StuckWorkqueue(Failure):
    number, stream, alert = 30, "QUEUE", "WorkqueueStuckMessages"
    beside = ("ConsumerMessagesAbandoned",)

    async def prepare(self, lab: Lab) -> None:
        await lab.api.stream(self.stream, subjects=["queue"], retention="workqueue")
        await lab.api.consumer(self.stream, "worker", ack_wait=seconds(2), max_deliver=1)

    async def provoke(self, lab: Lab) -> None:
        await lab.api.publish("queue", 2)
        lab.start(lab.worker(self.stream, "worker", drop))

    async def true_numbers(self, lab: Lab) -> tuple[float, float] | None:
        return 2.0, 2.0

    async def remedy(self, lab: Lab) -> None:
        for seq in (1, 2):
            await lab.cli(f"nats stream rmm QUEUE {seq} --force")
