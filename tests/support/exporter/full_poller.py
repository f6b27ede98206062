"""A poller with all that belongs to it, made from settings as the exporter makes it."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from support.exporter.event_listeners import until_connected
from support.exporter.rendered_series import Key, key, samples_of, text_of

from exporter.metric import Level
from exporter.polling.loop import SystemPoller
from exporter.polling.wiring import make_poller
from exporter.settings.config import ExporterSettings, SystemSettings


@asynccontextmanager
async def whole_poller(system: SystemSettings) -> AsyncIterator[SystemPoller]:
    """It listens already; polls are the test's to make."""
    settings = ExporterSettings(systems=(system,), timeout=20.0, detail=Level.FULL)
    poller = make_poller(settings, system)
    listening = asyncio.create_task(poller.event_session.run()) if poller.event_session else None
    try:
        await _until_it_hears(poller)
        yield poller
    finally:
        if listening is not None:
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)
        await poller.close()


async def _until_it_hears(poller: SystemPoller) -> None:
    event_session = poller.event_session
    if event_session is None:
        return
    connections = [listener.connection for listener in event_session.listeners]
    for connection in (
        [*connections, event_session.tap.connection] if event_session.tap else connections
    ):
        await until_connected(connection)


async def polled(poller: SystemPoller) -> dict[Key, float]:
    """One more poll, and what a scrape would then get."""
    await poller.poll_once()
    samples = samples_of(text_of(poller.served(time.time())))
    return {key(sample): sample.value for sample in samples}
