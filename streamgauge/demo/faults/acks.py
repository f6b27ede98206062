"""Faults of acknowledgements: none, too late, negative, exhausted."""

import asyncio
from contextlib import suppress
from typing import ClassVar

from nats.aio.msg import Msg
from nats.errors import ConnectionClosedError

from streamgauge.demo.actors.context import ActorContext
from streamgauge.demo.faults.fault import Settings, WorkerFault


class Poison(WorkerFault):
    name = "poison"
    what = "one invoice is never acked, all others are: the ack floor is stuck"
    stream, consumer, place = "INVOICES", "poison", "INVOICES > poison"
    alerts = ("ConsumerAckFloorStalled",)
    verdict = "ack floor stuck"
    remedy = "terminates that one message for the worker"
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

    async def fix(self, context: ActorContext) -> None:
        culprit, self._culprit = self._culprit, None
        if culprit is not None:
            await context.client.publish(culprit.reply, b"+TERM")


class SlowAck(WorkerFault):
    name = "slow-ack"
    what = "the worker holds max_ack_pending messages and acks none: deliveries stop"
    stream, consumer, place = "PAYMENTS", "stuck", "PAYMENTS > stuck"
    alerts = ("ConsumerAckPendingFull",)
    verdict = "ack pending full"
    remedy = "the worker acks what it holds"
    batch = 20
    # Longer than a person looks: every ack_wait the same messages are delivered again.
    consumer_settings: ClassVar[Settings] = {"ack_wait": 45.0, "max_ack_pending": 20}

    def __init__(self) -> None:
        super().__init__()
        self._held: list[Msg] = []

    async def misbehave(self, messages: list[Msg]) -> None:
        self._held += messages

    async def fix(self, context: ActorContext) -> None:
        held, self._held = self._held, []
        for message in held:
            await message.ack()


class LateAck(WorkerFault):
    name = "late-ack"
    what = "the work takes longer than ack_wait, so every message is delivered twice"
    stream, consumer, place = "SHIPMENTS", "late", "SHIPMENTS > late"
    alerts = ("ConsumerRedeliveryHigh", "ConsumerAckWaitTooShort")
    remedy = "the worker is fast again"
    consumer_settings: ClassVar[Settings] = {"ack_wait": 1.0}
    WORK_SECONDS: ClassVar[float] = 1.8

    def __init__(self) -> None:
        super().__init__()
        self._running: set[asyncio.Task[None]] = set()

    async def misbehave(self, messages: list[Msg]) -> None:
        """Many messages at a time, each slowly."""
        for message in messages:
            task = asyncio.create_task(self._finish(message))
            self._running.add(task)
            task.add_done_callback(self._running.discard)

    async def _finish(self, message: Msg) -> None:
        await asyncio.sleep(self.WORK_SECONDS)
        with suppress(ConnectionClosedError):  # the demo has ended meanwhile
            await message.ack()


class NakLoop(WorkerFault):
    name = "nak-loop"
    what = "the worker naks every message, again and again"
    stream, consumer, place = "IMPORTS", "loader", "IMPORTS > loader"
    # The page mutes the two tickets as soon as nothing has been finished for long.
    alerts = ("ConsumerRedeliveryLoop", "ConsumerNakLoop", "ConsumerRedeliveryHigh")
    remedy = "the worker acks again"
    per_second = 2
    RETRY_SECONDS: ClassVar[float] = 1.0

    async def misbehave(self, messages: list[Msg]) -> None:
        for message in messages:
            await message.nak(delay=self.RETRY_SECONDS)


class Exhausted(WorkerFault):
    name = "exhausted"
    what = "every fifth refund is delivered twice, never acked, and exhausts max_deliver"
    stream, consumer, place = "REFUNDS", "limited", "REFUNDS > limited"
    alerts = ("ConsumerMessagesAbandoned",)
    remedy = "acks the exhausted messages for the worker"
    consumer_settings: ClassVar[Settings] = {"ack_wait": 1.0, "max_deliver": 2}
    EVERY: ClassVar[int] = 5

    def __init__(self) -> None:
        super().__init__()
        self._exhausted: dict[int, str] = {}  # reply subjects by stream sequence

    async def misbehave(self, messages: list[Msg]) -> None:
        for message in messages:
            if _sequence(message) % self.EVERY:
                await message.ack()
            else:
                self._exhausted[_sequence(message)] = message.reply

    async def fix(self, context: ActorContext) -> None:
        exhausted, self._exhausted = self._exhausted, {}
        for reply in exhausted.values():
            await context.client.publish(reply, b"+ACK")


def _sequence(message: Msg) -> int:
    return message.metadata.sequence.stream
