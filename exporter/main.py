"""`streamgauge exporter`: from the command line to a serving process, and its orderly end."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import socket
import sys
from collections.abc import Sequence

from aiohttp import web

from exporter.polling.one_shot import run_once
from exporter.polling.supervisor import Reload, Watch
from exporter.settings.config import ExporterSettings
from exporter.settings.options import Options, read_options
from exporter.web import make_app
from streamgauge.serving.logs import configure_logs, event
from streamgauge.serving.settings.loader import SettingsError
from streamgauge.serving.settings.server import host_and_port
from streamgauge.serving.version import VERSION
from streamgauge.serving.web.live_config import LiveWebConfig

logger = logging.getLogger(__name__)

_GOODBYE_SECONDS = 5.0
# A decoded answer is some hundred thousand objects that live until the next poll. With the usual
# thresholds the collector would walk all of them, again and again, while they are being made.
GC_THRESHOLDS = (50_000, 50, 100)


def main(argv: Sequence[str]) -> int:
    try:
        options = read_options(argv, os.environ)
        settings = options.load()
        gc.set_threshold(*GC_THRESHOLDS)
        if options.once:
            return run_once(settings)
        configure_logs(settings.log.format, settings.log.level)
        web_config = LiveWebConfig(settings.web.config_file)
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
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=_GOODBYE_SECONDS)
    await runner.setup()
    try:
        site = await _listen(runner, options, settings.web.listen_address, web_config)
        watch.start()
        stopping = _signals(watch)
        event(logger, logging.INFO, "serving", listen=site.name, systems=len(settings.systems),
              version=VERSION, settings=options.source)  # fmt: skip
        await stopping.wait()
        event(logger, logging.INFO, "stopping")
    finally:
        # First the listener: a scrape under way must still find its systems.
        await runner.cleanup()
        await watch.stop()
    return 0


async def _listen(
    runner: web.AppRunner, options: Options, address: str, web_config: LiveWebConfig
) -> web.BaseSite:
    host, port = host_and_port(address)
    site = web.TCPSite(runner, host, port, ssl_context=web_config.ssl_context())
    try:
        await site.start()
    except OSError as error:
        raise options.mistake("web.listen_address", f"{address}: {_reason(error)}") from error
    return site


def _signals(watch: Watch) -> asyncio.Event:
    loop, stopping = asyncio.get_running_loop(), asyncio.Event()
    reloads: set[asyncio.Task[Reload]] = set()

    def reload() -> None:
        task = asyncio.create_task(watch.reload())
        reloads.add(task)  # the loop itself keeps only a weak reference
        task.add_done_callback(reloads.discard)

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    if hasattr(signal, "SIGHUP"):
        loop.add_signal_handler(signal.SIGHUP, reload)
    return stopping


def _reason(error: OSError) -> str:
    """asyncio wraps the system's words in a sentence that repeats the address."""
    if isinstance(error, socket.gaierror) or error.errno is None:
        return error.strerror or str(error)
    return os.strerror(error.errno)
