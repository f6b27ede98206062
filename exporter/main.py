"""`streamgauge exporter`: from the command line to a serving process, and its orderly end."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import sys
from collections.abc import Sequence

from aiohttp import web

from exporter.assembly import make_poller
from exporter.config import ExporterSettings, listen_address
from exporter.exposition import Format, assemble
from exporter.options import Options, read_options
from exporter.poll import SystemPoller
from exporter.samples.self_metrics import SelfMetrics
from exporter.version import VERSION
from exporter.watch import Watch, system_samples
from exporter.web import make_app
from streamgauge.serving.live_web_config import LiveWebConfig
from streamgauge.serving.logs import configure_logs, event
from streamgauge.serving.settings import SettingsError

logger = logging.getLogger(__name__)

_GOODBYE_SECONDS = 5.0
# A decoded answer is some hundred thousand objects that live until the next poll. With the usual
# thresholds the collector would walk all of them, again and again, while they are being made.
_GC_THRESHOLDS = (50_000, 50, 100)


def main(argv: Sequence[str]) -> int:
    try:
        options = read_options(argv, os.environ)
        settings = options.load()
        configure_logs(settings.logs.format, settings.logs.level)
        gc.set_threshold(*_GC_THRESHOLDS)
        if options.once:
            return asyncio.run(_once(settings))
        web_config = LiveWebConfig(settings.web_config)
        return asyncio.run(_serve(options, settings, web_config))
    except SettingsError as error:
        sys.stderr.write(f"streamgauge: {error}\n")
        return 2
    except KeyboardInterrupt:
        return 130


async def _serve(options: Options, settings: ExporterSettings, web_config: LiveWebConfig) -> int:
    watch = Watch(settings, options.load)
    app = make_app(watch, options.source)
    web_config.protect(app)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    host, port = listen_address(settings.listen)
    site = web.TCPSite(
        runner, host, port, ssl_context=web_config.ssl_context(), shutdown_timeout=_GOODBYE_SECONDS
    )
    try:
        await site.start()
    except OSError as error:
        await runner.cleanup()
        raise SettingsError("", "listen", f"{settings.listen}: {error.strerror}") from error
    stopping = _signals(watch)
    watch.start()
    event(logger, logging.INFO, "serving", listen=site.name, systems=len(settings.systems))
    try:
        await stopping.wait()
    finally:
        event(logger, logging.INFO, "stopping")
        await watch.stop()
        await runner.cleanup()
    return 0


def _signals(watch: Watch) -> asyncio.Event:
    loop, stopping = asyncio.get_running_loop(), asyncio.Event()
    reloads: set[asyncio.Task[str | None]] = set()

    def reload() -> None:
        task = asyncio.create_task(watch.reload())
        reloads.add(task)  # the loop itself keeps only a weak reference
        task.add_done_callback(reloads.discard)

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    if hasattr(signal, "SIGHUP"):
        loop.add_signal_handler(signal.SIGHUP, reload)
    return stopping


async def _once(settings: ExporterSettings) -> int:
    """One poll of every system, printed; 1 when a question was left without an answer."""
    pollers = [make_poller(settings, system) for system in settings.systems]
    try:
        await asyncio.gather(*(poller.poll_once() for poller in pollers))
    finally:
        await asyncio.gather(*(poller.source.close() for poller in pollers))
    blocks = [poller.state.rendered.blocks for poller in pollers]
    live = SelfMetrics(_Once(pollers), VERSION, sys.version.split()[0]).text(Format.TEXT)
    for chunk in assemble(blocks, live, Format.TEXT).plain_chunks():
        sys.stdout.buffer.write(chunk)
    sys.stdout.flush()
    return 0 if all(poller.state.complete for poller in pollers) else 1


class _Once:
    def __init__(self, pollers: list[SystemPoller]) -> None:
        self._pollers = pollers

    def self_samples(self):  # type: ignore[no-untyped-def]
        for poller in self._pollers:
            yield from system_samples(poller, poller.state.last_answer or 0.0)
