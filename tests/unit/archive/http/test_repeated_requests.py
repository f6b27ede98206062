"""Requests that repeat the head of an earlier one: received without aiohttp, with the same result."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import pytest
from support.bad_requests import BAD_REQUESTS, SECRET
from support.fuzz.heads import check_heads
from support.nats.servers import long_run
from support.remote_write import messages as rw
from support.remote_write.endpoint import Endpoint, open_endpoint
from support.remote_write.framed_requests import framed
from support.waiting import until

from archive.http import repeated_requests, write_endpoint
from archive.settings.limits import Limits
from archive.wal.errors import WalUnavailableError
from streamgauge.serving.log_format import JsonFormatter

LIMITS: Final = Limits(body=50_000, decoded=400_000, waiting=1 << 20)
HEADS: Final = 100_000 if long_run() else 10_000
_VARYING: Final = (b"date:", b"server:")


def message(count: int = 1) -> bytes:
    return rw.compressed(rw.request_v1(*rw.many(count, {}, time.time_ns() // 1_000_000 - 60_000)))


class Wire:
    """A connection of a sender."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def response(self) -> tuple[int, list[bytes], bytes]:
        """The code, the headers that do not vary, and the body of the next response."""
        first, *lines = (await self.reader.readuntil(b"\r\n\r\n"))[:-4].lower().split(b"\r\n")
        sizes = [int(line.split(b":")[1]) for line in lines if line.startswith(b"content-length")]
        body = await self.reader.readexactly(sizes[0]) if sizes else b""
        kept = [line for line in lines if not line.startswith(_VARYING)]
        return int(first.split()[1]), sorted(kept), body

    async def post(self, whole: bytes) -> tuple[int, list[bytes], bytes]:
        self.writer.write(whole)
        return await self.response()


@pytest.fixture
async def endpoint(tmp_path: Path) -> AsyncIterator[Endpoint]:
    async with open_endpoint(tmp_path / "quarantine", LIMITS) as opened:
        yield opened


@asynccontextmanager
async def connected(endpoint: Endpoint, first: bytes = b"") -> AsyncIterator[Wire]:
    """A connection whose head is known: its first request is accepted."""
    reader, writer = await asyncio.open_connection("127.0.0.1", endpoint.port)
    wire = Wire(reader, writer)
    try:
        assert (await wire.post(first or framed(message())))[0] == 204
        yield wire
    finally:
        writer.close()


def by_2_0(body: bytes) -> bytes:
    old, new = (rw.headers(version).items() for version in (rw.V1, rw.V2))
    whole = framed(body)
    for (name, before), (_, after) in zip(old, new, strict=True):
        whole = whole.replace(f"{name}: {before}".encode(), f"{name}: {after}".encode(), 1)
    return whole


async def test_aiohttp_handles_only_the_first_request_of_a_connection(endpoint: Endpoint) -> None:
    async with connected(endpoint) as wire:
        for _ in range(5):
            assert (await wire.post(framed(message(3))))[0] == 204
    assert endpoint.handler.handled == 1
    assert endpoint.log.samples == 16
    assert await endpoint.metric("requests_total", code="204") == 6


@pytest.mark.parametrize("whole", [
    framed(message(2)),
    framed(b"no snappy at all"),
    framed(b""),
    framed(rw.compressed(rw.request_v1(*rw.many(2, {}, 0), rw.series("", rw.sample(1, 0))))),
    framed(bytes(LIMITS.body + 1)),
    by_2_0(rw.compressed(rw.request_v2(*rw.many(2, {}, 0)))),
    by_2_0(b"no snappy at all"),
], ids=["good", "malformed", "empty", "partly refused", "too large", "2.0", "malformed 2.0"])  # fmt: skip
@pytest.mark.parametrize("failure", [None, WalUnavailableError("no space left")])
async def test_the_response_is_that_of_aiohttp(
    endpoint: Endpoint, whole: bytes, failure: Exception | None
) -> None:
    first = by_2_0(rw.compressed(rw.request_v2(*rw.many(1, {}, 0))))
    known = first if b"proto=io" in whole else framed(message())
    async with connected(endpoint, known) as wire:
        endpoint.log.error = failure
        handled = endpoint.handler.handled
        repeated = await wire.post(whole)
        assert endpoint.handler.handled == handled or repeated[2].startswith(b"the body is larger")
    endpoint.log.error = None
    async with connected(endpoint, known.replace(b"\r\nHost", b"\r\nX-Other: 1\r\nHost")) as wire:
        endpoint.log.error = failure
        assert await wire.post(whole) == repeated  # another head than before


