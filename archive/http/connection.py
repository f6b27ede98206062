"""One connection of a sender: plain write requests are taken here, everything else by aiohttp.

At the first request that is not plain the connection is aiohttp's, for the rest of its life.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from functools import partial
from typing import Final, Protocol, cast

from archive.http.request_head import END, MAX_HEAD, Head, read_head
from archive.ingest.negotiation import RequestInfo
from archive.ingest.response import WriteResponse
from archive.remote_write.v1.connection_cursor import ConnectionCursor

# A body that takes longer has time: aiohttp waits for the rest of it, and tells the sender off.
IMPATIENT: Final = 5.0
# As long as aiohttp keeps one: longer than a proxy in front does.
IDLE: Final = 3_630.0


class Handler(Protocol):
    """Who takes the requests in."""

    request_line: bytes

    def admit(self, head: Head, peer: str) -> RequestInfo | None:
        """None when aiohttp is to look at this one. Else there is room held for the body."""

    def release(self, size: int) -> None:
        """The room of a body that was admitted."""

    def receive(
        self, about: RequestInfo, body: bytes, cursor: ConnectionCursor
    ) -> asyncio.Future[WriteResponse]: ...

    def written(self, answer: WriteResponse) -> bytes:
        """As it goes over the wire; it counts as given."""


class QuickConnection(asyncio.Protocol):
    def __init__(
        self,
        desk: Handler,
        others: Callable[[], asyncio.Protocol],
        open_ones: set[QuickConnection],
    ) -> None:
        """`others` makes the protocol that takes over; `open_ones` knows who is still here."""
        self._desk = desk
        self._others = others
        self._open_ones = open_ones
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._peer = ""
        self._parts: list[bytes] = []
        self._have = 0
        self._need = 0  # bytes of the request with its head, when that is read
        self._size = 0  # bytes of its body, for which room is held
        self._about: RequestInfo | None = None
        self._cursor = ConnectionCursor()
        self._since = self._loop.time()  # when the last thing happened
        self._ending = False
        self.answer: asyncio.Future[WriteResponse] | None = None
        """To the request that is under way."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        peer = transport.get_extra_info("peername")
        self._peer = str(peer[0]) if isinstance(peer, tuple | list) else str(peer or "")
        connected = transport.get_extra_info("socket")
        if connected is not None:
            connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        self._open_ones.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._leave()

    def data_received(self, data: bytes) -> None:
        self._parts.append(data)
        self._have += len(data)
        if self.answer is not None:
            # The next request already: one at a time, and no more of it than this.
            if self._transport is not None:
                self._transport.pause_reading()
            return
        if self._about is None:
            self._begin()
        if self._about is not None and self._have >= self._need:
            self._start(self._about)

    def look(self, now: float) -> None:
        """Now and then: who does not get on is left to aiohttp, who is silent is let go."""
        if self._transport is None or self.answer is not None:
            return
        if self._parts and now - self._since > IMPATIENT:
            self._hand_over()
        elif now - self._since > IDLE:
            self._transport.close()

    def stop(self) -> None:
        """After the request under way, or now. What has not come whole comes again."""
        self._ending = True
        if self.answer is None and self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        if self.answer is not None:
            self.answer.cancel()
        if self._transport is not None:
            self._transport.abort()

    def _begin(self) -> None:
        """Reads the head, if it is there."""
        self._since = self._loop.time()
        data = self._joined()
        end = data.find(END, 0, MAX_HEAD + len(END))
        if end < 0:
            if len(data) > MAX_HEAD or not _begins(self._desk.request_line, data):
                self._hand_over()
            return
        head = read_head(data[:end], self._desk.request_line)
        about = self._desk.admit(head, self._peer) if head is not None else None
        if head is None or about is None:
            self._hand_over()
            return
        self._about, self._size = about, head.size
        self._need = end + len(END) + head.size

    def _start(self, about: RequestInfo) -> None:
        """The request is whole."""
        data, size = self._joined(), self._size
        body, rest = data[self._need - size : self._need], data[self._need :]
        self._about = None
        self._parts, self._have = [rest] if rest else [], len(rest)
        self.answer = self._desk.receive(about, body, self._cursor)
        self.answer.add_done_callback(partial(self._answered, len(body)))

    def _answered(self, size: int, answer: asyncio.Future[WriteResponse]) -> None:
        self.answer = None
        self._desk.release(size)
        self._since = self._loop.time()
        if self._transport is None or self._transport.is_closing():
            return
        if answer.cancelled():  # whoever gets none comes again
            self._transport.abort()
            return
        self._transport.write(self._desk.written(answer.result()))
        if self._ending:
            self._transport.close()
        elif self._parts:
            self._transport.resume_reading()
            rest, self._parts, self._have = self._joined(), [], 0
            self.data_received(rest)

    def _joined(self) -> bytes:
        if len(self._parts) > 1:
            self._parts = [b"".join(self._parts)]
        return self._parts[0] if self._parts else b""

    def _hand_over(self) -> None:
        transport, data = self._transport, self._joined()
        self._leave()
        if transport is None or transport.is_closing():
            return
        self._transport = None
        other = self._others()
        transport.set_protocol(other)
        other.connection_made(transport)
        other.data_received(data)

    def _leave(self) -> None:
        self._open_ones.discard(self)
        if self._about is not None:
            self._desk.release(self._size)
            self._about = None
        self._parts, self._have = [], 0


def _begins(cursor: bytes, data: bytes) -> bool:
    """Whether this may become that line."""
    return cursor.startswith(data[: len(cursor)])
