"""Proxies that give a real server another clock: each moment in its answers is moved by an offset.

For a server that stands alone that is what its clock being wrong looks like from outside.
"""

import asyncio
import gzip
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import aiohttp
from aiohttp import web

HOST: Final = "127.0.0.1"
_LINE_BYTES: Final = 1024 * 1024
_GZIP: Final = b"\x1f\x8b"
_END: Final = b"\r\n"
# The fraction and the zone stay as they are, so a moved moment is as long as it was.
_MOMENT: Final = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?=[.Z+-])")
_NEVER: Final = b"0001-01-01T00:00:00"


def moved_moments(text: bytes, seconds: int) -> bytes:
    """Every RFC 3339 moment of the text, except the one that means never."""

    def moved(found: re.Match[bytes]) -> bytes:
        if found[0] == _NEVER:
            return _NEVER
        moment = datetime.fromisoformat(found[0].decode()) + timedelta(seconds=seconds)
        return moment.isoformat().encode()

    return _MOMENT.sub(moved, text)


def moved_body(body: bytes, seconds: int) -> bytes:
    if body.startswith(_GZIP):
        return gzip.compress(moved_moments(gzip.decompress(body), seconds))
    return moved_moments(body, seconds)


@dataclass
class WrongClock:
    """It may be set again at any time."""

    ahead: int  # seconds; below 0 it is behind


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
        assert call is not None
        self._calls.add(call)
        call.add_done_callback(self._calls.discard)
        server, to_server = await asyncio.open_connection(HOST, self._port, limit=_LINE_BYTES)
        questions = asyncio.create_task(_pass_on(reader, to_server))
        try:
            # Either side may hang up at any time, also in the middle of a message.
            with suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
                while line := await server.readline():
                    writer.write(await self._falsified(line, server))
                    await writer.drain()
        finally:
            questions.cancel()
            to_server.close()
            writer.close()

    async def close(self) -> None:
        for call in self._calls:
            call.cancel()
        await asyncio.gather(*self._calls)

    async def _falsified(self, line: bytes, server: asyncio.StreamReader) -> bytes:
        lengths = _Lengths.of(line)
        if lengths is None:
            return moved_moments(line, self._clock.ahead)
        message = (await server.readexactly(lengths.whole + len(_END)))[: lengths.whole]
        headers = moved_moments(message[: lengths.headers], self._clock.ahead)
        body = moved_body(message[lengths.headers :], self._clock.ahead)
        return lengths.line(headers, body) + headers + body + _END


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await reader.read(_LINE_BYTES):
            writer.write(data)
            await writer.drain()
    writer.close()


@asynccontextmanager
async def http_with_clock(monitor_url: str, clock: WrongClock) -> AsyncIterator[str]:
    """The same for the monitoring port of a server."""
    async with aiohttp.ClientSession(monitor_url) as session:

        async def answer(request: web.Request) -> web.Response:
            async with session.get(request.rel_url) as response:
                body = moved_moments(await response.read(), clock.ahead)
                kind = response.content_type
                return web.Response(body=body, status=response.status, content_type=kind)

        app = web.Application()
        app.router.add_get("/{path:.*}", answer)
        runner = web.AppRunner(app)
        await runner.setup()
        try:
            site = web.TCPSite(runner, HOST, 0)
            await site.start()
            yield f"http://{HOST}:{runner.addresses[0][1]}"
        finally:
            await runner.cleanup()