@pytest.mark.parametrize("seed", range(30))
async def test_any_mixture_in_any_pieces_gets_its_responses_in_order(
    endpoint: Endpoint, seed: int
) -> None:
    """Pipelined or one by one, cut anywhere, with other requests in between."""
    chance = random.Random(seed)
    kinds = [
        (framed(message(2)), 204),
        (framed(b"nonsense"), 400),
        (framed(message(1), "X-Other: 1"), 204),
        (b"GET /-/healthy HTTP/1.1\r\nHost: x\r\n\r\n", 200),
        (framed(b"").replace(b"Content-Length: 0", b"Transfer-Encoding: chunked") + b"0\r\n\r\n",
         400),
    ]  # fmt: skip
    requests = chance.choices(kinds, weights=[12, 1, 1, 1, 1], k=25)
    async with connected(endpoint) as wire:
        at, codes = 0, []
        while at < len(requests):
            some = requests[at : at + chance.choice([1, 1, 1, 2, 5])]
            data = b"".join(whole for whole, _ in some)
            cuts = sorted(chance.sample(range(1, len(data)), chance.choice([0, 0, 1, 3])))
            for begin, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
                wire.writer.write(data[begin:end])
                await wire.writer.drain()
                await asyncio.sleep(0)
            codes += [(await wire.response())[0] for _ in some]
            at += len(some)
    assert codes == [code for _, code in requests]
    samples = {204: 2}
    good = sum(1 if b"X-Other" in whole else samples.get(code, 0) for whole, code in requests)
    assert endpoint.log.samples == 1 + good
    assert endpoint.receiver._waiting == 0


async def test_requests_before_the_response_wait_and_the_client_is_not_read_further(
    endpoint: Endpoint,
) -> None:
    async with connected(endpoint) as wire:
        endpoint.log.gate.clear()
        endpoint.log.appending.clear()
        wire.writer.write(framed(message(1)))
        await endpoint.log.appending.wait()
        for count in (2, 3):
            wire.writer.write(framed(message(count)))
        await wire.writer.drain()
        endpoint.log.gate.set()
        assert [(await wire.response())[0] for _ in range(3)] == [204] * 3
    assert [len(batch.series) for batch in endpoint.log.batches] == [1, 1, 2, 3]


@pytest.mark.parametrize("digits", ["0" * 40, "9" * 40, "9" * 5_000, "-1", "1_0", "１"])
async def test_a_size_that_is_none_is_refused_by_aiohttp(endpoint: Endpoint, digits: str) -> None:
    first = framed(message())
    async with connected(endpoint, first) as wire:
        head, _, body = first.partition(b"\r\n\r\n")
        size = f"Content-Length: {len(body)}".encode()
        code, _, _ = await wire.post(
            head.replace(size, f"Content-Length: {digits}".encode()) + b"\r\n\r\n"
        )
        assert code == 400
    assert endpoint.log.samples == 1
    assert endpoint.receiver._waiting == 0


