"""The short way of plain write requests: what takes it, what does not, and nothing told apart by it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest
from support import remote_write as rw
from support.remote_write_door import Door, open_door
from support.waiting import until

from archive.decode_request import Version
from archive.decode_result import Written
from archive.limits import Limits
from archive.quick_answer import AnswerWriter
from archive.quick_connection import IDLE, IMPATIENT, QuickConnection
from archive.quick_head import Head, read_head
from archive.receive import About
from archive.receive_answer import Answer, durable, later

LINE: Final = b"POST /api/v1/write HTTP/1.1"
PLAIN: Final = [
    b"Host: archive:7779",
    b"User-Agent: Prometheus/2.42.0",
    b"Content-Length: 12",
    b"Content-Encoding: snappy",
    b"Content-Type: application/x-protobuf",
]
LIMITS: Final = Limits(body=50_000, decoded=400_000, waiting=1 << 20)


def head_of(*lines: bytes, first: bytes = LINE) -> bytes:
    return b"\r\n".join((first, *lines))


# --- the head -------------------------------------------------------------------------------------


def test_a_plain_head_is_read() -> None:
    head = read_head(head_of(*PLAIN, b"AUTHORIZATION:  Bearer x \t"), LINE)
    assert head == Head(12, "application/x-protobuf", "snappy", "Bearer x", "Prometheus/2.42.0")


def test_what_is_not_said_is_empty() -> None:
    assert read_head(head_of(b"content-length:0"), LINE) == Head(0, "", "", None, "")


@pytest.mark.parametrize(
    "lines",
    [
        [b"Host: a"],  # no size
        [*PLAIN, b"Content-Length: 12"],
        [*PLAIN, b"content-type: text/plain"],
        [*PLAIN, b"Transfer-Encoding: chunked"],
        [*PLAIN, b"Expect: 100-continue"],
        [*PLAIN, b"Upgrade: h2c"],
        [*PLAIN, b"Connection: close"],
        [*PLAIN, b"Connection: keep-alive, Upgrade"],
        [*PLAIN, b" folded: header"],
        [*PLAIN, b"Name : space"],
        [*PLAIN, b"no colon"],
        [*PLAIN, b": no name"],
        [*PLAIN, b"X: \x00"],
        [*PLAIN, b"X: a\nY: b"],
        [*PLAIN, b"X: a\rY: b"],
        [*PLAIN, b"X: caf\xc3\xa9"],
        [b"Content-Length: +5"],
        [b"Content-Length: -1"],
        [b"Content-Length: 1_0"],
        [b"Content-Length: 0x10"],
        [b"Content-Length: 5, 5"],
        [b"Content-Length:"],
        [b"Content-Length: 99999999999"],
        [b""],
    ],
    ids=repr,
)
def test_what_is_not_plain_is_left_to_aiohttp(lines: list[bytes]) -> None:
    assert read_head(head_of(*lines), LINE) is None


@pytest.mark.parametrize(
    "first",
    [
        b"GET /api/v1/write HTTP/1.1",
        b"POST /api/v1/write HTTP/1.0",
        b"POST /api/v1/write?x=1 HTTP/1.1",
        b"POST /api/v1/write/ HTTP/1.1",
        b"POST  /api/v1/write HTTP/1.1",
        b"post /api/v1/write HTTP/1.1",
        b"POST http://a/api/v1/write HTTP/1.1",
    ],
)
def test_only_the_one_request_line_is_known(first: bytes) -> None:
    assert read_head(head_of(*PLAIN, first=first), LINE) is None


# --- answers --------------------------------------------------------------------------------------


def test_answers_are_written_as_http() -> None:
    writer = AnswerWriter(lambda: {"X-Frame-Options": "deny"})
    done = writer.written(durable(Version.V2, Written(3, 2, 1)))
    head, body = done.split(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    assert (lines[0], body) == (b"HTTP/1.1 204 No Content", b"")
    assert lines[1].startswith(b"Date: ")
    assert lines[1].endswith(b" GMT")
    assert lines[2:] == [
        b"X-Prometheus-Remote-Write-Samples-Written: 3",
        b"X-Prometheus-Remote-Write-Histograms-Written: 2",
        b"X-Prometheus-Remote-Write-Exemplars-Written: 1",
        b"X-Frame-Options: deny",
    ]
    busy = writer.written(later(Version.V1, "é"))
    assert busy.startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
    assert b"\r\nRetry-After: 5\r\n" in busy
    assert b"\r\nContent-Length: 3\r\n" in busy
    assert busy.endswith("\r\n\r\né\n".encode())


# --- a connection ---------------------------------------------------------------------------------


def message(count: int = 1, turn: int = 0) -> bytes:
    at = time.time_ns() // 1_000_000 - 60_000 + turn
    return rw.compressed(rw.request_v1(*rw.many(count, {}, at)))


def framed(body: bytes, *more: str) -> bytes:
    lines = [f"{name}: {text}" for name, text in rw.headers().items()]
    lines += ["Host: x", f"Content-Length: {len(body)}", *more]
    return "\r\n".join((LINE.decode(), *lines, "", "")).encode() + body


@dataclass
class Wire:
    """A connection as a sender has it, byte by byte."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(self, *parts: bytes) -> None:
        for part in parts:
            self.writer.write(part)
            await self.writer.drain()
            await asyncio.sleep(0)

    async def answer(self) -> tuple[int, bytes]:
        """Code and head of the next answer."""
        head = await self.reader.readuntil(b"\r\n\r\n")
        size = [line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")]
        body = await self.reader.readexactly(int(size[0].split(b":")[1])) if size else b""
        return int(head.split()[1]), head + body


@pytest.fixture
async def door(tmp_path: Path) -> AsyncIterator[Door]:
    async with open_door(tmp_path / "quarantine", LIMITS) as opened:
        yield opened


@asynccontextmanager
async def connected(door: Door) -> AsyncIterator[Wire]:
    reader, writer = await asyncio.open_connection("127.0.0.1", door.port)
    try:
        yield Wire(reader, writer)
    finally:
        writer.close()


def is_quick(answer: bytes) -> bool:
    """aiohttp names itself in its answers, and we do not."""
    return b"\r\nServer: " not in answer


async def test_plain_requests_are_answered_without_aiohttp_one_after_the_other(door: Door) -> None:
    async with connected(door) as wire:
        for turn in range(3):
            await wire.send(framed(message(5, turn)))
            code, answer = await wire.answer()
            assert code == 204
            assert is_quick(answer)
    assert door.log.samples == 15


async def test_a_request_may_come_in_any_pieces(door: Door) -> None:
    whole = framed(message(3))
    async with connected(door) as wire:
        for cut in (1, 20, len(whole) - 1):
            await wire.send(whole[:cut], whole[cut:])
            assert (await wire.answer())[0] == 204
        await wire.send(*(whole[at : at + 1] for at in range(len(whole))))
        code, answer = await wire.answer()
        assert code == 204
        assert is_quick(answer)
    assert door.log.samples == 12


async def test_requests_that_do_not_wait_for_answers_are_answered_in_their_order(
    door: Door,
) -> None:
    bodies = [message(1), b"no snappy at all", message(2), b"", message(3)]
    async with connected(door) as wire:
        await wire.send(b"".join(map(framed, bodies)))
        codes = [(await wire.answer())[0] for _ in bodies]
    assert codes == [204, 400, 204, 400, 204]
    assert [len(batch.series) for batch in door.log.batches] == [1, 2, 3]


@pytest.mark.parametrize("ahead", [0, 1, 2])
async def test_another_request_on_the_same_connection_is_answered_by_aiohttp_in_its_turn(
    door: Door, ahead: int
) -> None:
    async with connected(door) as wire:
        await wire.send(framed(message(1)) * ahead + b"GET /-/healthy HTTP/1.1\r\nHost: x\r\n\r\n")
        for _ in range(ahead):
            assert (await wire.answer())[0] == 204
        code, answer = await wire.answer()
        assert code == 200
        assert answer.endswith(b"healthy\n")
        await wire.send(framed(message(1)))  # from here on it is aiohttp's
        code, answer = await wire.answer()
        assert code == 204
        assert not is_quick(answer)
    assert door.log.samples == ahead + 1


async def test_a_sender_that_asks_before_it_sends_is_told_to_go_on(door: Door) -> None:
    body = message(2)
    whole = framed(body, "Expect: 100-continue")
    async with connected(door) as wire:
        await wire.send(whole[: -len(body)])
        assert (await wire.reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 100 ")
        await wire.send(body)
        assert (await wire.answer())[0] == 204
    assert door.log.samples == 2


async def test_a_body_in_chunks_is_taken(door: Door) -> None:
    body = message(2)
    head = framed(b"").replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")
    async with connected(door) as wire:
        await wire.send(head, f"{len(body):x}\r\n".encode() + body + b"\r\n0\r\n\r\n")
        assert (await wire.answer())[0] == 204
    assert door.log.samples == 2


async def test_two_sizes_are_refused_and_nothing_is_taken_for_a_second_request(door: Door) -> None:
    body = message(2)
    async with connected(door) as wire:
        await wire.send(framed(body, "Content-Length: 0"))
        code, _ = await wire.answer()
        assert code == 400
        assert await wire.reader.read() == b""  # the connection is closed
    assert door.log.batches == []


async def test_a_connection_that_asks_to_be_closed_is(door: Door) -> None:
    async with connected(door) as wire:
        await wire.send(framed(message(1), "Connection: close"))
        assert (await wire.answer())[0] == 204
        assert await wire.reader.read() == b""


async def test_who_leaves_in_the_middle_leaves_no_room_taken(door: Door) -> None:
    whole = framed(message(3))
    for _ in range(30):
        async with connected(door) as wire:
            await wire.send(whole[:-1])
    async with connected(door) as wire:
        await wire.send(whole)
        assert (await wire.answer())[0] == 204

    async def held() -> int:
        return door.receiver._waiting

    await until(held, lambda size: size == 0, "room is held for somebody who left")


async def test_who_leaves_before_the_answer_has_its_samples_kept(door: Door) -> None:
    door.log.gate.clear()
    async with connected(door) as wire:
        await wire.send(framed(message(3)))
        await door.log.asked.wait()
    door.log.gate.set()
    assert (await door.post_body(message(1))).status == 204
    assert door.log.samples == 4
    assert door.receiver._waiting == 0


# --- time, and the end ----------------------------------------------------------------------------


@dataclass
class Transport(asyncio.Transport):
    """Remembers what was done to it."""

    did: list[str] = field(default_factory=list)
    sent: bytes = b""
    protocol: asyncio.BaseProtocol | None = None

    def get_extra_info(self, name: str, default: object = None) -> object:
        return ("192.0.2.1", 5) if name == "peername" else default

    def is_closing(self) -> bool:
        return "close" in self.did or "abort" in self.did

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.sent += data

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self.protocol = protocol

    def close(self) -> None:
        self.did.append("close")

    def abort(self) -> None:
        self.did.append("abort")

    def pause_reading(self) -> None:
        self.did.append("pause")

    def resume_reading(self) -> None:
        self.did.append("resume")


@dataclass
class Desk:
    """Takes everything in, when `gate` is open."""

    request_line: bytes = LINE
    held: int = 0
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    bodies: list[bytes] = field(default_factory=list)

    def admit(self, head: Head, peer: str) -> About | None:
        self.held += head.size
        return About(Version.V1, peer, head.user_agent)

    def release(self, size: int) -> None:
        self.held -= size

    async def receive(self, about: About, body: bytes) -> Answer:
        assert about.sender == "192.0.2.1"
        await self.gate.wait()
        self.bodies.append(body)
        return Answer(204)

    def written(self, answer: Answer) -> bytes:
        return f"{answer.code} ".encode()


@dataclass
class Other(asyncio.Protocol):
    """Who takes over."""

    transport: asyncio.BaseTransport | None = None
    data: bytes = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.data += data


@dataclass
class Stage:
    desk: Desk
    transport: Transport
    other: Other
    open_ones: set[QuickConnection]
    connection: QuickConnection


def staged() -> Stage:
    desk, transport, other = Desk(), Transport(), Other()
    open_ones: set[QuickConnection] = set()
    connection = QuickConnection(desk, lambda: other, open_ones)
    connection.connection_made(transport)
    return Stage(desk, transport, other, open_ones, connection)


def in_seconds(seconds: float) -> float:
    return asyncio.get_running_loop().time() + seconds


@pytest.mark.parametrize("cut", [5, -1], ids=["in the head", "in the body"])
async def test_a_slow_request_is_handed_over_with_what_came_of_it(cut: int) -> None:
    stage = staged()
    part = framed(b"hello")[:cut]
    stage.connection.data_received(part)
    stage.connection.look(in_seconds(IMPATIENT / 2))
    assert stage.other.data == b""
    stage.connection.look(in_seconds(IMPATIENT + 1))
    assert stage.other.data == part
    assert stage.other.transport is stage.transport
    assert stage.transport.protocol is stage.other
    assert stage.desk.held == 0
    assert stage.open_ones == set()
    stage.connection.look(in_seconds(IDLE + 1))  # no longer its own
    assert stage.transport.did == []


async def test_a_silent_connection_is_let_go_after_long_and_a_busy_one_is_not() -> None:
    stage = staged()
    stage.connection.look(in_seconds(IDLE - 1))
    assert stage.transport.did == []
    stage.connection.data_received(framed(b"hello"))
    stage.connection.look(in_seconds(IDLE + 1))
    assert stage.transport.did == []
    stage.desk.gate.set()
    assert stage.connection.task is not None
    await stage.connection.task
    stage.connection.look(in_seconds(IDLE + 1))
    assert (stage.transport.did, stage.transport.sent) == (["close"], b"204 ")


async def test_what_comes_ahead_of_its_turn_is_held_up_at_the_socket() -> None:
    stage = staged()
    stage.connection.data_received(framed(b"one"))
    stage.connection.data_received(framed(b"two"))
    assert stage.transport.did == ["pause"]
    assert stage.desk.held == 3
    stage.desk.gate.set()
    while stage.connection.task is not None:
        await stage.connection.task
    assert stage.transport.did == ["pause", "resume"]
    assert stage.desk.bodies == [b"one", b"two"]


async def test_at_the_end_a_request_under_way_is_answered_first() -> None:
    stage = staged()
    stage.connection.data_received(framed(b"hello"))
    stage.connection.stop()
    assert stage.transport.did == []
    stage.desk.gate.set()
    assert stage.connection.task is not None
    await stage.connection.task
    assert (stage.transport.did, stage.transport.sent) == (["close"], b"204 ")


async def test_at_the_end_half_a_request_is_let_go_and_its_room_too() -> None:
    stage = staged()
    stage.connection.data_received(framed(b"hello")[:-1])
    assert stage.desk.held == 5
    stage.connection.stop()
    assert stage.transport.did == ["close"]
    stage.connection.connection_lost(None)
    assert stage.desk.held == 0
    assert stage.open_ones == set()


async def test_a_request_that_cannot_be_ended_is_broken_off() -> None:
    stage = staged()
    stage.connection.data_received(framed(b"hello"))
    task = stage.connection.task
    assert task is not None
    await asyncio.sleep(0)
    stage.connection.abort()
    await asyncio.wait([task])
    assert task.cancelled()
    assert stage.transport.did == ["abort"]
    assert stage.desk.held == 0
