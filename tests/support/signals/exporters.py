"""Whole exporters on a test's server, listening beside what they poll, and what they say of APP."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from support.exporter.exposed_series import settings_of
from support.exporter.full_poller import polled, whole_poller
from support.exporter.source_polls import Place
from support.nats.servers import APP

from exporter.polling.loop import SystemPoller
from exporter.settings.config import PublishSettings, SourceName, SystemSettings
from exporter.settings.events import EventAccountSettings, EventSettings
from streamgauge.serving.settings.loader import Secret

PREFIX: Final = "streamgauge_consumer_"


@dataclass
class WholeExporter:
    poller: SystemPoller

    async def of_consumers(self, metric: str, stream: str = "ORDERS") -> dict[str, float]:
        """After one more poll, by the name of the consumer; who has no such series is not there."""
        found: dict[str, float] = {}
        for (name, labels), value in (await polled(self.poller)).items():
            identity = dict(labels)
            if name == PREFIX + metric and identity["stream"] == stream:
                found[identity["consumer"]] = value
        return found


def listening_settings(place: Place, source: SourceName) -> SystemSettings:
    """Requests subscriptions in each poll, and receives the advisories of APP."""
    plain = settings_of(place, source)
    beside = EventAccountSettings(
        urls=settings_of(place, "account").urls,
        user=APP.user,
        password=Secret(APP.password),
        name="APP",
    )
    return SystemSettings(
        name=plain.name,
        source=source,
        urls=plain.urls,
        user=plain.user,
        password=plain.password,
        config_interval=0.0,
        publishes=PublishSettings(interval=0.0),
        events=EventSettings(account=None if source == "account" else beside),
    )


@asynccontextmanager
async def whole_exporter(place: Place, source: SourceName) -> AsyncIterator[WholeExporter]:
    """With a first poll made: of what is born later all is counted."""
    async with whole_poller(listening_settings(place, source)) as poller:
        await polled(poller)
        yield WholeExporter(poller)