@pytest.mark.parametrize("bad", BAD_REQUESTS.values(), ids=BAD_REQUESTS)
async def test_no_log_line_has_bytes_of_a_bad_request(
    endpoint: Endpoint, bad: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """Also when the head of the request before it is known."""
    caplog.set_level(logging.DEBUG)
    async with connected(endpoint) as wire:
        assert (await wire.post(bad))[0] == 400
    texts = [JsonFormatter(tracebacks=True).format(record) for record in caplog.records]
    assert any("Error handling request" in text for text in texts)
    assert not any(SECRET in text for text in texts)


def test_an_altered_head_is_read_as_aiohttp_does_or_left_to_it() -> None:
    found = check_heads(HEADS, seed=20)
    assert min(found["known"], found["left to aiohttp"]) > HEADS / 20


async def test_a_large_body_in_many_pieces_is_received(endpoint: Endpoint) -> None:
    whole = framed(message(2_000))
    async with connected(endpoint) as wire:
        for at in range(0, len(whole), 100):
            wire.writer.write(whole[at : at + 100])
            await wire.writer.drain()
        assert (await wire.response())[0] == 204
    assert endpoint.log.samples == 2_001
    assert endpoint.receiver._waiting == 0


async def test_a_slow_body_is_left_to_aiohttp(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repeated_requests, "_BODY_SECONDS", 0.01)
    whole = framed(message(3))
    async with connected(endpoint) as wire:
        wire.writer.write(whole[:-1])

        async def handled() -> int:
            return endpoint.handler.handled

        await until(handled, lambda count: count == 2, "aiohttp did not get the request")
        assert (await wire.post(whole[-1:]))[0] == 204
        assert (await wire.post(framed(message(1))))[0] == 204
        assert endpoint.handler.handled == 2  # the head is known again
    assert endpoint.log.samples == 5


async def test_a_body_that_never_ends_is_503_and_releases_its_memory(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repeated_requests, "_BODY_SECONDS", 0.01)
    monkeypatch.setattr(write_endpoint, "BODY_SECONDS", 0.01)
    async with connected(endpoint) as wire:
        assert (await wire.post(framed(message(3))[:-1]))[0] == 503
    assert endpoint.receiver._waiting == 0


async def test_a_half_closed_connection_gets_its_response(endpoint: Endpoint) -> None:
    async with connected(endpoint) as wire:
        endpoint.log.gate.clear()
        endpoint.log.appending.clear()
        wire.writer.write(framed(message(2)))
        wire.writer.write_eof()
        await endpoint.log.appending.wait()
        endpoint.log.gate.set()
        assert (await wire.response())[0] == 204
        assert await wire.reader.read() == b""
    assert endpoint.handler.handled == 1


@pytest.mark.parametrize("more", [
    framed(message(1)),
    framed(message(1)) * 2,
    framed(message(1), "X-Other: 1"),
    framed(message(1)) + framed(message(1), "X-Other: 1"),
], ids=["repeated", "two", "other", "mixed"])  # fmt: skip
@pytest.mark.parametrize("at_once", [True, False])
async def test_requests_before_a_half_close_get_their_responses(
    endpoint: Endpoint, more: bytes, at_once: bool
) -> None:
    count = 1 + more.count(b"POST ")
    async with connected(endpoint) as wire:
        endpoint.log.gate.clear()
        endpoint.log.appending.clear()
        wire.writer.write(framed(message(1)) + (more if at_once else b""))
        if not at_once:
            await endpoint.log.appending.wait()
            wire.writer.write(more)
        wire.writer.write_eof()
        await endpoint.log.appending.wait()
        endpoint.log.gate.set()
        assert [(await wire.response())[0] for _ in range(count)] == [204] * count
        assert await wire.reader.read() == b""
    assert endpoint.log.samples == 1 + count


async def test_half_a_request_before_a_half_close_ends_the_connection(endpoint: Endpoint) -> None:
    async with connected(endpoint) as wire:
        endpoint.log.gate.clear()
        endpoint.log.appending.clear()
        wire.writer.write(framed(message(1)) + framed(message(1))[:-1])
        wire.writer.write_eof()
        await endpoint.log.appending.wait()
        endpoint.log.gate.set()
        assert (await wire.response())[0] == 204
        assert await wire.reader.read() == b""
    assert endpoint.receiver._waiting == 0


async def test_a_client_that_does_not_read_its_responses_is_left_to_aiohttp(
    endpoint: Endpoint,
) -> None:
    async with connected(endpoint) as wire:
        (protocol,) = endpoint.handler.connections.values()
        protocol.pause_writing()
        wire.writer.write(framed(message(1)))
        protocol.resume_writing()
        assert (await wire.response())[0] == 204
        assert (await wire.post(framed(message(1))))[0] == 204
    assert endpoint.log.samples == 3


async def test_the_end_waits_for_the_responses(endpoint: Endpoint) -> None:
    async with connected(endpoint) as wire:
        endpoint.log.gate.clear()
        endpoint.log.appending.clear()
        wire.writer.write(framed(message(2)))
        await endpoint.log.appending.wait()
        endpoint.receiver.stopping = True
        finishing = asyncio.create_task(endpoint.handler.finish(60))
        await asyncio.sleep(0)
        assert not finishing.done()
        endpoint.log.gate.set()
        await finishing
        assert (await wire.response())[0] == 204
        assert (await wire.post(framed(message(2))))[0] == 503


async def test_a_token_that_is_replaced_ends_the_access_of_open_connections(
    tmp_path: Path,
) -> None:
    token = tmp_path / "token"
    await asyncio.to_thread(token.write_text, "first")
    header = "Authorization: Bearer first"
    async with (
        open_endpoint(tmp_path / "quarantine", LIMITS, {"eu": token}) as endpoint,
        connected(endpoint, framed(message(), header)) as wire,
    ):
        assert (await wire.post(framed(message(), header)))[0] == 204
        assert endpoint.handler.handled == 1
        await asyncio.to_thread(token.write_text, "second")
        await asyncio.to_thread(endpoint.handler.access.tokens.reload)
        assert (await wire.post(framed(message(), header)))[0] == 401
        assert (await wire.post(framed(message(), "Authorization: Bearer second")))[0] == 204
    assert endpoint.log.samples == 3
    assert set(endpoint.receiver._counters.newest) == {"eu"}
