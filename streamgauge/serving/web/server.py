"""The HTTP server of every serving command: accepts connections within the limits."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import ssl
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any, Final

from aiohttp import web
from aiohttp.http import HttpProcessingError

from streamgauge.serving.rate_limit import MinuteBudget
from streamgauge.serving.settings.server import ServerSettings, host_and_port
from streamgauge.serving.web.connection import Connection
from streamgauge.serving.web.connection_limits import ConnectionLimits
from streamgauge.serving.web.routes import health_app

_SHUTDOWN_SECONDS: Final = 5.0
_CLEANUP_SECONDS: Final = 6.0  # aiohttp waits twice for a handler whose client does not read
# Of the descriptors that the main server leaves for files: probes come one by one.
_HEALTH_CONNECTIONS: Final = 8
_LEAST_DESCRIPTORS: Final = 64  # enough for them, whatever the limit of the process
_BACKLOG: Final = 1024
_NEVER: Final = 10 * 365 * 86_400.0  # seconds: the limits close idle connections
# Few, because the descriptors of evicted connections are freed after them.
_ACCEPTED_AT_ONCE: Final = 8
_ACCEPT_AGAIN_SECONDS: Final = 0.1
_CHECKS_A_TIMEOUT: Final = 4
_NO_CONNECTION: Final = (BlockingIOError, InterruptedError, ConnectionAbortedError)


class ListenError(Exception):
    """The server cannot listen on its address."""


class HttpServer:
    """aiohttp's own sites accept without a limit and log every failure."""

    def __init__(
        self,
        app: web.Application,
        settings: ServerSettings,
        limits: ConnectionLimits,
        tls: ssl.SSLContext | None = None,
        *,
        auto_decompress: bool = True,
        connection: Callable[[Connection, asyncio.Protocol], asyncio.Protocol] | None = None,
    ) -> None:
        """`connection`: the protocol of a connection, from that of aiohttp."""
        limits.protect(app)
        self._settings = settings
        self._limits = limits
        self._tls = tls
        self._connection = connection
        self._runner = web.AppRunner(
            app,
            access_log=None,
            logger=_request_log(),
            shutdown_timeout=_SHUTDOWN_SECONDS,
            keepalive_timeout=_NEVER,
            auto_decompress=auto_decompress,
        )
        self._listeners: list[socket.socket] = []
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        host, port = host_and_port(self._settings.listen_address)
        scheme = "http" if self._tls is None else "https"
        return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"

    async def start(self) -> None:
        """Raises ListenError."""
        await self._runner.setup()
        try:
            self._listeners = await self._listen()
        except OSError as error:
            raise ListenError(f"{self._settings.listen_address}: {_reason(error)}") from error
        for listener in self._listeners:
            self._resume(listener)
        self._start(self._close_overdue())

    async def stop(self) -> None:
        """Waits some seconds for requests that are handled."""
        loop = asyncio.get_running_loop()
        for listener in self._listeners:
            loop.remove_reader(listener)
            listener.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_CLEANUP_SECONDS):
                await self._runner.cleanup()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _listen(self) -> list[socket.socket]:
        host, port = host_and_port(self._settings.listen_address)
        found = await asyncio.get_running_loop().getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        listeners: list[socket.socket] = []
        try:
            for family, *_, address in dict.fromkeys(found):
                listener = socket.create_server(address, family=family, backlog=_BACKLOG)
                listener.setblocking(False)
                listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # inherited
                listeners.append(listener)
        except OSError:
            for listener in listeners:
                listener.close()
            raise
        return listeners

    def _resume(self, listener: socket.socket) -> None:
        if listener.fileno() >= 0:  # not closed meanwhile
            asyncio.get_running_loop().add_reader(listener, self._accept, listener)

    def _accept(self, listener: socket.socket) -> None:
        for _ in range(_ACCEPTED_AT_ONCE):
            try:
                accepted, _address = listener.accept()
            except _NO_CONNECTION:
                return
            except OSError as error:
                # The listener stays readable: without a pause this would be a busy loop.
                self._limits.accept_failed(error)
                loop = asyncio.get_running_loop()
                loop.remove_reader(listener)
                loop.call_later(_ACCEPT_AGAIN_SECONDS, self._resume, listener)
                return
            accepted.setblocking(False)
            connection = self._limits.admit(accepted, self._http)
            if connection is None:
                accepted.close()
            else:
                self._start(self._open(accepted, connection))

    def _http(self, connection: Connection) -> asyncio.Protocol:
        server = self._runner.server
        if server is None:  # unreachable: the listeners are closed before the runner
            raise RuntimeError("the server is not running")
        http = server()
        return http if self._connection is None else self._connection(connection, http)

    async def _open(self, accepted: socket.socket, connection: Connection) -> None:
        handshake = self._limits.timeouts.header if self._tls else None
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: connection, accepted, ssl=self._tls, ssl_handshake_timeout=handshake
            )
        except (OSError, asyncio.CancelledError):  # a failed handshake is an OSError too
            self._limits.handshake_failed(connection)
            accepted.close()

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)  # the loop keeps only a weak reference
        task.add_done_callback(self._tasks.discard)

    async def _close_overdue(self) -> None:
        pause = min(1.0, self._settings.header_timeout / _CHECKS_A_TIMEOUT)
        with contextlib.suppress(asyncio.CancelledError):
            while True:
                await asyncio.sleep(pause)
                self._limits.close_overdue()


def health_servers(
    app: web.Application, settings: ServerSettings, limits: ConnectionLimits
) -> list[HttpServer]:
    """The server for probes, where `web.health_address` is set. `limits`: of the main server, for its counts."""
    if not settings.health_address:
        return []
    own = replace(
        settings,
        listen_address=settings.health_address,
        max_connections=min(settings.max_connections, _HEALTH_CONNECTIONS),
    )
    return [
        HttpServer(health_app(app), own, ConnectionLimits(own, _LEAST_DESCRIPTORS, limits.dropped))
    ]


def _request_log() -> logging.Logger:
    """aiohttp logs every bad request with a traceback: one of each kind a minute is enough.

    The text of such an error contains bytes of the request, a password among them: only its kind is logged.
    """
    budget = MinuteBudget(1)

    def passes(record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        if _quotes_request(error):
            record.exc_info = None
            record.fields = {"error": type(error).__name__}
        return budget.spend((record.msg, type(error)))

    log = logging.Logger(__name__)  # noqa: LOG001  each server has its own budget
    log.parent = logging.getLogger(__name__)
    log.addFilter(passes)
    return log


def _quotes_request(error: BaseException | None) -> bool:
    """Also when the handler read a bad body, and raised another error because of it."""
    while error is not None:
        if isinstance(error, HttpProcessingError | web.RequestPayloadError):
            return True
        error = error.__cause__ or error.__context__
    return False


def _reason(error: OSError) -> str:
    """The error text of the operating system; Python's own text repeats the address."""
    if isinstance(error, socket.gaierror) or error.errno is None:
        return error.strerror or str(error)
    return os.strerror(error.errno)
