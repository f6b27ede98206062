"""Faults of assets: consumers and streams that are gone, made again, or keep nothing."""

from __future__ import annotations

import asyncio
import itertools
from contextlib import suppress

from nats.js.errors import APIError
from support.faults.fault import Fault, Site, acknowledge, info, on_stream, ticket
from support.faults.reached_limits import edit_stream

SUBJECT_WITHOUT_CONSUMER = "queue.other"


class ConsumerRemoved(Fault):
    """A durable was deleted. The remedy recreates it after the last message it had finished."""

    alerts = (info("ConsumerRemoved", **on_stream("BEREFT")),)
    beside = (ticket("ConsumerRecreated", **on_stream("BEREFT", consumer="worker")),)  # the remedy

    async def prepare(self, site: Site) -> None:
        await site.api.stream("BEREFT", subjects=["bereft"])
        await site.api.consumer("BEREFT", "worker")
        await site.api.publish("bereft", 5)
        for message in await site.api.fetch("BEREFT", "worker", 5):
            await message.ack_sync(timeout=10)

    async def provoke(self, site: Site) -> None:
        await site.api.request("CONSUMER.DELETE.BEREFT.worker")

    async def remedy(self, site: Site) -> None:
        behind = {"deliver_policy": "by_start_sequence", "opt_start_seq": 6}
        await site.api.consumer("BEREFT", "worker", **behind)


class ConsumerRecreated(Fault):
    """A program recreates its consumer at each start and skips the messages in between. The remedy
    recreates it once more, at the right sequence."""

    alerts = (ticket("ConsumerRecreated", **on_stream("REBORN", consumer="worker")),)

    async def prepare(self, site: Site) -> None:
        await site.api.stream("REBORN", subjects=["reborn"])
        await site.api.consumer("REBORN", "worker")
        await site.api.publish("reborn", 5)
        for message in await site.api.fetch("REBORN", "worker", 5):
            await message.ack_sync(timeout=10)

    async def provoke(self, site: Site) -> None:
        await site.api.request("CONSUMER.DELETE.REBORN.worker")
        await site.api.publish("reborn", 2)
        await site.api.consumer("REBORN", "worker", deliver_policy="new")

    async def remedy(self, site: Site) -> None:
        await site.api.request("CONSUMER.DELETE.REBORN.worker")
        behind = {"deliver_policy": "by_start_sequence", "opt_start_seq": 6}
        await site.api.consumer("REBORN", "worker", **behind)
        site.start(site.work("REBORN", "worker", acknowledge))


class StreamRecreated(Fault):
    """Deleted and made again. It was meant so: publishers read the sequence again."""

    alerts = (ticket("StreamRecreated", **on_stream("REMADE")),)

    async def prepare(self, site: Site) -> None:
        await site.api.stream("REMADE", subjects=["remade"])
        await site.api.publish("remade", 5)

    async def provoke(self, site: Site) -> None:
        await site.api.request("STREAM.DELETE.REMADE")
        await site.api.stream("REMADE", subjects=["remade"])

    async def remedy(self, site: Site) -> None:
        last = (await site.api.request("STREAM.INFO.REMADE"))["state"]["last_seq"]
        expected = {"Nats-Expected-Last-Sequence": str(last)}
        await site.api.jetstream.publish("remade", b"on we go", headers=expected)


class InterestStreamDiscarding(Fault):
    """An interest stream lost its consumer and keeps nothing. The remedy adds the consumer again."""

    alerts = (ticket("InterestStreamDiscarding", **on_stream("UNSUBSCRIBED")),)

    async def prepare(self, site: Site) -> None:
        await site.api.stream("UNSUBSCRIBED", subjects=["unsubscribed"], retention="interest")

    async def provoke(self, site: Site) -> None:
        site.start(self._publish(site))

    async def _publish(self, site: Site) -> None:
        while True:
            await site.api.publish("unsubscribed", 1)
            await asyncio.sleep(0.5)

    async def remedy(self, site: Site) -> None:
        await site.api.consumer("UNSUBSCRIBED", "worker")
        site.start(site.work("UNSUBSCRIBED", "worker", acknowledge))


class WorkqueueStuck(Fault):
    """Messages under a subject that no consumer filters. The remedy adds a consumer for it."""

    alerts = (ticket("WorkqueueStuckMessages", **on_stream("QUEUE")),)

    async def prepare(self, site: Site) -> None:
        await site.api.stream("QUEUE", subjects=["queue.>"], retention="workqueue")
        await site.api.consumer("QUEUE", "worker", filter_subject="queue.mine")

    async def provoke(self, site: Site) -> None:
        await site.api.publish(SUBJECT_WITHOUT_CONSUMER, 3)

    async def remedy(self, site: Site) -> None:
        await site.api.consumer("QUEUE", "other", filter_subject=SUBJECT_WITHOUT_CONSUMER)
        site.start(site.work("QUEUE", "other", acknowledge))


class PublishesNotStored(Fault):
    """A program sends what the stream does not take. The remedy is a larger max_msg_size."""

    alerts = (ticket("PublishesNotStored", **on_stream("OVERSIZED")),)

    async def prepare(self, site: Site) -> None:
        await site.api.stream("OVERSIZED", subjects=["oversized"], max_msg_size=10)

    async def provoke(self, site: Site) -> None:
        site.start(self._publish(site))

    async def _publish(self, site: Site) -> None:
        for payload in itertools.cycle((b"small", b"a large one")):
            with suppress(APIError):
                await site.api.jetstream.publish("oversized", payload)
            await asyncio.sleep(0.1)

    async def remedy(self, site: Site) -> None:
        await edit_stream(site, "OVERSIZED", max_msg_size=100)
