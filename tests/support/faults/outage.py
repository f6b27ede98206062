"""What is open when a system goes down, and what is lost while it is down."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from support.alert_pipeline.config import SYSTEM
from support.alert_pipeline.pipeline import Pipeline
from support.faults.cluster import STORED, lose_the_last_writes
from support.faults.fault import on_stream, page, seconds, ticket
from support.nats.servers import APP, NatsServer, connected
from support.recordings.scenario import Api
from support.signals.damaged_stores import stream_folder

LOST_AT_THE_END: Final = 5
EXPIRED: Final = 30
EXPIRY_SECONDS: Final = 15.0  # shorter than each outage, longer than two polls

FULL: Final = page("StreamFull", **on_stream("FULL"))
BLOCKED: Final = page("ConsumerAckPendingFull", **on_stream("BLOCKED", consumer="worker"))
OPEN: Final = (FULL, BLOCKED)
BESIDE: Final = (
    # True as well: its worker never comes back.
    ticket("ConsumerNoWorkerPulls", **on_stream("BLOCKED", consumer="worker")),
    # Kept for two minutes, in which the page that mutes it may end.
    ticket("ServerDown", system=SYSTEM, server="n1"),
)
DATA_LOST: Final = page("StreamDataLost", **on_stream("TORN", sign="last sequence went back"))
EXPIRED_UNREAD: Final = page("ConsumerMessagesLost", **on_stream("AGED", consumer="worker"))
LOST: Final = (DATA_LOST, EXPIRED_UNREAD)
UNREACHABLE: Final = page("SystemUnreachable", system=SYSTEM)
UNMONITORED: Final = page("SystemUnmonitored", system=SYSTEM)


@dataclass(frozen=True)
class Outage:
    """A server with two open pages, and messages that will not outlive its next stop."""

    server: NatsServer

    @asynccontextmanager
    async def user(self) -> AsyncIterator[Api]:
        async with connected(self.server, APP) as client:
            yield Api(client)

    async def prepare(self) -> None:
        async with self.user() as api:
            await api.stream("FULL", subjects=["full"], max_msgs=20, discard="new")
            await api.publish("full", 20)
            await api.stream("BLOCKED", subjects=["blocked"])
            held = {"ack_wait": seconds(5), "max_ack_pending": 5}
            await api.consumer("BLOCKED", "worker", **held)
            await api.publish("blocked", 20)
            await api.fetch("BLOCKED", "worker", 5)
            await api.stream("TORN", subjects=["torn"])
            await api.publish("torn", STORED)
            await api.stream("AGED", subjects=["aged"], max_age=seconds(EXPIRY_SECONDS))
            await api.consumer("AGED", "worker", ack_wait=seconds(60))

    async def happen(self, watched: Pipeline, duration: float) -> None:
        """Stored messages go while the server is down: some torn off, some too old."""
        async with self.user() as api:
            await api.publish("aged", EXPIRED)
        await watched.until_value(_pending("AGED"), EXPIRED)
        await self.server.kill()
        folder = self.server._folder
        assert folder is not None
        torn = stream_folder(folder / "store" / "jetstream", "TORN") / "msgs"
        await asyncio.sleep(duration / 2)
        await lose_the_last_writes(torn, LOST_AT_THE_END)
        await asyncio.sleep(duration / 2)
        await self.server.restart()

    async def remedy(self) -> None:
        async with self.user() as api:
            config = (await api.request("STREAM.INFO.FULL"))["config"]
            await api.request("STREAM.UPDATE.FULL", {**config, "max_msgs": 1000})
            config = (await api.request("CONSUMER.INFO.BLOCKED.worker"))["config"]
            wider = {**config, "max_ack_pending": 100}
            request = {"stream_name": "BLOCKED", "config": wider, "action": "update"}
            await api.request("CONSUMER.CREATE.BLOCKED.worker", request)


def _pending(stream: str) -> str:
    return f'max(streamgauge_consumer_num_pending{{stream="{stream}"}})'
