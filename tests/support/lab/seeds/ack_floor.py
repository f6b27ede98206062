"""Numbers 17 to 24: an ack floor that stays behind."""

from __future__ import annotations

import asyncio

from nats.aio.msg import Msg
from support.lab.failure import Failure, Lab, acknowledge, seconds
from support.lab.odd_patterns import out_of_order_acks
from support.lab.seeds.kinds import Abandoned, Configured

from streamgauge.cancellation import cancel


class OutOfOrder(Failure):
    """Many workers at once; the ack floor follows in steps. Normal: nothing is raised."""

    number, stream, alert = 17, "PARALLEL", ""

    async def prepare(self, lab: Lab) -> None:
        await out_of_order_acks(lab)

    async def provoke(self, lab: Lab) -> None:
        """It goes on all the time."""


class Poison(Failure):
    number, stream, alert = 18, "POISON", "ConsumerAckFloorStalled"
    beside = ("ConsumerAckWaitTooShort", "ConsumerRedeliveryHigh")

    async def prepare(self, lab: Lab) -> None:
        await lab.api.stream(self.stream, subjects=["poison"])
        await lab.api.consumer(self.stream, "worker", ack_wait=seconds(2))

    async def provoke(self, lab: Lab) -> None:
        async def response(message: Msg) -> None:
            if message.metadata.sequence.stream != 1:
                await message.ack()

        lab.start(lab.publisher("poison", 5))
        lab.start(lab.worker(self.stream, "worker", response))

    async def remedy(self, lab: Lab) -> None:
        await lab.cli("nats stream get POISON 1")
        await lab.cli("nats stream rmm POISON 1 --force")


class SlowTypes(Failure):
    """One message takes long, with in-progress acks, while the others pass it."""

    number, stream, alert = 19, "SLOWTYPE", "ConsumerAckFloorGapHigh"

    async def prepare(self, lab: Lab) -> None:
        await lab.api.stream(self.stream, subjects=["slowtype"])
        await lab.api.consumer(self.stream, "worker", ack_wait=seconds(60), max_ack_pending=10)
        self._done = asyncio.Event()

    async def provoke(self, lab: Lab) -> None:
        async def finish(message: Msg) -> None:
            while not self._done.is_set():
                await message.in_progress()
                await asyncio.sleep(5)
            await message.ack()

        async def response(message: Msg) -> None:
            if message.metadata.sequence.stream == 1:
                lab.start(finish(message))
            else:
                await message.ack()

        lab.start(lab.publisher("slowtype", 5))
        lab.start(lab.worker(self.stream, "worker", response, batch=1))

    async def remedy(self, lab: Lab) -> None:
        self._done.set()


class Crash(Failure):
    number, stream, alert = 20, "CRASH", "ConsumerNoWorkerPulls"

    async def prepare(self, lab: Lab) -> None:
        await lab.api.stream(self.stream, subjects=["crash"])
        await lab.api.consumer(self.stream, "worker", ack_wait=seconds(5))
        self._tasks = [
            lab.start(lab.publisher("crash", 2)),
            lab.start(lab.worker(self.stream, "worker", acknowledge)),
        ]

    async def provoke(self, lab: Lab) -> None:
        await cancel([self._tasks[1]])
        await lab.api.publish("crash", 1)
        await lab.api.fetch(self.stream, "worker", 1)  # in flight when the last worker crashed

    async def remedy(self, lab: Lab) -> None:
        await lab.cli("nats consumer info CRASH worker")
        lab.start(lab.worker(self.stream, "worker", acknowledge))


class UnlimitedPending(Configured):
    number, stream, check = 21, "UNLIMITED", "max-ack-pending-unlimited"
    fix = "nats consumer edit UNLIMITED worker --max-pending 1000 --force"

    async def provoke(self, lab: Lab) -> None:
        await lab.api.stream(self.stream, subjects=["unlimited"])
        await lab.api.consumer(self.stream, "worker", ack_wait=seconds(30), max_ack_pending=-1)


class LongAckWait(Failure):
    """A worker is gone with two messages, and the server waits two hours for it."""

    number, stream, alert, check = 22, "LONGWAIT", "ConfigFinding", "ack-wait-long"

    async def prepare(self, lab: Lab) -> None:
        await lab.api.stream(self.stream, subjects=["longwait"])
        await lab.api.consumer(self.stream, "worker", ack_wait=seconds(7200))

    async def provoke(self, lab: Lab) -> None:
        await lab.api.publish("longwait", 2)
        await lab.api.fetch(self.stream, "worker", 2)

    async def remedy(self, lab: Lab) -> None:
        lab.start(lab.worker(self.stream, "worker", acknowledge))
        await lab.cli("nats consumer edit LONGWAIT worker --wait 30s --force")


class Exhausted(Abandoned):
    number, stream = 23, "EXHAUSTED"
