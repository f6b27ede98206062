"""`streamgauge exporter --once`: one poll of every system, printed."""

from __future__ import annotations

import asyncio
import os
import platform
import sys
import time
from collections.abc import Iterator, Sequence

from exporter.exposition.text_format import Format, assemble
from exporter.polling.loop import SystemPoller
from exporter.polling.scrape_view import ScrapeView
from exporter.polling.wiring import make_poller
from exporter.samples.self_metrics import SelfMetrics
from exporter.settings.config import ExporterSettings
from streamgauge.serving.logs import LogLevel, configure_logs
from streamgauge.serving.version import VERSION


def run_once(settings: ExporterSettings) -> int:
    """0 when every request was answered, else 1 and the reasons on stderr."""
    # What failed is told in plain words at the end; the log would only say it twice.
    debug = settings.log.level is LogLevel.DEBUG
    configure_logs(settings.log.format, LogLevel.DEBUG if debug else LogLevel.ERROR)
    pollers = asyncio.run(_polled(settings))
    try:
        _print(pollers)
    except BrokenPipeError:
        # Whoever read it has seen enough; without this Python would complain at its exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    failures = [line for poller in pollers for line in _failures(poller)]
    for line in failures:
        sys.stderr.write(f"streamgauge: {line}\n")
    return 1 if failures else 0


async def _polled(settings: ExporterSettings) -> Sequence[SystemPoller]:
    pollers = [make_poller(settings, system) for system in settings.systems]
    try:
        await asyncio.gather(*(poller.poll_once() for poller in pollers))
    finally:
        await asyncio.gather(*(poller.close() for poller in pollers))
    return pollers


def _print(pollers: Sequence[SystemPoller]) -> None:
    moment = ScrapeView(time.time(), tuple((poller.system, poller.state) for poller in pollers))
    own = SelfMetrics(moment, VERSION, platform.python_version()).text(Format.TEXT)
    for chunk in assemble(moment.blocks(), own, Format.TEXT).plain_chunks():
        sys.stdout.buffer.write(chunk)
    sys.stdout.buffer.flush()


def _failures(poller: SystemPoller) -> Iterator[str]:
    state = poller.state
    if state.complete:
        return
    told = [
        f"{poller.system}: {request} failed ({record.outcome.reason}): {record.outcome.detail}"
        for request, record in state.requests.items()
        if not record.outcome.ok
    ]
    yield from told or [f"{poller.system}: {_why_incomplete(poller)}"]


def _why_incomplete(poller: SystemPoller) -> str:
    state = poller.state
    if state.errors.get(("poll", "internal")):
        return "the poll failed by a mistake of the exporter itself, see the line above"
    return f"{state.servers_responding} of {state.servers_expected} servers answered"
