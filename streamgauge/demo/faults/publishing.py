"""Faults of publishing: messages too large, wrong expected sequences, a full stream."""

import asyncio
from collections.abc import Sequence
from itertools import count
from typing import ClassVar

from nats.js.api import DiscardPolicy

from streamgauge.demo.actors.context import ActorContext, ack_all
from streamgauge.demo.faults.fault import Fault, Work


class Oversized(Fault):
    name = "oversized"
    what = "every message is larger than the stream's max_msg_size, and is rejected"
    place = "SIGNUPS"
    alerts = ("PublishesNotStored",)
    remedy = "the publisher sends messages that fit"
    MOST_BYTES: ClassVar[int] = 200
    RETRIED: ClassVar[int] = 4  # so often a message is sent twice: a dedupe hit, and no fault

    async def prepare(self, context: ActorContext) -> None:
        await context.add_stream("SIGNUPS", "signups.>", max_msg_size=self.MOST_BYTES)
        await context.add_consumer("SIGNUPS", "deduplicated")

    def actors(self, context: ActorContext) -> Sequence[Work]:
        return self._publish(context), context.pull_for_ever("SIGNUPS", "deduplicated", ack_all)

    async def _publish(self, context: ActorContext) -> None:
        for number in count(1):
            headers = {"Nats_Msg_Id": f"signup-{number}"}
            if self.broken:
                headers["Photo"] = "x" * self.MOST_BYTES
            for _ in range(1 if number % self.RETRIED else 2):
                await context.publish("signups.new", **headers)
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
