"""The failures of the seeds that one server can show, numbered as in the table of seed failures."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from nats.aio.msg import Msg
from nats.js.errors import APIError
from support.lab.failure import Failure, Lab, acknowledge, drop, seconds
from support.nats.servers import APP


class Lag(Failure):
    number, stream, alert = 1, "LAG", "ConsumerBacklogGrowing"

    async def prepare(self, lab: Lab) -> None:
        await lab.api.stream(self.stream, subjects=["lag"])
        await lab.api.consumer(self.stream, "worker", ack_wait=seconds(60))

    async def provoke(self, lab: Lab) -> None:
        async def slowly(message: Msg) -> None:
            await asyncio.sleep(0.5)
            await message.ack()

        lab.start(lab.publisher("lag", 10))
        lab.start(lab.worker(self.stream, "worker", slowly, batch=1))

    async def remedy(self, lab: Lab) -> None:
        await lab.cli("nats consumer report LAG")
        for _ in range(4):
            lab.start(lab.worker(self.stream, "worker", acknowledge))


class Recreated(Failure):
    number, stream, alert = 2, "RECREATED", "ConsumerRecreated"

    async def prepare(self, lab: Lab) -> None:
        await lab.api.stream(self.stream, subjects=["recreated"])
        await lab.api.consumer(self.stream, "worker")
        await lab.api.publish("recreated", 20)
        for message in await lab.api.fetch(self.stream, "worker", 10):
            await message.ack()

    async def provoke(self, lab: Lab) -> None:
        await lab.api.request("CONSUMER.DELETE.RECREATED.worker")
        await lab.api.consumer(self.stream, "worker", deliver_policy="new")


class Redelivered(Failure):
    """A worker that answers a share of its messages only when they come again."""

    beside = ("ConsumerAckWaitTooShort",)
    subject = ""

    async def prepare(self, lab: Lab) -> None:
        await lab.api.stream(self.stream, subjects=[self.subject])
        await lab.api.consumer(self.stream, "worker", ack_wait=seconds(2))

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
        self._task.cancel()
        lab.start(lab.worker(self.stream, "worker", acknowledge))


class LostAcks(Redelivered):
    number, stream, alert, subject = 3, "LOSTACKS", "ConsumerRedeliveryHigh", "lostacks"


class Crashes(Redelivered):
    number, stream, alert, subject = 26, "CRASHES", "ConsumerRedeliveryHigh", "crashes"


class RetentionOverran(Failure):
    number, stream, alert = 4, "OVERRUN", "ConsumerMessagesLost"
    beside = ("ConsumerRetentionHeadroomLow", "ConsumerNoWorkerPulls")
    LOST: Final = 300

    async def prepare(self, lab: Lab) -> None:
        await lab.api.stream(self.stream, subjects=["overrun"], max_msgs=200, discard="old")
        await lab.api.consumer(self.stream, "worker")

    async def provoke(self, lab: Lab) -> None:
        await lab.api.publish("overrun", 200 + self.LOST)

    async def true_numbers(self, lab: Lab) -> tuple[float, float] | None:
        return self.LOST, self.LOST

    async def remedy(self, lab: Lab) -> None:
        await lab.cli("nats stream edit OVERRUN --max-msgs 5000 --force")
        lab.start(lab.worker(self.stream, "worker", acknowledge))


class Conflicts(Failure):
    """One publish in three expects a sequence that is not the last one."""

    alert = "PublishConflictsHigh"
    beside = ("PublishesNotStored",)  # until the tap's counts are there, which inhibit it
    subject = ""
    header = "Nats-Expected-Last-Sequence"

    async def prepare(self, lab: Lab) -> None:
        await lab.api.stream(self.stream, subjects=[self.subject])
        await lab.api.publish(self.subject, 1)

    async def provoke(self, lab: Lab) -> None:
        self._task = lab.start(self._publish(lab))

    async def _publish(self, lab: Lab) -> None:
        while True:
            await lab.api.publish(self.subject, 2)
            try:
                await lab.api.jetstream.publish(self.subject, b"x", headers={self.header: "1"})
            except APIError as error:
                assert error.err_code == 10071, error  # noqa: PT017  not a test
            await asyncio.sleep(0.2)

    async def remedy(self, lab: Lab) -> None:
        await lab.cli(f"nats stream info {self.stream}")
        self._task.cancel()


class StaleExpectation(Conflicts):
    number, stream, subject = 8, "STALE", "stale"


class RacingWriters(Conflicts):
    number, stream, subject = 9, "RACING", "racing"
    header = "Nats-Expected-Last-Subject-Sequence"


class StreamRecreated(Failure):
    number, stream, alert = 10, "REMADE", "StreamRecreated"

    async def prepare(self, lab: Lab) -> None:
        await lab.api.stream(self.stream, subjects=["remade"])
        await lab.api.publish("remade", 5)

    async def provoke(self, lab: Lab) -> None:
        await lab.api.request("STREAM.DELETE.REMADE")
        await lab.api.stream(self.stream, subjects=["remade"])


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


class WindowShort(Configured):
    number, stream, check = 12, "WINDOW", "dupe-window-short"
    config: Final = {"duplicate_window": seconds(30)}
    fix = "nats stream edit WINDOW --dupe-window 5m --force"


class RestartForgets(Configured):
    number, stream, check = 14, "FORGETS", "dupe-not-restart-safe"
    config: Final = {"retention": "workqueue", "duplicate_window": seconds(300)}


class SourcedWithoutWindow(Configured):
    number, stream, check = 16, "SOURCED", "dupe-window-off"
    fix = "nats stream edit SOURCED --dupe-window 2m --force"

    async def provoke(self, lab: Lab) -> None:
        await lab.api.stream("ORIGIN", subjects=["origin"])
        await lab.api.stream(
            self.stream,
            subjects=["sourced"],
            sources=[{"name": "ORIGIN"}],
            metadata={"io.streamgauge.idempotent-writers": "true"},
        )


class UnlimitedPending(Configured):
    number, stream, check = 21, "UNLIMITED", "max-ack-pending-unlimited"
    fix = "nats consumer edit UNLIMITED worker --max-pending 1000 --force"

    async def provoke(self, lab: Lab) -> None:
        await lab.api.stream(self.stream, subjects=["unlimited"])
        await lab.api.consumer(self.stream, "worker", ack_wait=seconds(30), max_ack_pending=-1)


class DedupeMemory(Failure):
    """The lab's threshold is 1 MiB: 4,369 ids."""

    number, stream, alert = 15, "IDS", "DedupeMemoryHigh"

    async def prepare(self, lab: Lab) -> None:
        await lab.api.stream(self.stream, subjects=["ids"], duplicate_window=seconds(1200))

    async def provoke(self, lab: Lab) -> None:
        for number in range(6000):
            await lab.api.client.publish("ids", b"x", headers={"Nats-Msg-Id": str(number)})
        await lab.api.client.flush(timeout=30)

    async def remedy(self, lab: Lab) -> None:
        await lab.cli("nats stream edit IDS --dupe-window 10s --force")


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
        self._tasks[1].cancel()
        await lab.api.publish("crash", 1)
        await lab.api.fetch(self.stream, "worker", 1)  # in flight when the last worker crashed

    async def remedy(self, lab: Lab) -> None:
        await lab.cli("nats consumer info CRASH worker")
        lab.start(lab.worker(self.stream, "worker", acknowledge))


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
        await lab.cli("nats consumer edit LONGWAIT worker --wait 30s --force")


