"""A poller that sees a server as if its clock were wrong."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from support.exporter.exposed_series import settings_of
from support.nats.clock_proxy import WrongClock, http_with_clock, nats_with_clock
from support.nats.servers import NatsServer

from exporter.metric import Level
from exporter.polling.loop import SystemPoller
from exporter.polling.wiring import make_poller
from exporter.settings.config import ExporterSettings, SourceName


@asynccontextmanager
async def polling_with(
    clock: WrongClock, server: NatsServer, source: SourceName
) -> AsyncIterator[SystemPoller]:
    """A poller that sees the server with this clock."""
    if source == "monitor":
        falsified = http_with_clock(server.monitor_url, clock)
    else:
        falsified = nats_with_clock(server.ports.client, clock)
    async with falsified as url:
        settings = replace(settings_of(server, source), urls=(url,))
        poller = make_poller(ExporterSettings(detail=Level.FULL), settings)
        try:
            yield poller
        finally:
            await poller.source.close()
