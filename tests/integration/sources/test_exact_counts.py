"""Counts of what passes a filter: redeliveries of filtered consumers are exact with them."""

from typing import Any

import pytest
from support.nats.servers import NatsServer, connected
from support.signals.exact_requests import exact_polls, key, orders
from support.signals.known_workload import version_of
from support.signals.ledger import NAK, Workload
from support.signals.observations import ACCOUNT

from exporter.sources.decoding.wire import WireConsumerInfo
from exporter.sources.exact_requests.reader import PreciseOptions, PreciseReader
from exporter.sources.jetstream_api.client import AccountApi
from exporter.sources.request_context import RequestContext

FILTERS: dict[str, dict[str, Any]] = {
    "literal": {"filter_subject": "orders.b"},
    "wildcard": {"filter_subject": "orders.*.x"},
    "several": {"filter_subjects": ["orders.b", "orders.c"]},
}


@pytest.mark.parametrize("how", FILTERS)
async def test_counts_make_the_redeliveries_of_filtered_consumers_exact(
    nats_server: NatsServer, how: str
) -> None:
    if how == "several" and version_of(nats_server) < (2, 10):
        pytest.skip("one filter only before 2.10")
    async with connected(nats_server) as client, exact_polls(nats_server) as seen:
        work = Workload(client, "ORDERS")
        await work.create()
        eu = await work.consumer("eu", **FILTERS[how])
        await seen.poll()
        for turn in range(3):
            for subject in ("a", "b", "c", "b.x", "c.x", "a.y"):
                await work.publish(3, subject)
            await work.fetch("eu", 5)
            await work.response("eu", [min(eu.held), max(eu.held)], NAK)
            await work.fetch("eu", 2 + turn)
            await seen.poll()
            told = seen.of(eu)
            assert (told.redeliveries, told.redelivery_exact) == (eu.redeliveries, 1)
        assert eu.redeliveries >= 6
        await seen.poll()
        assert seen.precise.counts == {}  # nothing happened, so nothing was asked


class Meddling(AccountApi):
    """Publishes to the stream whenever a consumer is asked for."""

    async def consumer_info(
        self, stream: str, consumer: str, context: RequestContext
    ) -> WireConsumerInfo:
        await self.link.request(f"{stream.lower()}.b", timeout=10)
        return await AccountApi.consumer_info(self, stream, consumer, context)


async def test_a_count_of_a_stream_that_moves_is_not_given(nats_server: NatsServer) -> None:
    async with connected(nats_server) as client, exact_polls(nats_server) as seen:
        work = await orders(client)
        await work.consumer("eu", filter_subject="orders.b")
        seen.reader.api = Meddling(seen.reader.api.link)
        await seen.poll()
        told = seen.outcome("filtered_counts")
        assert told is not None
        assert told.ok
        assert seen.precise.counts == {}


class Fetching(AccountApi):
    """Lets the consumer take a message after the poll, before it is counted."""

    work: Workload

    async def consumer_info(
        self, stream: str, consumer: str, context: RequestContext
    ) -> WireConsumerInfo:
        if not self.work.ledgers[consumer].held:
            await self.work.fetch(consumer, 1)
        return await AccountApi.consumer_info(self, stream, consumer, context)


async def test_a_count_that_is_newer_than_the_look_is_given_again(
    nats_server: NatsServer,
) -> None:
    async with connected(nats_server) as client, exact_polls(nats_server) as seen:
        work = await orders(client)
        eu = await work.consumer("eu", filter_subject="orders.b")
        Fetching.work = work
        seen.reader.api = Fetching(seen.reader.api.link)
        await seen.poll()
        count = seen.precise.counts[key(eu)]
        assert (count.deliveries, count.num_pending, count.matching) == (1, 3, 4)
        await seen.poll()
        assert seen.precise.counts == {key(eu): count}
        await seen.poll()
        assert seen.precise.counts == {}


async def test_counts_are_taken_on_a_slow_cadence(nats_server: NatsServer) -> None:
    now = 1000.0
    options = PreciseOptions(counts_interval=60.0)
    async with connected(nats_server) as client, exact_polls(nats_server, options) as seen:
        seen.reader.clock = lambda: now
        work = await orders(client)
        await work.consumer("eu", filter_subject="orders.b")
        counted = []
        for _ in range(3):
            await work.fetch("eu", 1)
            await seen.poll()
            counted.append((len(seen.precise.counts), seen.outcome("filtered_counts") is not None))
            now += 30.0
        assert counted == [(1, True), (0, False), (1, True)]


async def test_a_stream_of_too_many_subjects_is_left_out_and_that_is_said(
    nats_server: NatsServer,
) -> None:
    options = PreciseOptions(most_subjects=2)
    async with connected(nats_server) as client, exact_polls(nats_server, options) as seen:
        work = await orders(client)
        literal = await work.consumer("literal", filter_subject="orders.b")
        await seen.poll()
        assert (set(seen.precise.counts), seen.precise.skipped) == ({key(literal)}, ())
        await work.publish(1, "b.x")
        await work.consumer("wide", filter_subject="orders.b.*")
        seen.reader = PreciseReader(seen.reader.api, ACCOUNT, options)
        await seen.poll()
        assert set(seen.precise.counts) == {key(literal)}
        assert [(s.request, s.reason) for s in seen.precise.skipped] == [
            ("filtered_counts", "ceiling")
        ]
