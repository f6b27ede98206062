"""Failures that several of the seeds share."""

from __future__ import annotations

from typing import Any, Final

from nats.aio.msg import Msg
from support.lab.failure import Failure, Lab, acknowledge, drop, seconds

from streamgauge.cancellation import cancel


class Redelivered(Failure):
    """A worker that answers a share of its messages only when they come again."""

    beside = ("ConsumerAckWaitTooShort",)
    by_cli = False
    subject = ""

    async def prepare(self, lab: Lab) -> None:
        await lab.api.stream(self.stream, subjects=[self.subject])
        # A fetch holds its first message for up to a second, and a busy machine delays the ack.
        await lab.api.consumer(self.stream, "worker", ack_wait=seconds(5))

    async def provoke(self, lab: Lab) -> None:
        lab.start(lab.publisher(self.subject, 10))
        self._task = lab.start(lab.worker(self.stream, "worker", self._half))

    async def _half(self, message: Msg) -> None:
        odd = message.metadata.sequence.stream % 2
        if message.metadata.num_delivered > 1 or not odd:
            await message.ack()

    async def true_numbers(self, lab: Lab) -> tuple[float, float] | None:
        return 20.0, 45.0  # every second message comes twice: a third of all deliveries

    async def remedy(self, lab: Lab) -> None:
        await cancel([self._task])
        lab.start(lab.worker(self.stream, "worker", acknowledge))


class Configured(Failure):
    """Nothing happens but a configuration; the remedy is the check's command."""

    alert = "ConfigFinding"
    config: dict[str, Any]
    fix = ""

    async def prepare(self, lab: Lab) -> None:
        """There is no healthy time before it."""

    async def provoke(self, lab: Lab) -> None:
        await lab.api.stream(self.stream, subjects=[self.stream.lower()], **self.config)

    async def remedy(self, lab: Lab) -> None:
        if self.fix:
            await lab.cli(self.fix)


class Abandoned(Failure):
    alert = "ConsumerMessagesAbandoned"
    POISONED: Final = 3

    async def prepare(self, lab: Lab) -> None:
        await lab.api.stream(self.stream, subjects=[self.stream.lower()])
        await lab.api.consumer(self.stream, "worker", ack_wait=seconds(2), max_deliver=2)

    async def provoke(self, lab: Lab) -> None:
        await lab.api.publish(self.stream.lower(), self.POISONED)
        lab.start(lab.worker(self.stream, "worker", drop))

    async def true_numbers(self, lab: Lab) -> tuple[float, float] | None:
        return 1.0, self.POISONED

    async def remedy(self, lab: Lab) -> None:
        for seq in range(1, self.POISONED + 1):
            await lab.cli(f"nats stream rmm {self.stream} {seq} --force")
