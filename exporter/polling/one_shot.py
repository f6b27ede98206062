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
    """0 when every request succeeded, else 1 and the reasons on stderr."""
    # Failures are printed at the end; log lines would repeat them.
    debug = settings.log.level is LogLevel.DEBUG
    configure_logs(settings.log.format, LogLevel.DEBUG if debug else LogLevel.ERROR)
    pollers = asyncio.run(_polled(settings))
    try:
        _print(pollers)
    except BrokenPipeError:
        # The reader closed the pipe; without this Python prints an error at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    failures = [line for poller in pollers for line in _failures(poller)]
    for line in failures:
        sys.stderr.write(f"streamgauge: {line}\n")
    return 1 if failures else 0


async def _polled(settings: ExporterSettings) -> Sequence[SystemPoller]:
    pollers = [make_poller(settings, system, naming_seconds=0) for system in settings.systems]
    try:
        await asyncio.gather(*(poller.poll_once() for poller in pollers))
    finally:
        await asyncio.gather(*(poller.close() for poller in pollers))
    return pollers


def _print(pollers: Sequence[SystemPoller]) -> None:
    view = ScrapeView(time.time(), tuple((poller.system, poller.state) for poller in pollers))
    own = SelfMetrics(view, VERSION, platform.python_version()).text(Format.TEXT)
    for chunk in assemble(view.blocks(), own, Format.TEXT).plain_chunks():
        sys.stdout.buffer.write(chunk)
    sys.stdout.buffer.flush()


def _failures(poller: SystemPoller) -> Iterator[str]:
    state = poller.state
    if state.complete:
        return
    failures = [
        f"{poller.system}: {request} failed ({record.outcome.reason}): {record.outcome.detail}"
        for request, record in state.requests.items()
        if not record.outcome.ok
    ]
    yield from failures or [f"{poller.system}: {_why_incomplete(poller)}"]


def _why_incomplete(poller: SystemPoller) -> str:
    state = poller.state
    if state.errors.get(("poll", "internal")):
        return "the poll failed by a bug of the exporter, see the line above"
    return f"{state.servers_responding} of {state.servers_expected} servers responded"
