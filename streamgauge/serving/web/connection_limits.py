"""Limits of connections: their number, and the time until a request is complete.

At the maximum a new connection replaces the oldest one that has sent no request yet, so that silent
clients cannot keep others out.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from collections import Counter
from collections.abc import Callable
from enum import StrEnum
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler

from streamgauge.serving.logs import event
from streamgauge.serving.rate_limit import RateLimitedLog
from streamgauge.serving.settings.server import ServerSettings
from streamgauge.serving.web.connection import Connection, Timeouts

logger = logging.getLogger(__name__)

_UNAUTHORIZED: Final = 401
# Descriptors for everything else: files, and connections to other servers.
_RESERVED_SHARE: Final = 4
_RESERVED_LEAST: Final = 32


class ConnectionDrop(StrEnum):
    """Why a connection was closed before its request was complete."""

    EVICTED = "evicted"
    REFUSED = "refused"
    TIMEOUT = "timeout"
    HANDSHAKE = "handshake"
    ACCEPT = "accept"


class ConnectionLimits:
    """The open connections of a server. Belongs to one event loop."""

    def __init__(
        self,
        settings: ServerSettings,
        descriptors: int,
        dropped: Counter[ConnectionDrop] | None = None,
    ) -> None:
        """`descriptors`: the limit of open files of this process. `dropped`: of another server too."""
        self.timeouts = Timeouts(settings.header_timeout, settings.idle_timeout)
        self.dropped: Counter[ConnectionDrop] = Counter() if dropped is None else dropped
        reserved = max(descriptors // _RESERVED_SHARE, _RESERVED_LEAST)
        self._most = max(1, min(settings.max_connections, descriptors - reserved))
        if self._most < settings.max_connections:
            event(logger, logging.WARNING, "fewer connections than web.max_connections: "
                  "raise the limit of open files", connections=self._most,
                  descriptors=descriptors)  # fmt: skip
        self._open: dict[Connection, None] = {}  # oldest first
        self._by_transport: dict[asyncio.BaseTransport, Connection] = {}
        self._log = RateLimitedLog(logger)

    def __len__(self) -> int:
        return len(self._open)

    def admit(
        self, accepted: socket.socket, make_http: Callable[[Connection], asyncio.Protocol]
    ) -> Connection | None:
        """The new connection, or None when all open ones are handling requests."""
        while len(self._open) >= self._most:
            if not self._evict():
                self._drop(ConnectionDrop.REFUSED, "connection refused, all are busy")
                return None
        made = Connection(accepted, make_http, self.timeouts, self._opened, self._closed)
        self._open[made] = None
        return made

    def accept_failed(self, error: OSError) -> None:
        self._evict()
        self._drop(ConnectionDrop.ACCEPT, "cannot accept connections", error=error)

    def handshake_failed(self, connection: Connection) -> None:
        if connection in self._open:  # otherwise it was dropped for another reason
            self.dropped[ConnectionDrop.HANDSHAKE] += 1
            self._closed(connection)

    def close_overdue(self) -> None:
        """Call it about once a second."""
        now = time.monotonic()
        for connection in [each for each in self._open if not each.busy and each.deadline <= now]:
            if not connection.is_idle:
                self.dropped[ConnectionDrop.TIMEOUT] += 1
            self._abort(connection)

    def protect(self, app: web.Application) -> None:
        """Adds the outermost middleware: call it after everything else that adds one."""
        app.middlewares.insert(0, self._handle)

    @web.middleware
    async def _handle(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        transport = request.transport
        connection = None if transport is None else self._by_transport.get(transport)
        if connection is None:  # closed meanwhile
            return await handler(request)
        connection.begin_request()
        response: web.StreamResponse | None = None
        try:
            response = await handler(request)
        except web.HTTPException as error:
            response = error
            raise
        finally:
            if response is not None and connection.half_closed:
                response.force_close()
            refused = response is not None and response.status == _UNAUTHORIZED
            connection.end_request(authenticated=not refused)
        return response

    def _evict(self) -> bool:
        waiting = next(
            (each for each in self._open if not each.busy and not each.authenticated), None
        )
        idle = (each for each in self._open if not each.busy)
        victim = waiting or min(idle, key=lambda each: each.deadline, default=None)
        if victim is None:
            return False
        self._drop(ConnectionDrop.EVICTED, "connection limit reached, old connections are closed")
        self._abort(victim)
        return True

    def _drop(self, reason: ConnectionDrop, message: str, **fields: object) -> None:
        self.dropped[reason] += 1
        self._log.log(reason, logging.WARNING, message, open=len(self._open), limit=self._most,
                      **fields)  # fmt: skip

    def _abort(self, connection: Connection) -> None:
        self._closed(connection)
        connection.abort()

    def _opened(self, connection: Connection, transport: asyncio.BaseTransport) -> None:
        self._by_transport[transport] = connection

    def _closed(self, connection: Connection) -> None:
        self._open.pop(connection, None)
        if connection.transport is not None:
            self._by_transport.pop(connection.transport, None)
