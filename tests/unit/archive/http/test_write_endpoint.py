"""The short way of plain write requests on a connection: nothing is told apart by it."""

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
from support.remote_write.endpoint import Door, open_door
from support.remote_write.framed_requests import framed
from support.waiting import until

from archive.settings.limits import Limits

LIMITS: Final = Limits(body=50_000, decoded=400_000, waiting=1 << 20)


def message(count: int = 1, turn: int = 0) -> bytes:
    at = time.time_ns() // 1_000_000 - 60_000 + turn
    return rw.compressed(rw.request_v1(*rw.many(count, {}, at)))


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
