"""Faults of delivery: messages that wait, are lost, come again and again, or never come again."""

from __future__ import annotations

import asyncio
import json

from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from support.faults.fault import Fault, Site, acknowledge, on_stream, page, refuse, seconds, ticket
from support.faults.reached_limits import edit_consumer, edit_stream

GROUP = "jobs"
PIN_HEADER = "Nats-Pin-Id"


class Stalled(Fault):
    """The pinned client is gone; pulls of the other get no messages. The remedy unpins."""

    alerts = (page("ConsumerStalled", **on_stream("PINNED", consumer="worker")),)

    async def prepare(self, site: Site) -> None:
        await site.api.stream("PINNED", subjects=["pinned"])
        pinned = {
            "priority_policy": "pinned_client",
            "priority_groups": [GROUP],
            "priority_timeout": seconds(3600),
        }
        await site.api.consumer("PINNED", "worker", **pinned)
        await site.api.publish("pinned", 1)
        first = await self._request(site, batch=1)
        message = await first.next_msg(timeout=10)
        assert message.headers is not None
        assert PIN_HEADER in message.headers
        await message.ack()
        await first.unsubscribe()

    async def provoke(self, site: Site) -> None:
        self._second = await self._request(site, batch=100)
        await site.api.publish("pinned", 5)

    async def remedy(self, site: Site) -> None:
        await site.api.request("CONSUMER.UNPIN.PINNED.worker", {"group": GROUP})
        for _ in range(5):
            await (await self._second.next_msg(timeout=10)).ack()

    async def _request(self, site: Site, batch: int) -> Subscription:
        client, inbox = site.api.client, site.api.client.new_inbox()
        responses = await client.subscribe(inbox)
        request = {"batch": batch, "expires": seconds(600), "group": GROUP}
        subject = "$JS.API.CONSUMER.MSG.NEXT.PINNED.worker"
        await client.publish(subject, json.dumps(request).encode(), inbox)
        return responses


class MessagesLost(Fault):
    """The limit removed unread messages. The remedy raises the limit and reads."""

    alerts = (page("ConsumerMessagesLost", **on_stream("SHORT", consumer="worker")),)

    async def prepare(self, site: Site) -> None:
        await site.api.stream("SHORT", subjects=["short"], max_msgs=20, discard="old")
        await site.api.consumer("SHORT", "worker")

    async def provoke(self, site: Site) -> None:
        await site.api.publish("short", 30)

    async def remedy(self, site: Site) -> None:
        await edit_stream(site, "SHORT", max_msgs=1000)
        site.start(site.work("SHORT", "worker", acknowledge))


class NoWorkerPulls(Fault):
    """The workers were never started. The remedy starts one."""

    alerts = (ticket("ConsumerNoWorkerPulls", **on_stream("DESERTED", consumer="worker")),)

    async def prepare(self, site: Site) -> None:
        await site.api.stream("DESERTED", subjects=["deserted"])
        await site.api.consumer("DESERTED", "worker")

    async def provoke(self, site: Site) -> None:
        await site.api.publish("deserted", 5)

    async def remedy(self, site: Site) -> None:
        site.start(site.work("DESERTED", "worker", acknowledge))


class NotBound(Fault):
    """The same for a push consumer: the remedy starts its subscriber."""

    alerts = (ticket("ConsumerNotBound", **on_stream("UNBOUND", consumer="push")),)

    async def prepare(self, site: Site) -> None:
        await site.api.stream("UNBOUND", subjects=["unbound"])
        await site.api.consumer("UNBOUND", "push", deliver_subject="deliver.unbound")

    async def provoke(self, site: Site) -> None:
        await site.api.publish("unbound", 5)

    async def remedy(self, site: Site) -> None:
        await site.api.client.subscribe("deliver.unbound", cb=acknowledge)


