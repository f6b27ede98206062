"""What every source has to bear: servers that go and come back, streams that go, a second system."""

import asyncio
from typing import Final

import pytest
from support.exporter.source_polls import (
    all_sources,
    api,
    create_consumer,
    create_stream,
    failures,
    outcome,
    poll,
    streams,
)
from support.nats.servers import NatsServer, connected, default_options

# The first request of each source, which fails when no server is up.
FIRST_REQUESTS: Final = {"account": "stream_list", "system": "statsz", "monitor": "varz"}

each_source = pytest.mark.parametrize("name", FIRST_REQUESTS)


@each_source
async def test_a_server_that_comes_back_is_polled_again(nats_server: NatsServer, name: str) -> None:
    request = FIRST_REQUESTS[name]
    address = nats_server.monitor_url if name == "monitor" else nats_server.url
    async with connected(nats_server) as client:
        await create_stream(client, "ORDERS", storage="file")
    async with all_sources(nats_server) as sources:
        source = sources[name]
        await poll(source)
        await nats_server.kill()
        away, still_away = await poll(source), await poll(source)
        await nats_server.restart()
        back = await poll(source)
    for snapshot in (away, still_away):
        assert failures(snapshot) == {request: "connection"}
        assert address in outcome(snapshot, request).detail
        assert [(row.name, row.up) for row in snapshot.servers] == [("n1", False)]
        assert (snapshot.streams, snapshot.complete) == ((), False)
    assert [(row.name, row.up) for row in back.streams] == [("ORDERS", True)]
    assert [(row.name, row.up) for row in back.servers] == [("n1", True)]
    assert back.complete


@each_source
async def test_a_stream_that_is_deleted_vanishes_with_its_consumers(
    nats_server: NatsServer, name: str
) -> None:
    async with connected(nats_server) as client, all_sources(nats_server) as sources:
        await create_stream(client, "ORDERS")
        await create_consumer(client, "ORDERS", "bill")
        before = await poll(sources[name])
        await api(client, "STREAM.DELETE.ORDERS")
        after = await poll(sources[name])
    assert [(row.name, row.up) for row in before.streams] == [("ORDERS", True)]
    assert [row.name for row in before.consumers] == ["bill"]
    assert (after.streams, after.consumers, after.complete) == ((), (), True)


@each_source
async def test_two_systems_in_one_process_do_not_mix(name: str) -> None:
    options = default_options()
    async with NatsServer(options=options) as one, NatsServer(options=options) as two:
        for server, stream in ((one, "FIRST"), (two, "SECOND")):
            async with connected(server) as client:
                await create_stream(client, stream)
        async with all_sources(one) as of_one, all_sources(two) as of_two:
            both = (of_one[name], of_two[name])
            snapshots = await asyncio.gather(*(poll(source) for source in both))
            await one.kill()
            later = await asyncio.gather(*(poll(source) for source in both))
    assert [list(streams(each)) for each in snapshots] == [["FIRST"], ["SECOND"]]
    assert [list(streams(each)) for each in later] == [[], ["SECOND"]]


@each_source
async def test_only_a_consumer_that_changed_gets_a_new_row(
    nats_server: NatsServer, name: str
) -> None:
    async with connected(nats_server) as client, all_sources(nats_server) as sources:
        for stream in ("ORDERS", "PARTS", "BILLS"):
            await create_stream(client, stream, subjects=[stream.lower()])
            await create_consumer(client, stream, "worker")
        polls = [await poll(sources[name]) for _ in range(3)]
        await client.request("parts", b"x", timeout=20)
        polls.append(await poll(sources[name]))
        await api(client, "CONSUMER.DELETE.BILLS.worker")
        await create_consumer(client, "BILLS", "worker", description="another", max_deliver=7)
        changed = await poll(sources[name])
    rows = [{row.stream: row for row in each.consumers} for each in polls]
    assert [list(each) for each in rows] == [list(rows[0])] * 4  # in the same order
    assert [rows[3][each] is rows[2][each] for each in ("ORDERS", "PARTS", "BILLS")] == [
        True, False, True,
    ]  # fmt: skip
    assert (rows[2]["PARTS"].num_pending, rows[3]["PARTS"].num_pending) == (0, 1)
    (again,) = (row for row in changed.consumers if row.stream == "BILLS")
    assert again.created != rows[3]["BILLS"].created
    if name == "account":
        assert again.config is not None
        assert again.config.max_deliver == 7
