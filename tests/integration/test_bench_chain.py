"""The chain bench on real programs: consumers that move, and the whole chain at a small size."""

from __future__ import annotations

import asyncio
import re
import sys
from asyncio.subprocess import PIPE, STDOUT

import pytest
from support.nats.servers import connected
from support.waiting import until

from bench.big_server import Size, big_server
from bench.movement import Movement, moving
from bench.process import ROOT

PARTS = ("nats-server, not polled", "nats-server", "exporter", "Prometheus", "archive", "rollup", "report")  # fmt: skip


async def test_moved_consumers_acknowledge_and_keep_their_backlog() -> None:
    async with big_server(Size(3, 2)) as big:
        async with Movement.by(big.address("app"), 2) as movement:
            await movement.move(range(2))
            await movement.move(range(1))
        async with connected(big.server) as client:
            js = client.jetstream()
            found = [await js.consumer_info(f"stream-{n:05d}", "worker-01") for n in range(3)]
        assert [one.delivered.consumer_seq for one in found] == [2, 1, 0]
        assert [one.ack_floor.consumer_seq for one in found] == [2, 1, 0]
        assert [one.num_pending for one in found] == [2, 2, 2]


async def test_only_a_share_of_the_streams_has_a_backlog() -> None:
    async with big_server(Size(4, 2, waiting=0.25)) as big, connected(big.server) as client:
        js = client.jetstream()
        found = [await js.consumer_info(f"stream-{n:05d}", "worker-01") for n in range(4)]
    assert [one.num_pending for one in found] == [0, 0, 0, 2]


async def test_a_share_of_the_streams_moves_until_the_end_of_the_block() -> None:
    async with big_server(Size(3, 1)) as big, connected(big.server) as client:
        js = client.jetstream()
        async with moving(big, 0.01):
            await until(
                lambda: js.consumer_info("stream-00000", "worker-00"),
                lambda info: bool(info.ack_floor.consumer_seq),
                "the first stream does not move",
            )
        assert (await js.consumer_info("stream-00001", "worker-00")).delivered.consumer_seq == 0


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("how", [(), ("--two-steps",)])
async def test_the_whole_chain_prints_a_row_for_each_part(how: tuple[str, ...]) -> None:
    words = ("-m", "bench", "chain", "--consumers", "100", "--minutes", "0.6", *how)
    process = await asyncio.create_subprocess_exec(
        sys.executable, *words, cwd=ROOT, stdout=PIPE, stderr=STDOUT
    )
    text = (await process.communicate())[0].decode()
    assert process.returncode == 0, text
    for part in PARTS:
        assert re.search(rf"^  {re.escape(part)} .*[1-9].* MB", text, re.MULTILINE), text
    assert re.search(r"slowest rule group: streamgauge\.\S+, \d", text)
    assert re.search(r"slowest board query: .*\n.*[1-9]\S* samples touched", text)
    assert re.search(r"samples a second: [1-9]\S* scraped, [1-9]\S* archived", text)
    assert max(map(len, text.splitlines())) <= 80