class NakLoop(Fault):
    """The worker refuses all it gets, at once. The remedy pauses, mends the worker and resumes."""

    alerts = (page("ConsumerRedeliveryLoop", **on_stream("REFUSED", consumer="worker")),)
    beside = (
        ticket("ConsumerNakLoop", **on_stream("REFUSED", consumer="worker")),
        ticket("ConsumerRedeliveryHigh", **on_stream("REFUSED", consumer="worker")),
    )

    def __init__(self) -> None:
        self._fixed = asyncio.Event()

    async def prepare(self, site: Site) -> None:
        await site.api.stream("REFUSED", subjects=["refused"])
        await site.api.consumer("REFUSED", "worker")

    async def provoke(self, site: Site) -> None:
        await site.api.publish("refused", 10)
        site.start(site.work("REFUSED", "worker", self._response))

    async def _response(self, message: Msg) -> None:
        await (acknowledge(message) if self._fixed.is_set() else refuse(message))

    async def remedy(self, site: Site) -> None:
        pause = {"pause_until": "2100-01-01T00:00:00Z"}
        assert (await site.api.request("CONSUMER.PAUSE.REFUSED.worker", pause))["paused"] is True
        self._fixed.set()
        assert (await site.api.request("CONSUMER.PAUSE.REFUSED.worker", {}))["paused"] is False


class AckWaitTooShort(Fault):
    """The work takes longer than the server waits, and is done twice. The remedy lets it wait."""

    alerts = (ticket("ConsumerAckWaitTooShort", **on_stream("HASTY", consumer="worker")),)
    beside = (ticket("ConsumerRedeliveryHigh", **on_stream("HASTY", consumer="worker")),)

    async def prepare(self, site: Site) -> None:
        await site.api.stream("HASTY", subjects=["hasty"])
        await site.api.consumer("HASTY", "worker", ack_wait=seconds(1))

    async def provoke(self, site: Site) -> None:
        async def response(message: Msg) -> None:
            site.start(self._finish(message))

        site.start(self._publish(site))
        site.start(site.work("HASTY", "worker", response))

    async def _publish(self, site: Site) -> None:
        while True:
            await site.api.publish("hasty", 1)
            await asyncio.sleep(0.25)

    async def _finish(self, message: Msg) -> None:
        """Many at a time, each of them slowly."""
        await asyncio.sleep(1.8)
        await message.ack()

    async def remedy(self, site: Site) -> None:
        await edit_consumer(site, "HASTY", "worker", ack_wait=seconds(90))


class AckFloorStalled(Fault):
    """One message is never finished, all others are. The remedy ends it in the worker's place."""

    alerts = (ticket("ConsumerAckFloorStalled", **on_stream("POISONED", consumer="worker")),)
    beside = (ticket("ConsumerAckWaitTooShort", **on_stream("POISONED", consumer="worker")),)

    async def prepare(self, site: Site) -> None:
        await site.api.stream("POISONED", subjects=["poisoned"])
        await site.api.consumer("POISONED", "worker", ack_wait=seconds(1))

    async def provoke(self, site: Site) -> None:
        await site.api.publish("poisoned", 5)
        site.start(site.work("POISONED", "worker", self._response))

    async def _response(self, message: Msg) -> None:
        if message.metadata.sequence.stream != 1:
            await message.ack()

    async def remedy(self, site: Site) -> None:
        await site.api.client.publish("$JS.ACK.POISONED.worker.1.1.1.1.0", b"+TERM")


class MessagesAbandoned(Fault):
    """Delivered max_deliver times, never acknowledged. The remedy acknowledges for the worker."""

    alerts = (ticket("ConsumerMessagesAbandoned", **on_stream("GIVENUP", consumer="worker")),)

    async def prepare(self, site: Site) -> None:
        await site.api.stream("GIVENUP", subjects=["givenup"])
        await site.api.consumer("GIVENUP", "worker", ack_wait=seconds(1), max_deliver=2)

    async def provoke(self, site: Site) -> None:
        await site.api.publish("givenup", 1)
        site.start(site.work("GIVENUP", "worker", self._never_acknowledge))

    async def _never_acknowledge(self, _: Msg) -> None:
        """It crashed on it."""

    async def remedy(self, site: Site) -> None:
        await site.api.client.publish("$JS.ACK.GIVENUP.worker.1.1.1.1.0", b"+ACK")