class MissedDeliveries(Failure):
    """A push subscriber that does not read: the server closes its connection."""

    number, stream, alert = 6, "", "ClientsTooSlow"

    async def prepare(self, lab: Lab) -> None:
        await lab.api.stream("PUSHED", subjects=["pushed"], max_msgs=10)
        push = {"deliver_subject": "to.slow", "ack_policy": "none", "ack_wait": 0}
        await lab.api.consumer("PUSHED", "push", **push)

    async def provoke(self, lab: Lab) -> None:
        subscribed = asyncio.Event()
        lab.start(self._subscribe(lab, subscribed))
        await subscribed.wait()
        for _ in range(200):
            await lab.api.jetstream.publish("pushed", b"x" * 500_000)

    async def _subscribe(self, lab: Lab, subscribed: asyncio.Event) -> None:
        host, port = lab.server.url.rpartition("/")[2].split(":")
        _, writer = await asyncio.open_connection(host, int(port), limit=1024)
        login = f'{{"verbose":false,"user":"{APP.user}","pass":"{APP.password}"}}'
        writer.write(f"CONNECT {login}\r\nSUB to.slow 1\r\nPING\r\n".encode())
        await writer.drain()
        subscribed.set()
        try:
            await asyncio.Event().wait()  # without reading
        finally:
            writer.transport.abort()


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


class Exhausted(Abandoned):
    number, stream = 23, "EXHAUSTED"


class PoisonGivenUp(Abandoned):
    number, stream = 28, "GIVENUP"


