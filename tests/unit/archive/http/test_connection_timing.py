"""The short way in time: slow senders, silent ones, those ahead of their turn, and the end."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest
from support.remote_write.framed_requests import LINE, framed

from archive.http.connection import IDLE, IMPATIENT, QuickConnection
from archive.http.request_head import Head
from archive.ingest.negotiation import RequestInfo
from archive.ingest.response import WriteResponse
from archive.remote_write.decoder import Version
from archive.remote_write.v1.connection_cursor import ConnectionCursor


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
class Handler:
    """Takes everything in, when `gate` is open."""

    request_line: bytes = LINE
    held: int = 0
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    bodies: list[bytes] = field(default_factory=list)

    def admit(self, head: Head, peer: str) -> RequestInfo | None:
        self.held += head.size
        return RequestInfo(Version.V1, peer, head.user_agent)

    def release(self, size: int) -> None:
        self.held -= size

    def receive(
        self, about: RequestInfo, body: bytes, _: ConnectionCursor
    ) -> asyncio.Future[WriteResponse]:
        assert about.sender == "192.0.2.1"
        return asyncio.ensure_future(self._answer(body))

    async def _answer(self, body: bytes) -> WriteResponse:
        await self.gate.wait()
        self.bodies.append(body)
        return WriteResponse(204)

    def written(self, response: WriteResponse) -> bytes:
        return f"{response.code} ".encode()


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
    harness: Handler
    transport: Transport
    other: Other
    open_ones: set[QuickConnection]
    connection: QuickConnection


def staged() -> Stage:
    harness, transport, other = Handler(), Transport(), Other()
    open_ones: set[QuickConnection] = set()
    connection = QuickConnection(harness, lambda: other, open_ones)
    connection.connection_made(transport)
    return Stage(harness, transport, other, open_ones, connection)


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
    assert stage.harness.held == 0
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
    stage.harness.gate.set()
    assert stage.connection.response is not None
    await stage.connection.response
    stage.connection.look(in_seconds(IDLE + 1))
    assert (stage.transport.did, stage.transport.sent) == (["close"], b"204 ")


async def test_what_comes_ahead_of_its_turn_is_held_up_at_the_socket() -> None:
    stage = staged()
    stage.connection.data_received(framed(b"one"))
    stage.connection.data_received(framed(b"two"))
    assert stage.transport.did == ["pause"]
    assert stage.harness.held == 3
    stage.harness.gate.set()
    while stage.connection.response is not None:
        await stage.connection.response
    assert stage.transport.did == ["pause", "resume"]
    assert stage.harness.bodies == [b"one", b"two"]


async def test_at_the_end_a_request_under_way_is_answered_first() -> None:
    stage = staged()
    stage.connection.data_received(framed(b"hello"))
    stage.connection.stop()
    assert stage.transport.did == []
    stage.harness.gate.set()
    assert stage.connection.response is not None
    await stage.connection.response
    assert (stage.transport.did, stage.transport.sent) == (["close"], b"204 ")


async def test_at_the_end_half_a_request_is_let_go_and_its_room_too() -> None:
    stage = staged()
    stage.connection.data_received(framed(b"hello")[:-1])
    assert stage.harness.held == 5
    stage.connection.stop()
    assert stage.transport.did == ["close"]
    stage.connection.connection_lost(None)
    assert stage.harness.held == 0
    assert stage.open_ones == set()


async def test_a_request_that_cannot_be_ended_is_broken_off() -> None:
    stage = staged()
    stage.connection.data_received(framed(b"hello"))
    response = stage.connection.response
    assert response is not None
    await asyncio.sleep(0)
    stage.connection.abort()
    await asyncio.wait([response])
    assert response.cancelled()
    assert stage.transport.did == ["abort"]
    assert stage.harness.held == 0


async def test_who_gets_no_answer_is_cut_off_so_that_he_comes_again() -> None:
    stage = staged()
    stage.connection.data_received(framed(b"hello"))
    response = stage.connection.response
    assert response is not None
    response.cancel()
    await asyncio.wait([response])
    assert (stage.transport.did, stage.transport.sent) == (["abort"], b"")
    assert stage.harness.held == 0
