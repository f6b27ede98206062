"""One connection of the HTTP server: aiohttp's protocol, and what the limits must know of it."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections.abc import Callable
from typing import Final, NamedTuple, cast

_TLS: Final = "sslcontext"


class Timeouts(NamedTuple):
    """In seconds."""

    header: float
    """From the accept, or the first byte of a later request, to the end of the headers."""
    idle: float
    """Between two requests of an authenticated client."""


class Connection(asyncio.Protocol):
    """Closed by the limits when `deadline` has passed and no request is handled."""

    def __init__(
        self,
        accepted: socket.socket,
        make_http: Callable[[Connection], asyncio.Protocol],
        timeouts: Timeouts,
        opened: Callable[[Connection, asyncio.BaseTransport], None],
        closed: Callable[[Connection], None],
    ) -> None:
        self.busy = False
        """A request is handled."""
        self.authenticated = False
        """A request was handled, with another result than 401."""
        self.is_idle = False
        """Nothing was received since the last response."""
        self.responses = 0
        self.half_closed = False
        """The client sends nothing more, and may wait for a response."""
        self.deadline = time.monotonic() + timeouts.header
        self.transport: asyncio.Transport | None = None
        self._socket = accepted
        self._make_http = make_http
        self._timeouts = timeouts
        self._opened = opened
        self._closed = closed
        self._http: asyncio.Protocol

    def begin_request(self) -> None:
        self.busy, self.is_idle = True, False

    def end_request(self, *, authenticated: bool) -> None:
        self.busy, self.is_idle = False, True
        self.responses += 1
        self.authenticated |= authenticated
        waits = self.authenticated and not self.half_closed
        seconds = self._timeouts.idle if waits else self._timeouts.header
        self.deadline = time.monotonic() + seconds

    def abort(self) -> None:
        """Also during a TLS handshake, when there is no transport yet."""
        if self.transport is not None:
            self.transport.abort()
            return
        with contextlib.suppress(OSError):  # closed by the client
            self._socket.shutdown(socket.SHUT_RDWR)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self._http = self._make_http(self)
        self._opened(self, transport)
        self._http.connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._closed(self)
        self._http.connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.is_idle:
            self.is_idle = False
            self.deadline = time.monotonic() + self._timeouts.header
        self._http.data_received(data)

    def eof_received(self) -> bool | None:
        """True keeps the connection open, so that a complete request gets its response."""
        keep = self._http.eof_received()
        if self.transport is None or self.transport.get_extra_info(_TLS) is not None:
            return keep  # TLS cannot be half-closed
        if keep is False:
            return False  # the request cannot be completed any more
        self.half_closed = True
        self.deadline = min(self.deadline, time.monotonic() + self._timeouts.header)
        return not self.is_idle

    def pause_writing(self) -> None:
        self._http.pause_writing()

    def resume_writing(self) -> None:
        self._http.resume_writing()
