"""Receives write requests that repeat the head of an earlier one of their connection.

aiohttp receives the first request of a connection, and every other request that differs in more
than its size and body. A sender repeats the same head for as long as its connection lives, and
for small requests reading it again costs more than decoding the samples.
"""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Final, cast

from aiohttp import web
from aiohttp.http import HttpVersion11

from archive.http.known_head import KnownHead, response_bytes
from archive.ingest.protocol import RequestInfo, WriteResponse
from archive.remote_write.v1.connection_cursor import ConnectionCursor
from streamgauge.serving.web.connection import Connection

if TYPE_CHECKING:
    from archive.http.write_endpoint import WriteEndpoint

_END: Final = b"\r\n\r\n"
_SIZE: Final = re.compile(rb"\r\nContent-Length: *([0-9]{1,15})(?=\r\n)", re.IGNORECASE)
_CHUNKED: Final = re.compile(rb"\r\nTransfer-Encoding:", re.IGNORECASE)
# A body that takes longer is left to aiohttp, which waits for it and responds to the sender.
_BODY_SECONDS: Final = 1.0


class RepeatedRequests(asyncio.Protocol):
    """Between a connection and aiohttp's protocol. Gives aiohttp all bytes that it does not know."""

    def __init__(
        self, endpoint: WriteEndpoint, connection: Connection, http: asyncio.Protocol
    ) -> None:
        self.cursor = ConnectionCursor()
        self._endpoint = endpoint
        self._connection = connection
        self._http = http
        self._requests = 0
        self._in_step = True
        """Whether the next byte is the start of a request, or `_left` bytes are before it."""
        self._left = 0
        self._head = b""  # of the last request that aiohttp received
        self._known: KnownHead | None = None
        self._is_read = True  # whether the client reads its responses
        # The request that is received here: all bytes so far, start and size of its body.
        self._data: bytes | bytearray = b""
        self._body = 0
        self._size = 0
        self._slow: asyncio.TimerHandle | None = None
        self._response: asyncio.Future[WriteResponse] | None = None
        self._early: list[bytes] = []  # arrived before the response

    def learn(self, request: web.Request, info: RequestInfo) -> None:
        """`request` was accepted; the next one may have the same head."""
        size = _SIZE.search(self._head)
        is_plain = request.version == HttpVersion11 and request.keep_alive
        is_plain = is_plain and "Expect" not in request.headers
        if size is None or not is_plain or not self._in_step or self._left:
            return
        begin, end = size.span(1)
        access = self._endpoint.access
        self._known = KnownHead(
            self._head[:begin], self._head[end:], info, access.state, access.headers
        )

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._endpoint.connections[self._http] = self
        self._http.connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._endpoint.connections.pop(self._http, None)
        if self._data and self._response is None:
            self._withdraw()
        self._http.connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._response is not None:
            self._early.append(data)
            self._pause()
        elif self._data:
            self._data += data
            self._more()
        elif not self._is_repeated(data):
            self._pass(data)

    def eof_received(self) -> bool | None:
        """False when the body is not complete: it would hold its memory until the time limit."""
        is_partial = bool(self._data) and self._response is None
        if is_partial or (self._in_step and self._left > 0):
            return False
        return self._http.eof_received()

    def pause_writing(self) -> None:
        self._is_read = False
        self._http.pause_writing()

    def resume_writing(self) -> None:
        self._is_read = True
        self._http.resume_writing()

    def _is_repeated(self, data: bytes) -> bool:
        """Begins a request with the known head, unless it must wait or be refused."""
        known, endpoint = self._known, self._endpoint
        if known is None or self._connection.responses != self._requests or not self._is_read:
            return False
        found = known.size_in(data)
        if found is None:
            return False
        size, begin = found
        if known.access != endpoint.access.state or not endpoint.receiver.hold(size):
            return False
        self._requests += 1
        self._data, self._body, self._size = data, begin, size
        self._connection.begin_request()
        if len(data) < begin + size:
            self._data = bytearray(data)  # grows without a copy
            self._slow = asyncio.get_running_loop().call_later(_BODY_SECONDS, self._hand_over)
        self._more()
        return True

    def _more(self) -> None:
        data, end = self._data, self._body + self._size
        if len(data) < end:
            return
        known = cast(KnownHead, self._known)
        self._stop_timer()
        if len(data) > end:
            self._early.append(bytes(data[end:]))
        receiver = self._endpoint.receiver
        body = bytes(data[self._body : end])
        self._response = receiver.receive_soon(known.info, body, self.cursor)
        self._endpoint.in_flight.add(self._response)
        self._response.add_done_callback(self._respond)

    def _respond(self, done: asyncio.Future[WriteResponse]) -> None:
        known, connection = cast(KnownHead, self._known), self._connection
        self._endpoint.in_flight.discard(done)
        self._endpoint.receiver.release(self._size)
        self._data, self._response = b"", None
        transport = connection.transport
        if transport is None or transport.is_closing():
            return
        if done.cancelled() or done.exception() is not None:  # not expected: the sender retries
            transport.abort()
            return
        response = done.result()
        self._endpoint.counters.responses[response.code] += 1
        transport.write(response_bytes(response, known.headers))
        connection.end_request(authenticated=True)
        if self._early:
            self._continue(transport)
            if connection.half_closed and self.eof_received() is False:
                transport.close()
        elif connection.half_closed:
            transport.close()

    def _continue(self, transport: asyncio.Transport) -> None:
        data, self._early = b"".join(self._early), []
        transport.resume_reading()
        self._connection.data_received(data)

    def _pass(self, data: bytes) -> None:
        """Gives aiohttp the data, and finds out where its request ends."""
        if self._in_step:
            if self._left:
                self._left -= len(data)
            else:
                self._begin_other(data)
            # A client that does not wait for responses, or splits a head, stays with aiohttp.
            if self._left < 0:
                self._in_step = False
        self._http.data_received(data)

    def _begin_other(self, data: bytes) -> None:
        end = data.find(_END) + len(_END)
        self._head, self._known = data[:end], None
        is_next = self._connection.responses == self._requests
        self._in_step = is_next and end >= len(_END) and not _CHUNKED.search(self._head)
        self._requests += 1
        size = _SIZE.search(self._head)
        self._left = end + (int(size[1]) if size else 0) - len(data)

    def _hand_over(self) -> None:
        """Leaves a request to aiohttp whose body is not complete."""
        if self._data and self._response is None:
            data = bytes(self._data)
            self._requests -= 1
            self._withdraw()
            self._pass(data)

    def _withdraw(self) -> None:
        self._stop_timer()
        self._data = b""
        self._connection.busy = False
        self._endpoint.receiver.release(self._size)

    def _stop_timer(self) -> None:
        if self._slow is not None:
            self._slow.cancel()
            self._slow = None

    def _pause(self) -> None:
        if self._connection.transport is not None:
            self._connection.transport.pause_reading()
