"""A proxy that shifts the timestamps in the responses of a NATS server, as if its clock were wrong."""

import asyncio
import gzip
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

HOST: Final = "127.0.0.1"
_LINE_BYTES: Final = 1024 * 1024
_GZIP: Final = b"\x1f\x8b"
_END: Final = b"\r\n"
# Fraction and zone are unchanged, so a shifted timestamp has the same length.
_MOMENT: Final = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?=[.Z+-])")
_NEVER: Final = b"0001-01-01T00:00:00"


@dataclass
class WrongClock:
    """May be changed at any time."""

    ahead: int = 0  # seconds; below 0 it is behind
    server: str = ""  # whose clock is wrong; empty: every response is shifted
    since: datetime | None = None  # earlier timestamps are unchanged; None: all are shifted


def moved_moments(text: bytes, seconds: int, since: datetime | None = None) -> bytes:
    """Shifts every RFC 3339 timestamp (UTC) of the text since `since`, except the zero time."""

    def moved(found: re.Match[bytes]) -> bytes:
        moment = datetime.fromisoformat(found[0].decode())
        if found[0] == _NEVER or (since is not None and moment.replace(tzinfo=UTC) < since):
            return found[0]
        return (moment + timedelta(seconds=seconds)).isoformat().encode()

    return _MOMENT.sub(moved, text)


def moved_body(body: bytes, clock: WrongClock) -> bytes:
    """Shifts a response, compressed or plain, if it comes from the server with the wrong clock."""
    if not clock.ahead:
        return body
    if body.startswith(_GZIP):
        return gzip.compress(_of_that_server(gzip.decompress(body), clock))
    return _of_that_server(body, clock)


def _of_that_server(text: bytes, clock: WrongClock) -> bytes:
    # Every response of a server begins with its name.
    if clock.server and b'"server":{"name":"%s"' % clock.server.encode() not in text:
        return text
    return moved_moments(text, clock.ahead, clock.since)


@asynccontextmanager
async def nats_with_clock(port: int, clock: WrongClock) -> AsyncIterator[str]:
    """The URL of the NATS server at `port`, as if it had this clock."""
    proxy = _NatsProxy(port, clock)
    listener = await asyncio.start_server(proxy.serve, HOST, 0)
    try:
        yield f"nats://{HOST}:{listener.sockets[0].getsockname()[1]}"
    finally:
        listener.close()
        await proxy.close()


@dataclass(frozen=True)
class _Lengths:
    """How a message announces its length: `MSG ... <all>` or `HMSG ... <headers> <all>`."""

    words: tuple[bytes, ...]
    headers: int
    whole: int

    @classmethod
    def of(cls, line: bytes) -> "_Lengths | None":
        words = tuple(line.split())
        kind = words[0].upper() if words else b""
        if kind == b"MSG":
            return cls(words[:-1], 0, int(words[-1]))
        if kind == b"HMSG":
            return cls(words[:-2], int(words[-2]), int(words[-1]))
        return None

    def line(self, headers: bytes, body: bytes) -> bytes:
        whole = str(len(headers) + len(body)).encode()
        numbers = (str(len(headers)).encode(), whole) if self.headers else (whole,)
        return b" ".join((*self.words, *numbers)) + _END


class _NatsProxy:
    def __init__(self, port: int, clock: WrongClock) -> None:
        self._port = port
        self._clock = clock
        self._connections: set[asyncio.Task[None]] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = asyncio.current_task()
        if connection is not None:
            self._connections.add(connection)
            connection.add_done_callback(self._connections.discard)
        try:
            server, to_server = await asyncio.open_connection(HOST, self._port, limit=_LINE_BYTES)
        except OSError:  # the server is down; the client sees a closed connection
            writer.close()
            return
        requests = asyncio.create_task(_pass_on(reader, to_server))
        try:
            # Either side may close the connection at any time, also within a message.
            with suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
                while line := await server.readline():
                    writer.write(await self._shifted(line, server))
                    await writer.drain()
        finally:
            requests.cancel()
            to_server.close()
            writer.close()

    async def close(self) -> None:
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _shifted(self, line: bytes, server: asyncio.StreamReader) -> bytes:
        lengths = _Lengths.of(line)
        if lengths is None:
            return line
        message = (await server.readexactly(lengths.whole + len(_END)))[: lengths.whole]
        headers = message[: lengths.headers]
        if self._clock.ahead and not self._clock.server:
            headers = moved_moments(headers, self._clock.ahead)
        body = moved_body(message[lengths.headers :], self._clock)
        return lengths.line(headers, body) + headers + body + _END


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await reader.read(_LINE_BYTES):
            writer.write(data)
            await writer.drain()
    writer.close()
