"""Faults of delivery: no pull requests, no subscription, missed or lost messages."""

import asyncio
from collections.abc import Sequence
from typing import ClassVar

from nats.aio.msg import Msg
from nats.js.api import DiscardPolicy

from streamgauge.demo.actors.context import ActorContext
from streamgauge.demo.faults.fault import AbsenceFault, Fault, Settings, Work


class Outage(AbsenceFault):
    name = "outage"
    what = "the workers are gone: messages wait and no worker pulls"
    stream, consumer, place = "EMAILS", "sender", "EMAILS > sender"
    # A consumer with traffic all day is paged as stalled, once half a day of it was seen.
    alerts = ("ConsumerNoWorkerPulls", "ConsumerStalled")
    verdict = "no worker pulls"
    remedy = "starts the worker again"


class Retention(AbsenceFault):
    name = "retention"
    what = "the reader stops, and the stream's limit removes messages that it never received"
    stream, consumer, place = "SENSORS", "reader", "SENSORS > reader"
    alerts = ("ConsumerMessagesLost",)
    verdict = "losing messages"
    remedy = "starts the reader again; lost messages stay lost"
    per_second = 10
    stream_settings: ClassVar[Settings] = {"max_msgs": 100, "discard": DiscardPolicy.OLD}


class PushFault(Fault):
    """A stream, a publisher and a push consumer with one subscriber."""

    stream: ClassVar[str]
    consumer: ClassVar[str]
    consumer_settings: ClassVar[Settings] = {}

    @property
    def inbox(self) -> str:
        return f"deliver.{self.stream.lower()}"

    async def prepare(self, context: ActorContext) -> None:
        await context.add_stream(self.stream, f"{self.stream.lower()}.>")
        await context.add_consumer(
            self.stream, self.consumer, deliver_subject=self.inbox, **self.consumer_settings
        )

    def actors(self, context: ActorContext) -> Sequence[Work]:
        return (
            context.publish_for_ever(f"{self.stream.lower()}.new", per_second=4),
            self._listen(context),
        )

    async def _listen(self, context: ActorContext) -> None:
        await context.client.subscribe(self.inbox, cb=self._take)
        await asyncio.Event().wait()

    async def _take(self, message: Msg) -> None:
        await message.ack()


class Unbound(PushFault):
    name = "unbound"
    what = "a push consumer has no subscription on its deliver subject"
    stream, consumer, place = "NOTICES", "push", "NOTICES > push"
    alerts = ("ConsumerNotBound", "ConsumerStalled")
    verdict = "not bound"
    remedy = "subscribes again"

    async def _listen(self, context: ActorContext) -> None:
        while True:
            await self.switch.wait_until_healed()
            subscription = await context.client.subscribe(self.inbox, cb=self._take)
            await self.switch.wait_until_broken()
            await subscription.unsubscribe()


class MissedPush(PushFault):
    name = "missed-push"
    what = "a subscriber misses pushed messages; each is delivered again after ack_wait"
    stream, consumer, place = "TICKER", "screen", "TICKER > screen"
    alerts = ("ConsumerRedeliveryHigh", "ConsumerAckWaitTooShort")
    remedy = "the subscriber acks again"
    consumer_settings: ClassVar[Settings] = {"ack_wait": 1.0}

    async def _take(self, message: Msg) -> None:
        missed = self.broken and message.metadata.num_delivered == 1
        if not missed:
            await message.ack()
