"""Write requests on a connection, byte by byte: split, pipelined, chunked and aborted."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest
from support.remote_write import messages as rw
from support.remote_write.endpoint import Endpoint, open_endpoint
from support.remote_write.framed_requests import framed
from support.waiting import until

from archive.settings.limits import Limits

LIMITS: Final = Limits(body=50_000, decoded=400_000, waiting=1 << 20)


def message(count: int = 1, repeat: int = 0) -> bytes:
    at = time.time_ns() // 1_000_000 - 60_000 + repeat
    return rw.compressed(rw.request_v1(*rw.many(count, {}, at)))


@dataclass
class Wire:
    """A connection of a sender."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(self, *parts: bytes) -> None:
        for part in parts:
            self.writer.write(part)
            await self.writer.drain()
            await asyncio.sleep(0)

    async def response(self) -> tuple[int, bytes]:
        """Code and bytes of the next response."""
        head = await self.reader.readuntil(b"\r\n\r\n")
        size = [line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")]
        body = await self.reader.readexactly(int(size[0].split(b":")[1])) if size else b""
        return int(head.split()[1]), head + body


@pytest.fixture(params=["first", "repeated"])
async def endpoint(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Endpoint]:
    """`repeated`: every connection has sent a request with the same head before."""
    async with open_endpoint(tmp_path / "quarantine", LIMITS) as opened:
        opened.is_repeated = request.param == "repeated"
        yield opened


@asynccontextmanager
async def connected(endpoint: Endpoint) -> AsyncIterator[Wire]:
    reader, writer = await asyncio.open_connection("127.0.0.1", endpoint.port)
    try:
        wire = Wire(reader, writer)
        if endpoint.is_repeated:
            await wire.send(framed(rw.compressed(rw.request_v1())))
            assert (await wire.response())[0] == 204
        yield wire
    finally:
        writer.close()


async def test_a_connection_takes_several_requests(
    endpoint: Endpoint,
) -> None:
    async with connected(endpoint) as wire:
        for repeat in range(3):
            await wire.send(framed(message(5, repeat)))
            assert (await wire.response())[0] == 204
    assert endpoint.log.samples == 15


async def test_a_request_may_arrive_in_any_parts(endpoint: Endpoint) -> None:
    whole = framed(message(3))
    async with connected(endpoint) as wire:
        for cut in (1, 20, len(whole) - 1):
            await wire.send(whole[:cut], whole[cut:])
            assert (await wire.response())[0] == 204
        await wire.send(*(whole[at : at + 1] for at in range(len(whole))))
        assert (await wire.response())[0] == 204
    assert endpoint.log.samples == 12


async def test_pipelined_requests_get_their_responses_in_order(
    endpoint: Endpoint,
) -> None:
    bodies = [message(1), b"no snappy at all", message(2), b"", message(3)]
    async with connected(endpoint) as wire:
        await wire.send(b"".join(map(framed, bodies)))
        codes = [(await wire.response())[0] for _ in bodies]
    assert codes == [204, 400, 204, 400, 204]
    assert [len(batch.series) for batch in endpoint.log.batches] == [1, 2, 3]


@pytest.mark.parametrize("ahead", [0, 1, 2])
async def test_other_requests_on_the_same_connection_get_their_response_in_order(
    endpoint: Endpoint, ahead: int
) -> None:
    async with connected(endpoint) as wire:
        await wire.send(framed(message(1)) * ahead + b"GET /-/healthy HTTP/1.1\r\nHost: x\r\n\r\n")
        for _ in range(ahead):
            assert (await wire.response())[0] == 204
        code, response = await wire.response()
        assert code == 200
        assert response.endswith(b"healthy\n")
        await wire.send(framed(message(1)))
        assert (await wire.response())[0] == 204
    assert endpoint.log.samples == ahead + 1


async def test_expect_100_continue_is_supported(endpoint: Endpoint) -> None:
    body = message(2)
    whole = framed(body, "Expect: 100-continue")
    async with connected(endpoint) as wire:
        await wire.send(whole[: -len(body)])
        assert (await wire.reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 100 ")
        await wire.send(body)
        assert (await wire.response())[0] == 204
    assert endpoint.log.samples == 2


async def test_a_chunked_body_is_accepted(endpoint: Endpoint) -> None:
    body = message(2)
    head = framed(b"").replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")
    async with connected(endpoint) as wire:
        await wire.send(head, f"{len(body):x}\r\n".encode() + body + b"\r\n0\r\n\r\n")
        assert (await wire.response())[0] == 204
    assert endpoint.log.samples == 2


async def test_two_sizes_are_refused_and_nothing_is_taken_for_a_second_request(
    endpoint: Endpoint,
) -> None:
    body = message(2)
    async with connected(endpoint) as wire:
        await wire.send(framed(body, "Content-Length: 0"))
        code, _ = await wire.response()
        assert code == 400
        assert await wire.reader.read() == b""  # the connection is closed
    assert endpoint.log.batches == []


async def test_connection_close_is_obeyed(endpoint: Endpoint) -> None:
    async with connected(endpoint) as wire:
        await wire.send(framed(message(1), "Connection: close"))
        assert (await wire.response())[0] == 204
        assert await wire.reader.read() == b""


async def test_a_disconnect_during_the_body_releases_its_memory(endpoint: Endpoint) -> None:
    whole = framed(message(3))
    for _ in range(30):
        async with connected(endpoint) as wire:
            await wire.send(whole[:-1])
    async with connected(endpoint) as wire:
        await wire.send(whole)
        assert (await wire.response())[0] == 204

    async def held() -> int:
        return endpoint.receiver._waiting

    await until(held, lambda size: size == 0, "memory is reserved for a closed connection")


async def test_a_disconnect_before_the_response_keeps_the_samples(endpoint: Endpoint) -> None:
    endpoint.log.gate.clear()
    async with connected(endpoint) as wire:
        await wire.send(framed(message(3)))
        await endpoint.log.appending.wait()
    endpoint.log.gate.set()
    assert (await endpoint.post_body(message(1))).status == 204
    assert endpoint.log.samples == 4
    assert endpoint.receiver._waiting == 0
