"""Failures of acknowledging: never, too late, refused, given up."""

import asyncio
from collections.abc import Sequence
from typing import ClassVar

from nats.aio.msg import Msg

from streamgauge.demo.actors.context import Stage
from streamgauge.demo.faults.fault import Settings, Work, WorkerFault


class Poison(WorkerFault):
    name = "poison"
    what = "one invoice is never finished, all others are: the ack floor stands still"
    stream, consumer, place = "INVOICES", "poison", "INVOICES > poison"
    alerts = ("ConsumerAckFloorStalled",)
    verdict = "ack floor stuck"
    remedy = "terminates that one message in the worker's place"
    consumer_settings: ClassVar[Settings] = {"ack_wait": 2.0}

    def __init__(self) -> None:
        super().__init__()
        self._culprit: Msg | None = None

    async def misbehave(self, messages: list[Msg]) -> None:
        for message in messages:
            if self._culprit is None or _sequence(message) == _sequence(self._culprit):
                self._culprit = message
            else:
                await message.ack()

    async def mend(self, stage: Stage) -> None:
        culprit, self._culprit = self._culprit, None
        if culprit is not None:
            await stage.client.publish(culprit.reply, b"+TERM")


class SlowAck(WorkerFault):
    name = "slow-ack"
    what = "the worker holds all it may hold and acks none of it: deliveries stop"
    stream, consumer, place = "PAYMENTS", "stuck", "PAYMENTS > stuck"
    alerts = ("ConsumerAckPendingFull",)
    verdict = "ack-pending full"
    remedy = "the worker acknowledges what it holds"
    batch = 20
    consumer_settings: ClassVar[Settings] = {"ack_wait": 6.0, "max_ack_pending": 20}
    HEARTBEAT_SECONDS: ClassVar[float] = 2.0

    def __init__(self) -> None:
        super().__init__()
        self._held: list[Msg] = []

    async def misbehave(self, messages: list[Msg]) -> None:
        self._held += messages

    def actors(self, stage: Stage) -> Sequence[Work]:
        return (*super().actors(stage), self._say_still_at_work())

    async def _say_still_at_work(self) -> None:
        """In time, so nothing is delivered again: it is stuck and not poisoned."""
        while True:
            await asyncio.sleep(self.HEARTBEAT_SECONDS)
            for message in self._held:
                await message.in_progress()

    async def mend(self, stage: Stage) -> None:
        held, self._held = self._held, []
        for message in held:
            await message.ack()


class LateAck(WorkerFault):
    name = "late-ack"
    what = "the work takes longer than ack_wait, so everything is done twice"
    stream, consumer, place = "SHIPMENTS", "late", "SHIPMENTS > late"
    alerts = ("ConsumerRedeliveryHigh", "ConsumerAckWaitTooShort")
    remedy = "the worker is fast again"
    consumer_settings: ClassVar[Settings] = {"ack_wait": 1.0}
    WORK_SECONDS: ClassVar[float] = 1.8

    def __init__(self) -> None:
        super().__init__()
        self._at_work: set[asyncio.Task[None]] = set()

    async def misbehave(self, messages: list[Msg]) -> None:
        """Many at a time, each of them slowly."""
        for message in messages:
            task = asyncio.create_task(self._finish(message))
            self._at_work.add(task)
            task.add_done_callback(self._at_work.discard)

    async def _finish(self, message: Msg) -> None:
        await asyncio.sleep(self.WORK_SECONDS)
        await message.ack()


class NakLoop(WorkerFault):
    name = "nak-loop"
    what = "the worker refuses whatever it gets, again and again"
    stream, consumer, place = "IMPORTS", "loader", "IMPORTS > loader"
    alerts = ("ConsumerNakLoop", "ConsumerRedeliveryHigh")
    remedy = "the worker accepts what it gets"
    per_second = 2
    RETRY_SECONDS: ClassVar[float] = 1.0

    async def misbehave(self, messages: list[Msg]) -> None:
        for message in messages:
            await message.nak(delay=self.RETRY_SECONDS)


class Exhausted(WorkerFault):
    name = "exhausted"
    what = "every fifth refund is tried twice, never answered, and given up by the server"
    stream, consumer, place = "REFUNDS", "limited", "REFUNDS > limited"
    alerts = ("ConsumerMessagesAbandoned",)
    remedy = "acknowledges the abandoned messages in the worker's place"
    consumer_settings: ClassVar[Settings] = {"ack_wait": 1.0, "max_deliver": 2}
    EVERY: ClassVar[int] = 5

    def __init__(self) -> None:
        super().__init__()
        self._given_up: dict[int, str] = {}  # how to answer each, by its sequence

    async def misbehave(self, messages: list[Msg]) -> None:
        for message in messages:
            if _sequence(message) % self.EVERY:
                await message.ack()
            else:
                self._given_up[_sequence(message)] = message.reply

    async def mend(self, stage: Stage) -> None:
        given_up, self._given_up = self._given_up, {}
        for reply in given_up.values():
            await stage.client.publish(reply, b"+ACK")


def _sequence(message: Msg) -> int:
    return message.metadata.sequence.stream
