"""Connections to a server that send nothing, a part of a request, or requests one by one."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass

from streamgauge.serving.descriptor_limit import raise_descriptor_limit

HALF_REQUEST = b"GET /metrics HTTP/1.1\r\nHost: a\r\nX-Half: "


def with_descriptors(count: int) -> tuple[str, ...]:
    """Put it before a command: the process cannot open more files."""
    return ("sh", "-c", f'ulimit -n {count} && exec "$0" "$@"')


@dataclass(frozen=True)
class KeptConnection:
    """One connection; every request goes over it."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def get(self, path: str) -> int:
        self.writer.write(f"GET {path} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode()
        size = next(line for line in head.splitlines() if line.startswith("Content-Length: "))
        await self.reader.readexactly(int(size.partition(": ")[2]))
        return int(head.split()[1])


@contextlib.asynccontextmanager
async def kept_connection(port: int) -> AsyncIterator[KeptConnection]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield KeptConnection(reader, writer)
    finally:
        writer.close()


@contextlib.asynccontextmanager
async def many_connections(port: int, count: int, sent: bytes = b"") -> AsyncIterator[None]:
    """All are open at once, as far as the server lets them be."""
    raise_descriptor_limit()
    writers = []
    try:
        for _ in range(count):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writers.append(writer)
            writer.write(sent)
        yield
    finally:
        for writer in writers:
            writer.close()
