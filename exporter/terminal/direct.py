"""Polls NATS itself, for a terminal without an exporter."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from exporter.pages.status.report import UnwellReport, unwell_report
from exporter.pages.status.view import StatusView
from exporter.pages.status.view_builder import system_view
from exporter.polling.loop import SystemPoller
from exporter.polling.wiring import make_poller
from exporter.settings.config import ExporterSettings
from streamgauge.cancellation import cancel
from streamgauge.serving.version import VERSION


@dataclass(frozen=True, slots=True)
class DirectPolls:
    """Verdicts need two polls: until then a consumer is unwell only by what one poll shows."""

    pollers: Sequence[SystemPoller]
    interval: float

    async def report(self) -> UnwellReport:
        return unwell_report(await asyncio.to_thread(self._view))

    async def poll(self) -> None:
        await asyncio.gather(*(poller.poll_once() for poller in self.pollers))

    def _view(self) -> StatusView:
        now = time.time()
        systems = tuple(system_view(poller, now) for poller in self.pollers)
        return StatusView(VERSION, now, self.interval, "command line", systems)


@asynccontextmanager
async def direct_polls(settings: ExporterSettings, interval: float) -> AsyncIterator[DirectPolls]:
    """Closes the connections at the end. Audits are left to `streamgauge audit`."""
    pollers = []
    for system in settings.systems:
        quiet = replace(system, interval=interval, audit=replace(system.audit, enabled=False))
        pollers.append(make_poller(settings, quiet, naming_seconds=0))
    listeners = [
        asyncio.create_task(poller.event_session.run())
        for poller in pollers
        if poller.event_session is not None
    ]
    try:
        yield DirectPolls(pollers, interval)
    finally:
        await cancel(listeners)
        await asyncio.gather(*listeners, return_exceptions=True)
        await asyncio.gather(*(poller.close() for poller in pollers))
