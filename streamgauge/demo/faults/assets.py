"""Faults of assets: deleted and recreated consumers, streams without interest."""

import asyncio
from collections.abc import Sequence
from typing import ClassVar

from nats.aio.msg import Msg
from nats.js.api import DeliverPolicy, RetentionPolicy

from streamgauge.demo.actors.context import ActorContext, ack_all
from streamgauge.demo.faults.fault import AbsenceFault, Fault, Settings, Work, WorkerFault


class Recreate(WorkerFault):
    name = "recreate"
    what = "a program deletes and recreates its consumer, which skips the messages in between"
    stream, consumer, place = "CAMPAIGNS", "nightly", "CAMPAIGNS > nightly"
    alerts = ("ConsumerRecreated",)
    remedy = "recreates it behind its last ack floor"

    def __init__(self) -> None:
        super().__init__()
        self._finished = 0

    async def break_(self, context: ActorContext) -> None:
        self._finished = await _delete(context, self.stream, self.consumer)
        await context.add_consumer(self.stream, self.consumer, deliver_policy=DeliverPolicy.NEW)

    async def fix(self, context: ActorContext) -> None:
        await context.jetstream.delete_consumer(self.stream, self.consumer)
        await _add_behind(context, self.stream, self.consumer, self._finished)

    async def misbehave(self, messages: list[Msg]) -> None:
        """The worker is healthy; only its consumer skipped messages."""
        await ack_all(messages)


class RemoveConsumer(AbsenceFault):
    name = "remove-consumer"
    what = "a durable consumer was deleted"
    stream, consumer, place = "LEDGERS", "archiver", "LEDGERS"
    alerts = ("ConsumerRemoved",)
    remedy = "creates it again behind its last ack floor"

    def __init__(self) -> None:
        super().__init__()
        self._finished = 0

    async def break_(self, context: ActorContext) -> None:
        self._finished = await _delete(context, self.stream, self.consumer)

    async def fix(self, context: ActorContext) -> None:
        await _add_behind(context, self.stream, self.consumer, self._finished)


class InterestOrphan(AbsenceFault):
    name = "interest-orphan"
    what = "a stream with interest retention lost its last consumer: it stores nothing"
    stream, consumer, place = "ALARMS", "duty", "ALARMS"
    alerts = ("InterestStreamDiscarding",)
    remedy = "creates the consumer again; the messages in between are lost"
    stream_settings: ClassVar[Settings] = {"retention": RetentionPolicy.INTEREST}

    async def break_(self, context: ActorContext) -> None:
        await context.jetstream.delete_consumer(self.stream, self.consumer)

    async def fix(self, context: ActorContext) -> None:
        await context.add_consumer(self.stream, self.consumer)


class WorkqueueOrphan(Fault):
    name = "workqueue-orphan"
    what = "jobs wait in a work queue on a subject that no consumer filters for"
    place = "JOBS"
    alerts = ("WorkqueueStuckMessages",)
    remedy = "purges that subject"

    async def prepare(self, context: ActorContext) -> None:
        await context.add_stream("JOBS", "jobs.>", retention=RetentionPolicy.WORK_QUEUE)
        await context.add_consumer("JOBS", "worker", filter_subject="jobs.mine")

    def actors(self, context: ActorContext) -> Sequence[Work]:
        return self._publish(context), context.pull_for_ever("JOBS", "worker", ack_all)

    async def _publish(self, context: ActorContext) -> None:
        """With pauses: the exporter finds stuck messages only while no other job waits."""
        while True:
            await context.publish("jobs.mine")
            if self.broken:
                await context.publish("jobs.unclaimed")
            await asyncio.sleep(5)

    async def fix(self, context: ActorContext) -> None:
        await context.jetstream.purge_stream("JOBS", subject="jobs.unclaimed")


async def _delete(context: ActorContext, stream: str, consumer: str) -> int:
    """Its ack floor before the deletion, as a stream sequence."""
    info = await context.jetstream.consumer_info(stream, consumer)
    await context.jetstream.delete_consumer(stream, consumer)
    return info.ack_floor.stream_seq if info.ack_floor else 0


async def _add_behind(context: ActorContext, stream: str, consumer: str, finished: int) -> None:
    """A consumer that starts behind this ack floor."""
    await context.add_consumer(
        stream,
        consumer,
        deliver_policy=DeliverPolicy.BY_START_SEQUENCE,
        opt_start_seq=finished + 1,
    )
