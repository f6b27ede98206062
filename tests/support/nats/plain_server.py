"""A NATS server without TLS that keeps every byte it receives, for tests."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final

from aiohttp import web

INFO: Final[Mapping[str, Any]] = {
    "server_id": "PLAIN",
    "server_name": "plain",
    "version": "2.15.1",
    "headers": True,
    "auth_required": True,
    "max_payload": 1048576,
    "nonce": "aGVsbG8gd29ybGQ",
}
_TLS_HANDSHAKE: Final = b"\x16\x03"
_END_SECONDS: Final = 5.0


@dataclass
class PlainServer:
    """Accepts every login."""

    port: int = 0
    connections: int = 0
    received: bytearray = field(default_factory=bytearray)

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def take(self, data: bytes) -> bytes:
        """The response to these bytes."""
        self.received += data
        if self.received.startswith(_TLS_HANDSHAKE):
            return b"-ERR 'Unknown Protocol Operation'\r\n"  # as nats-server responds to it
        return b"PONG\r\n" if b"PING\r\n" in data else b""


def info_line(**changes: object) -> bytes:
    return b"INFO " + json.dumps({**INFO, **changes}).encode() + b"\r\n"


@asynccontextmanager
async def plain_server(**info: object) -> AsyncIterator[PlainServer]:
    """Over TCP; `info`: further fields of its INFO."""
    plain = PlainServer()
    ended: list[asyncio.Event] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        plain.connections += 1
        ended.append(end := asyncio.Event())
        with suppress(ConnectionError):
            writer.write(info_line(**info))
            while data := await reader.read(65536):
                writer.write(plain.take(data))
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()
        end.set()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    plain.port = server.sockets[0].getsockname()[1]
    try:
        yield plain
    finally:
        async with asyncio.timeout(_END_SECONDS):  # a client must not leave its connection open
            for end in ended:
                await end.wait()
        server.close()
        await server.wait_closed()


@asynccontextmanager
async def plain_websocket() -> AsyncIterator[PlainServer]:
    """Over a WebSocket; the headers of its HTTP request count as received."""
    plain = PlainServer()

    async def serve(request: web.Request) -> web.WebSocketResponse:
        plain.connections += 1
        plain.received += request.headers.get("Authorization", "").encode()
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await socket.send_bytes(info_line())
        async for message in socket:
            if response := plain.take(message.data):
                await socket.send_bytes(response)
        return socket

    app = web.Application()
    app.router.add_get("/{path:.*}", serve)
    runner = web.AppRunner(app, shutdown_timeout=1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        plain.port = runner.addresses[0][1]
        yield plain
    finally:
        await runner.cleanup()
