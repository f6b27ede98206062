"""A proxy before a NATS server that moves the moments in its answers: a wrong clock, seen from outside."""

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
# The fraction and the zone stay as they are, so a moved moment is as long as it was.
_MOMENT: Final = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?=[.Z+-])")
_NEVER: Final = b"0001-01-01T00:00:00"


@dataclass
class WrongClock:
    """It may be set again at any time."""

    ahead: int = 0  # seconds; below 0 it is behind
    server: str = ""  # whose clock is wrong; without a name every answer is moved
    since: datetime | None = (
        None  # what was stamped before it went wrong stays; None: everything moves
    )


def moved_moments(text: bytes, seconds: int, since: datetime | None = None) -> bytes:
    """Every RFC 3339 moment (UTC) of the text, except the one that means never and those before."""

    def moved(found: re.Match[bytes]) -> bytes:
        moment = datetime.fromisoformat(found[0].decode())
        if found[0] == _NEVER or (since is not None and moment.replace(tzinfo=UTC) < since):
            return found[0]
        return (moment + timedelta(seconds=seconds)).isoformat().encode()

    return _MOMENT.sub(moved, text)


def moved_body(body: bytes, clock: WrongClock) -> bytes:
    """A whole answer, packed or plain, if it is one of the server with the wrong clock."""
    if not clock.ahead:
        return body
    if body.startswith(_GZIP):
        return gzip.compress(_of_that_server(gzip.decompress(body), clock))
    return _of_that_server(body, clock)


def _of_that_server(text: bytes, clock: WrongClock) -> bytes:
    # Whoever answers for a server introduces itself so, whatever the request was.
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
        self._calls: set[asyncio.Task[None]] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        call = asyncio.current_task()
        if call is not None:
            self._calls.add(call)
            call.add_done_callback(self._calls.discard)
        try:
            server, to_server = await asyncio.open_connection(HOST, self._port, limit=_LINE_BYTES)
        except OSError:  # the server is down; whoever called sees it hang up
            writer.close()
            return
        requests = asyncio.create_task(_pass_on(reader, to_server))
        try:
            # Either side may hang up at any time, also in the middle of a message.
            with suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
                while line := await server.readline():
                    writer.write(await self._falsified(line, server))
                    await writer.drain()
        finally:
            requests.cancel()
            to_server.close()
            writer.close()

    async def close(self) -> None:
        for call in self._calls:
            call.cancel()
        await asyncio.gather(*self._calls, return_exceptions=True)

    async def _falsified(self, line: bytes, server: asyncio.StreamReader) -> bytes:
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
