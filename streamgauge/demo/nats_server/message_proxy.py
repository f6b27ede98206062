"""A proxy before a NATS server that may change each message on its way to the client."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Final

HOST: Final = "127.0.0.1"
_LINE_BYTES: Final = 1024 * 1024
_END: Final = b"\r\n"


@dataclass(frozen=True)
class ServerMessage:
    """`MSG <subject> <sid> <all>`, or `HMSG <subject> <sid> <headers> <all>`, and what follows."""

    words: tuple[bytes, ...]  # of its line, without the lengths
    headers: bytes
    body: bytes

    def encoded(self) -> bytes:
        whole = b"%d" % (len(self.headers) + len(self.body))
        lengths = (b"%d" % len(self.headers), whole) if self.headers else (whole,)
        return b" ".join((*self.words, *lengths)) + _END + self.headers + self.body + _END


# Yields the bytes that the client gets instead of the message.
Change = Callable[[ServerMessage], AsyncIterator[bytes]]


@asynccontextmanager
async def changed_messages(port: int, change: Change) -> AsyncIterator[str]:
    """The URL of the NATS server at `port` behind such a proxy."""
    proxy = _Proxy(port, change)
    listener = await asyncio.start_server(proxy.serve, HOST, 0)
    try:
        yield f"nats://{HOST}:{listener.sockets[0].getsockname()[1]}"
    finally:
        listener.close()
        await proxy.close()


class _Proxy:
    def __init__(self, port: int, change: Change) -> None:
        self._port = port
        self._change = change
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
                    async for chunk in self._chunks(line, server):
                        writer.write(chunk)
                        await writer.drain()
        finally:
            requests.cancel()
            to_server.close()
            writer.close()

    async def close(self) -> None:
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _chunks(self, line: bytes, server: asyncio.StreamReader) -> AsyncIterator[bytes]:
        words = tuple(line.split())
        kind = words[0].upper() if words else b""
        if kind not in (b"MSG", b"HMSG"):
            yield line
            return
        text = (await server.readexactly(int(words[-1]) + len(_END)))[: -len(_END)]
        lengths = 2 if kind == b"HMSG" else 1
        size = int(words[-2]) if lengths == 2 else 0
        message = ServerMessage(words[:-lengths], text[:size], text[size:])
        async for chunk in self._change(message):
            yield chunk


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await reader.read(_LINE_BYTES):
            writer.write(data)
            await writer.drain()
    writer.close()
