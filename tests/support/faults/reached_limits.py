"""Faults of too much: a full stream, a full account, a consumer that holds all it may hold."""

from __future__ import annotations

import pytest
from nats.aio.msg import Msg
from nats.js.errors import APIError
from support.alert_pipeline.config import SYSTEM
from support.faults.fault import Fault, Site, acknowledge, on_stream, page, seconds, ticket
from support.recordings.scenario import Config

LIMITED = "LIMITED"  # the account with low limits
LIMIT_BYTES = 1_000_000


async def edit_stream(site: Site, stream: str, **changes: object) -> None:
    config: Config = (await site.api.request(f"STREAM.INFO.{stream}"))["config"]
    await site.api.request(f"STREAM.UPDATE.{stream}", {**config, **changes})


async def edit_consumer(site: Site, stream: str, consumer: str, **changes: object) -> None:
    config: Config = (await site.api.request(f"CONSUMER.INFO.{stream}.{consumer}"))["config"]
    request = {"stream_name": stream, "config": {**config, **changes}, "action": "update"}
    await site.api.request(f"CONSUMER.CREATE.{stream}.{consumer}", request)


class StreamFull(Fault):
    """Discard new, and no message is removed. The remedy raises the limit."""

    alerts = (page("StreamFull", **on_stream("FULL")),)

    async def prepare(self, site: Site) -> None:
        await site.api.stream("FULL", subjects=["full"], max_msgs=100, discard="new")
        await site.api.publish("full", 50)

    async def provoke(self, site: Site) -> None:
        await site.api.publish("full", 50)
        with pytest.raises(APIError, match="maximum messages exceeded"):
            await site.api.publish("full", 1)

    async def remedy(self, site: Site) -> None:
        await edit_stream(site, "FULL", max_msgs=1000)
        await site.api.publish("full", 1)


class AccountStorageFull(Fault):
    """All streams of an account share its storage. The remedy purges the largest, but keeps the newest."""

    # The account has no tiers: Prometheus leaves the empty label out.
    alerts = (page("AccountStorageFull", system=SYSTEM, account=LIMITED, limit="storage"),)
    # The page covers it, but a remedy can end the page while the wait of the ticket ends.
    beside = (ticket("AccountStorageHigh", system=SYSTEM, account=LIMITED, limit="storage"),)

    async def prepare(self, site: Site) -> None:
        await site.limited.stream("LARGE", subjects=["large"])

    async def provoke(self, site: Site) -> None:
        with pytest.raises(APIError, match="resource limits exceeded for account"):
            await self._publish_for_ever(site)

    async def _publish_for_ever(self, site: Site) -> None:
        while True:
            await site.limited.jetstream.publish("large", bytes(10_000))

    async def remedy(self, site: Site) -> None:
        await site.limited.request("STREAM.PURGE.LARGE", {"keep": 10})
        await site.limited.jetstream.publish("large", bytes(10_000))


class AckPendingFull(Fault):
    """A worker pulls on and acknowledges nothing while its backend is down, then all that it holds."""

    alerts = (page("ConsumerAckPendingFull", **on_stream("HELD", consumer="worker")),)

    def __init__(self) -> None:
        self._backend_is_up = False
        self._held: list[Msg] = []

    async def prepare(self, site: Site) -> None:
        await site.api.stream("HELD", subjects=["held"])
        # Longer than the test: a redelivery would be another fault.
        await site.api.consumer("HELD", "worker", max_ack_pending=5, ack_wait=seconds(600))

    async def provoke(self, site: Site) -> None:
        await site.api.publish("held", 20)
        site.start(site.work("HELD", "worker", self._response))

    async def _response(self, message: Msg) -> None:
        if self._backend_is_up:
            await acknowledge(message)
        else:
            self._held.append(message)

    async def remedy(self, site: Site) -> None:
        self._backend_is_up = True
        for message in self._held:
            await acknowledge(message)


class AckPendingHigh(Fault):
    """Near its limit for long, and healthy: the remedy raises the limit."""

    alerts = (ticket("ConsumerAckPendingHigh", **on_stream("NARROW", consumer="worker")),)

    async def prepare(self, site: Site) -> None:
        await site.api.stream("NARROW", subjects=["narrow"])
        await site.api.consumer("NARROW", "worker", max_ack_pending=20)

    async def provoke(self, site: Site) -> None:
        await site.api.publish("narrow", 17)
        await site.api.fetch("NARROW", "worker", 17)

    async def remedy(self, site: Site) -> None:
        await edit_consumer(site, "NARROW", "worker", max_ack_pending=5000)


class OwnerLimitExceeded(Fault):
    """More unacknowledged messages than the owner's limit. Then the worker acknowledges."""

    alerts = (
        page(
            "OwnerLimitExceeded",
            **on_stream("OWNED", consumer="worker", limit="outstanding-ack-critical"),
        ),
    )

    def __init__(self) -> None:
        self._held: list[Msg] = []

    async def prepare(self, site: Site) -> None:
        limits = {"io.nats.monitor.outstanding-ack-critical": "10"}
        await site.api.stream("OWNED", subjects=["owned"])
        await site.api.consumer("OWNED", "worker", metadata=limits)

    async def provoke(self, site: Site) -> None:
        await site.api.publish("owned", 10)
        self._held = await site.api.fetch("OWNED", "worker", 10)

    async def remedy(self, site: Site) -> None:
        for message in self._held:
            await message.ack()
