"""Faults of publishing: duplicates, wrong expected sequences, a full stream."""

import asyncio
from collections.abc import Sequence
from itertools import count

from nats.js.api import DiscardPolicy

from streamgauge.demo.actors.context import ActorContext, ack_all
from streamgauge.demo.faults.fault import Fault, Work


class Duplicate(Fault):
    name = "duplicate"
    what = "every message is published three times with one message id"
    place = "SIGNUPS"
    alerts = ("PublishesNotStored",)
    remedy = "the publisher sends each message once"

    async def prepare(self, context: ActorContext) -> None:
        await context.add_stream("SIGNUPS", "signups.>")
        await context.add_consumer("SIGNUPS", "deduplicated")

    def actors(self, context: ActorContext) -> Sequence[Work]:
        return self._publish(context), context.pull_for_ever("SIGNUPS", "deduplicated", ack_all)

    async def _publish(self, context: ActorContext) -> None:
        for number in count(1):
            for _ in range(3 if self.broken else 1):
                await context.publish("signups.new", Nats_Msg_Id=f"signup-{number}")
            await asyncio.sleep(0.5)


class Conflict(Fault):
    name = "conflict"
    what = "every third publish expects an old sequence and is rejected"
    place = "CARTS"
    alerts = ("PublishConflictsHigh", "PublishesNotStored")
    remedy = "the publisher expects the right sequence"

    async def prepare(self, context: ActorContext) -> None:
        await context.add_stream("CARTS", "carts.>")
        await context.add_consumer("CARTS", "checkout")

    def actors(self, context: ActorContext) -> Sequence[Work]:
        return self._publish(context), context.pull_for_ever("CARTS", "checkout", ack_all)

    async def _publish(self, context: ActorContext) -> None:
        for number in count(1):
            wrong = self.broken and number % 3 == 0
            headers = {"Nats_Expected_Last_Sequence": "1"} if wrong else {}
            await context.publish("carts.changed", **headers)
            await asyncio.sleep(0.25)


class Full(Fault):
    name = "full"
    what = "a stream that discards new messages is full: publishes are rejected"
    place = "UPLOADS"
    alerts = ("StreamFull",)
    remedy = "purges the stream, and the publisher slows down"

    async def prepare(self, context: ActorContext) -> None:
        await context.add_stream(
            "UPLOADS",
            "uploads.>",
            max_msgs=60,
            max_age=60.0,
            duplicate_window=30.0,
            discard=DiscardPolicy.NEW,
        )

    def actors(self, context: ActorContext) -> Sequence[Work]:
        return (self._publish(context),)

    async def _publish(self, context: ActorContext) -> None:
        while True:
            await context.publish("uploads.new")
            await asyncio.sleep(0.1 if self.broken else 4)

    async def fix(self, context: ActorContext) -> None:
        await context.jetstream.purge_stream("UPLOADS")
