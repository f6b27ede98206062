"""Failures of assets: consumers and streams that are gone, made anew, or keep nothing."""

import asyncio
from collections.abc import Sequence
from typing import ClassVar

from nats.aio.msg import Msg
from nats.js.api import DeliverPolicy, RetentionPolicy

from streamgauge.demo.actors.context import Stage, ack_all
from streamgauge.demo.faults.fault import AbsenceFault, Fault, Settings, Work, WorkerFault


class Recreate(WorkerFault):
    name = "recreate"
    what = "a program deletes its consumer, makes it anew and skips what came between"
    stream, consumer, place = "CAMPAIGNS", "nightly", "CAMPAIGNS > nightly"
    alerts = ("ConsumerRecreated",)
    remedy = "makes it once more, behind what it had finished"

    def __init__(self) -> None:
        super().__init__()
        self._finished = 0

    async def harm(self, stage: Stage) -> None:
        self._finished = await _delete(stage, self.stream, self.consumer)
        await stage.add_consumer(self.stream, self.consumer, deliver_policy=DeliverPolicy.NEW)

    async def mend(self, stage: Stage) -> None:
        await stage.jetstream.delete_consumer(self.stream, self.consumer)
        await _add_behind(stage, self.stream, self.consumer, self._finished)

    async def misbehave(self, messages: list[Msg]) -> None:
        """The worker itself is well: it gets less than it should, and that is all."""
        await ack_all(messages)


class RemoveConsumer(AbsenceFault):
    name = "remove-consumer"
    what = "somebody deleted a durable consumer"
    stream, consumer, place = "LEDGERS", "archiver", "LEDGERS"
    alerts = ("ConsumerRemoved",)
    remedy = "adds it again, behind what it had finished"

    def __init__(self) -> None:
        super().__init__()
        self._finished = 0

    async def harm(self, stage: Stage) -> None:
        self._finished = await _delete(stage, self.stream, self.consumer)

    async def mend(self, stage: Stage) -> None:
        await _add_behind(stage, self.stream, self.consumer, self._finished)


class InterestOrphan(AbsenceFault):
    name = "interest-orphan"
    what = "a stream with interest retention lost its last consumer: it keeps nothing"
    stream, consumer, place = "ALARMS", "duty", "ALARMS"
    alerts = ("InterestStreamDiscarding",)
    remedy = "adds the consumer again; what came meanwhile is gone"
    stream_settings: ClassVar[Settings] = {"retention": RetentionPolicy.INTEREST}

    async def harm(self, stage: Stage) -> None:
        await stage.jetstream.delete_consumer(self.stream, self.consumer)

    async def mend(self, stage: Stage) -> None:
        await stage.add_consumer(self.stream, self.consumer)


class WorkqueueOrphan(Fault):
    name = "workqueue-orphan"
    what = "jobs lie in a work queue under a subject that no consumer takes"
    place = "JOBS"
    alerts = ("WorkqueueStuckMessages",)
    remedy = "purges that subject"

    async def prepare(self, stage: Stage) -> None:
        await stage.add_stream("JOBS", "jobs.>", retention=RetentionPolicy.WORK_QUEUE)
        await stage.add_consumer("JOBS", "worker", filter_subject="jobs.mine")

    def actors(self, stage: Stage) -> Sequence[Work]:
        return self._publish(stage), stage.pull_for_ever("JOBS", "worker", ack_all)

    async def _publish(self, stage: Stage) -> None:
        """In spurts: while a job waits for its worker, nobody can tell that others wait in vain."""
        while True:
            await stage.publish("jobs.mine")
            if self.broken:
                await stage.publish("jobs.nobodys")
            await asyncio.sleep(5)

    async def mend(self, stage: Stage) -> None:
        await stage.jetstream.purge_stream("JOBS", subject="jobs.nobodys")


async def _delete(stage: Stage, stream: str, consumer: str) -> int:
    """How far it had got: the last message below which it had finished all."""
    info = await stage.jetstream.consumer_info(stream, consumer)
    await stage.jetstream.delete_consumer(stream, consumer)
    return info.ack_floor.stream_seq if info.ack_floor else 0


async def _add_behind(stage: Stage, stream: str, consumer: str, finished: int) -> None:
    """A consumer that goes on after the last message that it had finished."""
    await stage.add_consumer(
        stream,
        consumer,
        deliver_policy=DeliverPolicy.BY_START_SEQUENCE,
        opt_start_seq=finished + 1,
    )
