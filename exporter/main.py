"""`streamgauge exporter`: start, serve, reload on SIGHUP, and shut down."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import sys
import time
from collections.abc import Sequence

from exporter.polling.one_shot import run_once
from exporter.polling.supervisor import Reload, Supervisor
from exporter.settings.config import ExporterSettings
from exporter.settings.options import Options, read_options
from exporter.tempo import SPEED, VARIABLE
from exporter.web import make_app
from streamgauge.serving.descriptor_limit import raise_descriptor_limit
from streamgauge.serving.logs import configure_logs, event
from streamgauge.serving.name_lookup import NameLookupLoop
from streamgauge.serving.settings.loader import SettingsError
from streamgauge.serving.settings.server import is_loopback
from streamgauge.serving.version import VERSION
from streamgauge.serving.web.connection_limits import ConnectionLimits
from streamgauge.serving.web.live_config import LiveWebConfig
from streamgauge.serving.web.server import HttpServer, ListenError, health_servers

logger = logging.getLogger(__name__)

# A decoded response is some hundred thousand objects that live until the next poll. With the default
# thresholds the garbage collector would walk all of them several times during decoding.
GC_THRESHOLDS = (50_000, 50, 100)
# Requests and connections that do not end are left: ten seconds are promised.
_STOP_SECONDS = 9.0


def main(argv: Sequence[str]) -> int:
    try:
        options = read_options(argv, os.environ)
        settings = options.load()
        gc.set_threshold(*GC_THRESHOLDS)
        if options.once:
            return run_once(settings)
        configure_logs(settings.log.format, settings.log.level)
        web_config = LiveWebConfig(settings.web.config_file)
        with asyncio.Runner(loop_factory=NameLookupLoop) as runner:
            return runner.run(_serve(options, settings, web_config))
    except SettingsError as error:
        sys.stderr.write(f"streamgauge: {error}\n")
        return 2
    except KeyboardInterrupt:
        return 130


async def _serve(options: Options, settings: ExporterSettings, web_config: LiveWebConfig) -> int:
    supervisor = Supervisor(settings, options.load)
    descriptors = raise_descriptor_limit()
    limits = ConnectionLimits(settings.web, descriptors)
    app = make_app(supervisor, options.source, limits.dropped, tls=web_config.current.uses_tls)
    web_config.protect(app)
    server = HttpServer(app, settings.web, limits, web_config.ssl_context())
    servers = [server, *health_servers(app, settings.web, limits)]
    try:
        for each in servers:
            await _listen(each, options)
        supervisor.start()
        stopping = _signals(supervisor)
        event(logger, logging.INFO, "serving", listen=server.url, systems=len(settings.systems),
              version=VERSION, settings=options.source)  # fmt: skip
        if SPEED > 1:
            event(logger, logging.WARNING, "windows are shorter than in production", speed=SPEED,
                  variable=VARIABLE)  # fmt: skip
        if not is_loopback(settings.web.listen_address) and not web_config.current.users:
            event(logger, logging.INFO, "no authentication, every client that reaches this address "
                  "can read: set web.config_file",
                  listen=settings.web.listen_address)  # fmt: skip
        await stopping.wait()
        event(logger, logging.INFO, "stopping")
    finally:
        began = time.monotonic()
        await _stop(servers, supervisor)
    event(logger, logging.INFO, "stopped", seconds=round(time.monotonic() - began, 1))
    return 0


async def _stop(servers: Sequence[HttpServer], supervisor: Supervisor) -> None:
    try:
        async with asyncio.timeout(_STOP_SECONDS):
            # The listener first: a running scrape still needs the systems.
            for each in servers:
                await each.stop()
            await supervisor.stop()
    except TimeoutError:
        event(logger, logging.WARNING, "not everything ended in time")


async def _listen(server: HttpServer, options: Options) -> None:
    try:
        await server.start()
    except ListenError as error:
        raise options.error("web.listen_address", str(error)) from error


def _signals(supervisor: Supervisor) -> asyncio.Event:
    loop, stopping = asyncio.get_running_loop(), asyncio.Event()
    reloads: set[asyncio.Task[Reload]] = set()

    def reload() -> None:
        task = asyncio.create_task(supervisor.reload())
        reloads.add(task)  # the loop itself keeps only a weak reference
        task.add_done_callback(reloads.discard)

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    if hasattr(signal, "SIGHUP"):
        loop.add_signal_handler(signal.SIGHUP, reload)
    return stopping
