"""The archive server: receives samples, publishes in the background, shuts down in order."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import threading
from collections.abc import Awaitable, Callable
from typing import Final

from aiohttp import web

from archive.components import Components, open_components
from archive.http.app import make_app
from archive.http.auth import Access
from archive.http.write_endpoint import WriteEndpoint
from archive.ingest.clock import Clock
from archive.self_metrics import SelfMetrics, dropped_connections
from archive.settings.config import ArchiveSettings
from archive.settings.options import Options
from archive.wal.errors import WalUnavailableError
from streamgauge.serving.descriptor_limit import raise_descriptor_limit
from streamgauge.serving.log_format import exception_text
from streamgauge.serving.logs import StateLog, event
from streamgauge.serving.settings.loader import SettingsError
from streamgauge.serving.settings.server import is_loopback
from streamgauge.serving.web.connection_limits import ConnectionLimits
from streamgauge.serving.web.routes import add_reload
from streamgauge.serving.web.server import HttpServer, ListenError, health_servers

logger = logging.getLogger(__name__)

PUBLISH_SECONDS: Final = 60.0
FORGET_SECONDS: Final = 600.0
TOKEN_SECONDS: Final = 5.0
FINISH_SECONDS: Final = 5.0
# The series caches are long-lived: frequent full collections would only scan them again.
GC_THRESHOLDS: Final = (50_000, 50, 100)


class Archive:
    def __init__(
        self,
        options: Options,
        settings: ArchiveSettings,
        access: Access,
    ) -> None:
        self._options = options
        self._settings = settings
        self._access = access
        self._tokens = access.tokens
        self._clock = Clock()
        self._states = StateLog(logger)
        self._tasks: list[asyncio.Task[None]] = []
        self._publishing = threading.Lock()

    async def run(self) -> int:
        """Runs until a signal; returns the exit code."""
        gc.set_threshold(*GC_THRESHOLDS)
        components = await asyncio.to_thread(open_components, self._settings, self._clock)
        try:
            await self._serve(components)
            published = await asyncio.to_thread(self._published, components.publisher.publish_all)
        finally:
            await asyncio.to_thread(components.quarantine.close)
            await components.wal.close()
        return 0 if published else 1

    async def _serve(self, components: Components) -> None:
        descriptors = raise_descriptor_limit()
        limits = ConnectionLimits(self._settings.web, descriptors)
        endpoint = self._endpoint(components)
        app = self._app(components, endpoint, limits)
        # The receiver decompresses bodies, and refuses other encodings unread.
        server = HttpServer(
            app,
            self._settings.web,
            limits,
            self._access.web_config.ssl_context(),
            auto_decompress=False,
            connection=endpoint.connection,
        )
        servers = [server, *health_servers(app, self._settings.web, limits)]
        try:
            for each in servers:
                await self._listen(each)
            self._start_tasks(components)
            stopping = _stop_signal()
            self._log_serving(server)
            await stopping.wait()
            event(logger, logging.INFO, "stopping")
        finally:
            components.receiver.stopping = True
            await endpoint.finish(FINISH_SECONDS)
            for each in servers:
                await each.stop()
            await self._end_tasks()

    def _endpoint(self, components: Components) -> WriteEndpoint:
        max_body = self._settings.limits.body
        return WriteEndpoint(components.receiver, components.counters, max_body, self._access)

    def _app(
        self, components: Components, endpoint: WriteEndpoint, limits: ConnectionLimits
    ) -> web.Application:
        app = make_app(
            endpoint,
            SelfMetrics(lambda: (*components.values(), *dropped_connections(limits.dropped))),
            trouble=lambda: components.wal.unavailable,
            unhealthy=self._dead_task,
            served=self._settings.web,
        )
        add_reload(app, self._settings.web, self._reload)
        self._access.protect(app)
        return app

    async def _reload(self) -> tuple[bool, str]:
        """Reloads the settings that can change at run time."""
        try:
            await asyncio.to_thread(self._access.web_config.reload)
        except SettingsError as error:
            return False, f"not reloaded: {error}"
        await asyncio.to_thread(self._tokens.reload)
        return True, "reloaded the web configuration and the bearer tokens"

    async def _listen(self, server: HttpServer) -> None:
        try:
            await server.start()
        except ListenError as error:
            raise self._options.configuration_error("web.listen_address", str(error)) from error

    def _log_serving(self, server: HttpServer) -> None:
        event(logger, logging.INFO, "serving", listen=server.url, data=self._settings.data,
              settings=self._options.source)  # fmt: skip
        is_local = is_loopback(self._settings.web.listen_address)
        if not is_local and not self._tokens and not self._access.web_config.current.users:
            event(logger, logging.WARNING,
                  "no authentication, every client that reaches this address can write: "
                  "set bearer_tokens or web.config_file",
                  listen=self._settings.web.listen_address)  # fmt: skip

    def _start_tasks(self, components: Components) -> None:
        def task(name: str, every: float, work: Callable[[], Awaitable[None]]) -> None:
            made = asyncio.create_task(_repeat(every, work), name=name)
            made.add_done_callback(_log_task_end)
            self._tasks.append(made)

        task("publishing", PUBLISH_SECONDS, lambda: self._publish_due(components))
        task("forgetting", FORGET_SECONDS, lambda: _forget(components, self._clock))
        if self._tokens:
            task("reading tokens", TOKEN_SECONDS, self._reload_tokens)

    async def _end_tasks(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _dead_task(self) -> str:
        dead = [task.get_name() for task in self._tasks if task.done()]
        return f"{', '.join(dead)} ended" if dead else ""

    async def _reload_tokens(self) -> None:
        await asyncio.to_thread(self._tokens.reload)

    async def _publish_due(self, components: Components) -> None:
        await asyncio.to_thread(self._published, components.publisher.publish_due)

    def _published(self, publish: Callable[[int], object]) -> bool:
        """One at a time: the publication at shutdown waits for one in progress."""
        with self._publishing:
            try:
                publish(self._clock.now())
            except Exception as error:  # noqa: BLE001  any error: receiving must go on
                message = "publishing failed, the write-ahead log keeps all samples"
                state = exception_text(error)
                self._states.report("publishing", state, logging.ERROR, message, error=error)
                return False
            self._states.report("publishing", "", logging.INFO, "publishing works")
            return True


def _log_task_end(task: asyncio.Task[None]) -> None:
    """A background task must not end; /-/healthy reports it too."""
    error = None if task.cancelled() else task.exception()
    if error is not None:
        event(logger, logging.ERROR, "background task ended", task=task.get_name(), error=error)


async def _repeat(every: float, work: Callable[[], Awaitable[None]]) -> None:
    while True:
        await asyncio.sleep(every)
        await work()


async def _forget(components: Components, clock: Clock) -> None:
    async with components.receiver.decoder_lock:
        try:
            count = await asyncio.to_thread(components.forget, clock.now())
        except WalUnavailableError as error:
            event(logger, logging.WARNING, "cannot forget idle series", error=error)
            return
    if count:
        event(logger, logging.DEBUG, "evicted idle series", count=count)


def _stop_signal() -> asyncio.Event:
    loop, stopping = asyncio.get_running_loop(), asyncio.Event()

    def stop() -> None:
        if stopping.is_set():
            # A second signal exits at once; the write-ahead log keeps all samples.
            event(
                logger,
                logging.WARNING,
                "exiting without publishing, the write-ahead log keeps all samples",
            )
            os._exit(1)
        stopping.set()

    def reload() -> None:
        event(logger, logging.INFO, "nothing to reload: changes of the web configuration and the "
              "tokens apply without it, other settings need a restart")  # fmt: skip

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    loop.add_signal_handler(signal.SIGHUP, reload)
    return stopping
