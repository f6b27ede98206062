"""Failures of publishing: duplicates, wrong expectations, a stream that refuses."""

import asyncio
from collections.abc import Sequence
from itertools import count

from nats.js.api import DiscardPolicy

from streamgauge.demo.actors.context import Stage, ack_all
from streamgauge.demo.faults.fault import Fault, Work


class Duplicate(Fault):
    name = "duplicate"
    what = "everything is published three times under one message id"
    place = "SIGNUPS"
    alerts = ("PublishesNotStored",)
    remedy = "the publisher sends each once"

    async def prepare(self, stage: Stage) -> None:
        await stage.add_stream("SIGNUPS", "signups.>")
        await stage.add_consumer("SIGNUPS", "deduplicated")

    def actors(self, stage: Stage) -> Sequence[Work]:
        return self._publish(stage), stage.pull_for_ever("SIGNUPS", "deduplicated", ack_all)

    async def _publish(self, stage: Stage) -> None:
        for number in count(1):
            for _ in range(3 if self.broken else 1):
                await stage.publish("signups.new", Nats_Msg_Id=f"signup-{number}")
            await asyncio.sleep(0.5)


class Conflict(Fault):
    name = "conflict"
    what = "every third publish expects a sequence that is long past, and is rejected"
    place = "CARTS"
    alerts = ("PublishConflictsHigh", "PublishesNotStored")
    remedy = "the publisher expects what is true"

    async def prepare(self, stage: Stage) -> None:
        await stage.add_stream("CARTS", "carts.>")
        await stage.add_consumer("CARTS", "checkout")

    def actors(self, stage: Stage) -> Sequence[Work]:
        return self._publish(stage), stage.pull_for_ever("CARTS", "checkout", ack_all)

    async def _publish(self, stage: Stage) -> None:
        for number in count(1):
            wrong = self.broken and number % 3 == 0
            headers = {"Nats_Expected_Last_Sequence": "1"} if wrong else {}
            await stage.publish("carts.changed", **headers)
            await asyncio.sleep(0.25)


class Full(Fault):
    name = "full"
    what = "a stream that discards new messages is full: publishes are refused"
    place = "UPLOADS"
    alerts = ("StreamFull",)
    remedy = "purges the stream, and the publisher slows down"

    async def prepare(self, stage: Stage) -> None:
        await stage.add_stream(
            "UPLOADS",
            "uploads.>",
            max_msgs=60,
            max_age=60.0,
            duplicate_window=30.0,
            discard=DiscardPolicy.NEW,
        )

    def actors(self, stage: Stage) -> Sequence[Work]:
        return (self._publish(stage),)

    async def _publish(self, stage: Stage) -> None:
        while True:
            await stage.publish("uploads.new")
            await asyncio.sleep(0.1 if self.broken else 4)

    async def mend(self, stage: Stage) -> None:
        await stage.jetstream.purge_stream("UPLOADS")
