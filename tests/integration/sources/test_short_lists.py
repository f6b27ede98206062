"""Lists that a server cuts short, over a real connection.

A subscriber responds in the place of JetStream, as the API of a domain that does not exist.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from nats.aio.msg import Msg
from support.exporter.source_polls import (
    OPTIONS,
    account_source,
    api,
    create_consumer,
    create_stream,
    failures,
    nats_access,
    outcome,
)
from support.exporter.source_polls import poll as poll_once
from support.nats.servers import NatsCluster, NatsServer, connected
from support.waiting import until

from exporter.model import Snapshot
from exporter.sources.account import AccountSource

DOMAIN = "SHORT"
STREAMS = 600
Body = dict[str, Any]


def stream(number: int) -> Body:
    return {
        "config": {"name": f"S{number:03}", "subjects": [f"s{number}"], "retention": "limits"},
        "created": "2026-01-01T00:00:00Z",
        "state": {"messages": number, "consumer_count": 2 if number == 7 else 0},
    }


@dataclass
class FakeApi:
    """Responds like a server with 600 streams, one of which has two consumers."""

    page: int = 256
    alter: Callable[[int, Body], Body | None] = lambda _, body: body
    offsets: list[int] = field(default_factory=list)

    async def respond(self, message: Msg) -> None:
        body = self._body(message)
        if body is not None:
            await message.respond(json.dumps(body).encode())

    def _body(self, message: Msg) -> Body | None:
        if message.subject.endswith(".API.INFO"):
            return {"streams": STREAMS}
        offset = json.loads(message.data)["offset"]
        if ".CONSUMER.LIST." in message.subject:
            consumers = [{"name": name, "stream_name": "S007"} for name in ("one", "two")]
            return {"total": 2, "limit": 256, "offset": offset, "consumers": consumers[offset:]}
        self.offsets.append(offset)
        numbers = range(offset, min(STREAMS, offset + self.page))
        rows = [stream(number) for number in numbers]
        return self.alter(
            offset, {"total": STREAMS, "limit": 256, "offset": offset, "streams": rows}
        )


@asynccontextmanager
async def responding(server: NatsServer, fake: FakeApi) -> AsyncIterator[AccountSource]:
    async with connected(server) as client:
        await client.subscribe(f"$JS.{DOMAIN}.API.>", cb=fake.respond)
        await client.flush()
        options = replace(OPTIONS, domain=DOMAIN)
        async with account_source(nats_access(server), options) as source:
            yield source


async def poll(server: NatsServer, fake: FakeApi, seconds: float = 20.0) -> Snapshot:
    async with responding(server, fake) as source:
        return await poll_once(source, seconds)


async def test_600_streams_of_which_pages_come_short_are_all_read(nats_server: NatsServer) -> None:
    fake = FakeApi(page=96)
    found = await poll(nats_server, fake)
    assert failures(found) == {}
    assert found.complete
    assert len(found.streams) == STREAMS
    assert [row.name for row in found.consumers] == ["one", "two"]
    assert fake.offsets == [0, 95, 190, 285, 380, 475, 570]


async def test_streams_that_are_never_listed_make_the_poll_partial(nats_server: NatsServer) -> None:
    def half(offset: int, body: Body) -> Body:
        body["streams"] = [row for row in body["streams"] if row["state"]["messages"] < 288]
        return body

    found = await poll(nats_server, FakeApi(alter=half))
    assert failures(found) == {"stream_list": "partial"}
    assert outcome(found, "stream_list").detail == "STREAM.LIST: 288 of 600 rows were received"
    assert not found.complete
    assert len(found.streams) == 288
    assert len(found.consumers) == 2


async def test_pages_before_a_page_that_does_not_come_are_served(nats_server: NatsServer) -> None:
    def once(offset: int, body: Body) -> Body | None:
        return None if offset else body

    found = await poll(nats_server, FakeApi(alter=once), seconds=3.0)
    assert failures(found)["stream_list"] == "timeout"
    assert "256 of 600 rows were received" in outcome(found, "stream_list").detail
    assert not found.complete
    assert len(found.streams) == 256


async def test_a_server_that_repeats_its_first_page_is_left(nats_server: NatsServer) -> None:
    def first(_: int, body: Body) -> Body:
        return body | {"streams": [stream(number) for number in range(256)], "total": 10**12}

    fake = FakeApi(alter=first)
    found = await poll(nats_server, fake)
    assert failures(found) == {"stream_list": "partial"}
    assert len(found.streams) == 256
    assert len(fake.offsets) == 4


async def test_a_malformed_row_costs_only_itself(nats_server: NatsServer) -> None:
    def spoil(_: int, body: Body) -> Body:
        for row in body["streams"]:
            if row["config"]["name"] == "S300":
                row["state"]["messages"] = "many"
        return body

    found = await poll(nats_server, FakeApi(alter=spoil))
    assert failures(found) == {"stream_list": "malformed"}
    assert "S300" in outcome(found, "stream_list").detail
    assert [(row.name, row.reason) for row in found.streams if not row.up] == [
        ("S300", "malformed")
    ]
    assert len(found.streams) == STREAMS
    assert len(found.consumers) == 2


async def test_a_cluster_lists_more_consumers_than_one_page(nats_cluster: NatsCluster) -> None:
    """Before 2.9.21 the total of such a page counts only its own rows."""
    names = [f"c{number:03}" for number in range(300)]
    async with connected(nats_cluster) as client:
        await create_stream(client, "ORDERS")
        for start in range(0, len(names), 20):
            some = names[start : start + 20]
            await asyncio.gather(*(create_consumer(client, "ORDERS", name) for name in some))
    async with account_source(nats_access(nats_cluster)) as source:
        found = await until(lambda: poll_once(source), lambda one: one.complete, "a whole list")
    assert sorted(row.name for row in found.consumers) == names


async def test_streams_that_come_and_go_between_pages_do_not_make_a_poll_partial(
    nats_server: NatsServer,
) -> None:
    names = {f"S{number:03}" for number in range(300)}
    async with (
        connected(nats_server) as client,
        account_source(nats_access(nats_server)) as source,
    ):
        await asyncio.gather(*(create_stream(client, name) for name in names))
        stop = asyncio.Event()

        async def come_and_go() -> int:
            rounds = 0
            while not stop.is_set():
                await create_stream(client, "A_FIRST")  # moves all others by one
                await api(client, "STREAM.DELETE.A_FIRST")
                rounds += 1
            return rounds

        changing = asyncio.create_task(come_and_go())
        try:
            polls = [await poll_once(source) for _ in range(20)]
        finally:
            stop.set()
        assert await changing > len(polls)
    assert [failures(found) for found in polls] == [{}] * len(polls)
    assert all(names <= {row.name for row in found.streams} for found in polls)