class LateAcks(Failure):
    alert = "ConsumerAckWaitTooShort"
    beside = ("ConsumerRedeliveryHigh",)

    async def prepare(self, lab: Lab) -> None:
        await lab.api.stream(self.stream, subjects=[self.stream.lower()])
        await lab.api.consumer(self.stream, "worker", ack_wait=seconds(2))

    async def provoke(self, lab: Lab) -> None:
        async def finish(message: Msg) -> None:
            await asyncio.sleep(3)
            await message.ack()

        async def response(message: Msg) -> None:
            lab.start(finish(message))

        lab.start(lab.publisher(self.stream.lower(), 5))
        lab.start(lab.worker(self.stream, "worker", response))

    async def remedy(self, lab: Lab) -> None:
        await lab.cli(f"nats consumer edit {self.stream} worker --wait 60s --force")


class AckWaitShort(LateAcks):
    number, stream = 25, "HASTY"


class LateAcksDone(LateAcks):
    number, stream = 29, "LATEACKS"


class DownstreamHangs(Failure):
    number, stream, alert = 27, "HANGS", "ConsumerAckPendingFull"
    beside = ("ConsumerAckPendingHigh", "ConsumerAckFloorStalled")

    async def prepare(self, lab: Lab) -> None:
        await lab.api.stream(self.stream, subjects=["hangs"])
        await lab.api.consumer(self.stream, "worker", ack_wait=seconds(10), max_ack_pending=20)
        self._mended = asyncio.Event()

    async def provoke(self, lab: Lab) -> None:
        await lab.api.publish("hangs", 60)
        lab.start(lab.worker(self.stream, "worker", self._response, batch=20))

    async def _response(self, message: Msg) -> None:
        if self._mended.is_set():
            await message.ack()

    async def remedy(self, lab: Lab) -> None:
        await lab.cli("nats consumer info HANGS worker")
        self._mended.set()


class DownstreamNaks(Failure):
    number, stream, alert = 27, "NAKS", "ConsumerRedeliveryLoop"
    beside = ("ConsumerNakLoop", "ConsumerRedeliveryHigh", "ConsumerAckFloorStalled")

    async def prepare(self, lab: Lab) -> None:
        await lab.api.stream(self.stream, subjects=["naks"])
        await lab.api.consumer(self.stream, "worker", ack_wait=seconds(30))
        self._mended = asyncio.Event()

    async def provoke(self, lab: Lab) -> None:
        await lab.api.publish("naks", 20)
        lab.start(lab.worker(self.stream, "worker", self._response))

    async def _response(self, message: Msg) -> None:
        if self._mended.is_set():
            await message.ack()
            return
        await asyncio.sleep(0.1)
        await message.nak()

    async def remedy(self, lab: Lab) -> None:
        await lab.cli("nats consumer pause NAKS worker 1h --force")
        self._mended.set()
        await lab.cli("nats consumer resume NAKS worker --force")


class StuckWorkqueue(Failure):
    number, stream, alert = 30, "QUEUE", "WorkqueueStuckMessages"
    beside = ("ConsumerMessagesAbandoned",)

    async def prepare(self, lab: Lab) -> None:
        await lab.api.stream(self.stream, subjects=["queue"], retention="workqueue")
        await lab.api.consumer(self.stream, "worker", ack_wait=seconds(2), max_deliver=1)

    async def provoke(self, lab: Lab) -> None:
        await lab.api.publish("queue", 2)
        lab.start(lab.worker(self.stream, "worker", drop))

    async def true_numbers(self, lab: Lab) -> tuple[float, float] | None:
        return 2.0, 2.0

    async def remedy(self, lab: Lab) -> None:
        for seq in (1, 2):
            await lab.cli(f"nats stream rmm QUEUE {seq} --force")


FAILURES: Final[tuple[type[Failure], ...]] = (
    Lag, Recreated, LostAcks, RetentionOverran, StaleExpectation, RacingWriters, StreamRecreated,
    WindowShort, RestartForgets, DedupeMemory, SourcedWithoutWindow, Poison, SlowTypes, Crash,
    UnlimitedPending, LongAckWait, MissedDeliveries, Exhausted, AckWaitShort, Crashes, DownstreamHangs, DownstreamNaks,
    PoisonGivenUp, LateAcksDone, StuckWorkqueue,
)  # fmt: skip

# Numbers that are not provoked here, and why.
ELSEWHERE: Final = {
    5: "a stream that is set back needs a damaged store: tests/integration/signals",
    7: "diverged replicas need a cluster and a damaged store: tests/integration/signals",
    11: "a server of 2.11.8 is not among the tested versions: tests/unit/exporter/audit",
    13: "only `streamgauge audit --sample-messages` finds it: tests/integration/audit",
    17: "out-of-order acks raise nothing: a healthy pattern",
    24: "a consumer without a leader needs a cluster: tests/e2e",
}
