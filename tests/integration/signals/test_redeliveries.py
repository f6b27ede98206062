"""Redeliveries: what the exporter counts against what a workload knows it was sent again."""

from typing import Any

import pytest
from support.nats.servers import NatsServer, connected
from support.signals.known_workload import version_of
from support.signals.ledger import ACK, IN_PROGRESS, MILLISECOND, NAK, TERM, Ledger, Workload
from support.signals.observations import ACCOUNT, Watches, watches

from exporter.signals.events_input import EventsInput, FilteredCount

FILTERS: dict[str, dict[str, Any]] = {
    "literal": {"filter_subject": "orders.b"},
    "wildcard": {"filter_subject": "orders.*.x"},
    "several": {"filter_subjects": ["orders.b", "orders.c"]},
}


async def test_every_way_to_be_sent_again_is_counted_exactly(nats_server: NatsServer) -> None:
    async with connected(nats_server) as client, watches(nats_server) as seen:
        work = Workload(client, "ORDERS")
        await work.create()
        await work.publish(30)
        mixed = await work.consumer("mixed", max_deliver=3)
        hasty = await work.consumer("hasty", ack_wait=150 * MILLISECOND, max_ack_pending=5)
        calm = await work.consumer("calm", filter_subject="*.>")  # lets everything pass
        await seen.poll(mixed, hasty, calm)

        # Acked out of order, nak, term and in progress.
        await work.fetch("mixed", 10)
        await work.response("mixed", [9, 3, 1], ACK)
        await work.response("mixed", [2, 4], NAK)
        await work.response("mixed", [5], TERM)
        await work.response("mixed", [6], IN_PROGRESS)
        await seen.poll(mixed, hasty, calm)
        await work.fetch("mixed", 2)
        await seen.poll(mixed, hasty, calm)

        # Message 2 runs out of deliveries, message 4 is finished in the end.
        await work.response("mixed", [2, 4], NAK)
        await work.fetch("mixed", 2)
        await work.response("mixed", [2], NAK)
        await work.response("mixed", [4], ACK)
        await work.fetch("mixed", 1)
        await seen.poll(mixed, hasty, calm)

        # No ack in time, twice.
        await work.fetch("hasty", 5)
        for _ in range(2):
            await work.fetch("hasty", 5, wait=True)
        await seen.poll(mixed, hasty, calm)
        await work.response("hasty", hasty.held)
        await work.drain("hasty")
        await work.drain("calm")
        await seen.poll(mixed, hasty, calm)
        assert (mixed.redeliveries, calm.redeliveries) == (4, 0)
        assert hasty.redeliveries >= 10
        for ledger in (mixed, hasty, calm):
            for result in seen.result(ledger):
                assert (result.redelivery_exact, result.lost_exact, result.lost) == (1, 1, 0)
                assert result.redeliveries == ledger.redeliveries


@pytest.mark.parametrize("retention", ["workqueue", "interest"])
async def test_gaps_that_acks_leave_behind_do_not_blur_the_count(
    nats_server: NatsServer, retention: str
) -> None:
    async with connected(nats_server) as client, watches(nats_server) as seen:
        work = Workload(client, "JOBS")
        await work.create(retention=retention)
        crew = await work.consumer("crew")
        await seen.poll(crew)
        await work.publish(20)
        await work.fetch("crew", 10)
        await work.response("crew", [2, 3, 5, 7, 8], ACK)
        await seen.poll(crew)
        state = await work.state()
        assert state["num_deleted"] > 0  # else this proves nothing
        await work.response("crew", [1, 4], NAK)
        await work.fetch("crew", 4)
        await seen.poll(crew)
        await work.publish(5)
        await work.response("crew", [6, 11], NAK)
        await work.drain("crew")
        await seen.poll(crew)
        # Everything is finished, and by that gone: the stream's beginning passes the consumer.
        await work.publish(6)
        await work.fetch("crew", 6)
        await work.response("crew", [26, 29], NAK)
        await work.fetch("crew", 2)
        await work.response("crew", crew.held, ACK)
        await seen.poll(crew)
        assert (await work.state())["messages"] == 0
        assert crew.redeliveries == 6
        for result in seen.result(crew):
            assert (result.redeliveries, result.redelivery_exact) == (6, 1)
            assert (result.lost, result.purged) == (0, 0)


async def test_what_is_sent_without_acks_is_never_sent_again(nats_server: NatsServer) -> None:
    async with connected(nats_server) as client, watches(nats_server) as seen:
        work = Workload(client, "NEWS")
        await work.create(max_msgs=10)
        reader = await work.consumer("reader", ack_policy="none", ack_wait=None)
        filtered = await work.consumer(
            "picky", ack_policy="none", ack_wait=None, filter_subject="news.b"
        )
        await seen.poll(reader, filtered)
        for subject in ("a", "b", "c"):
            await work.publish(6, subject)
        await work.fetch("reader", 4)
        await work.fetch("picky", 2)
        await seen.poll(reader, filtered)
        await work.fetch("reader", 50)
        await work.fetch("picky", 50)
        await seen.poll(reader, filtered)
        assert reader.lost == 8
        for result in seen.result(reader):
            assert (result.redeliveries, result.redelivery_exact) == (0, 1)
            assert (result.lost, result.lost_exact) == (8, 1)
        for result in seen.result(filtered):
            assert (result.redeliveries, result.redelivery_exact, result.lost_exact) == (0, 1, 0)


async def test_where_messages_are_overwritten_only_the_least_is_reported(
    nats_server: NatsServer,
) -> None:
    async with connected(nats_server) as client, watches(nats_server) as seen:
        work = Workload(client, "KV_settings")
        await work.create(
            max_msgs_per_subject=1, subjects=["kv_settings.>"], allow_rollup_hdrs=True
        )
        watcher = await work.consumer("watcher")
        latest = await work.consumer(
            "latest", deliver_policy="last_per_subject", filter_subject="kv_settings.*"
        )
        await seen.poll(watcher)
        for turn in range(4):
            for key in ("colour", "size", "shape"):
                await work.publish(2, key)
            await work.fetch("watcher", 2)
            if turn:
                await work.response("watcher", [max(watcher.held)], NAK)
                await work.fetch("watcher", 1)
            await seen.poll(watcher)
        await work.fetch("latest", 3)
        await seen.poll(watcher)
        assert watcher.redeliveries > 0
        for result in seen.result(watcher):
            assert result.redelivery_exact == 0
            assert (result.lost, result.lost_exact, result.lost_waiting) == (None, None, None)
        for result in seen.result(latest):
            assert (result.redelivery_exact, result.lost) == (0, None)


@pytest.mark.parametrize("how", FILTERS)
async def test_a_filtered_consumer_has_bounds_and_with_counts_the_truth(
    nats_server: NatsServer, how: str
) -> None:
    filters = FILTERS[how]
    if how == "several" and version_of(nats_server) < (2, 10):
        pytest.skip("one filter only before 2.10")
    async with connected(nats_server) as client, watches(nats_server) as seen:
        work = Workload(client, "ORDERS")
        await work.create()
        eu = await work.consumer("eu", **filters)
        other = await work.consumer("other", **filters)  # of this one nothing is counted
        await _poll_with_counts(seen, work, eu, other)
        for turn in range(3):
            for subject in ("a", "b", "c", "b.x", "c.x", "a.y"):
                await work.publish(3, subject)
            for ledger in (eu, other):
                await work.fetch(ledger.consumer, 5)
                await work.response(ledger.consumer, [min(ledger.held), max(ledger.held)], NAK)
                await work.fetch(ledger.consumer, 2 + turn)
            await _poll_with_counts(seen, work, eu, other)
        assert eu.redeliveries == other.redeliveries >= 6
        for result in seen.result(eu):
            assert (result.redeliveries, result.redelivery_exact) == (eu.redeliveries, 1)
        for result in seen.result(other):
            assert result.redelivery_exact == 0


async def _poll_with_counts(
    seen: Watches, work: Workload, counted: Ledger, *others: Ledger
) -> None:
    events = EventsInput(
        counts={(ACCOUNT, work.stream, counted.consumer): await _count(work, counted)}
    )
    await seen.poll(counted, *others, events=events)


async def _count(work: Workload, ledger: Ledger) -> FilteredCount:
    """Nothing moves meanwhile, so the three responses are of the same time."""
    matching = 0
    for wanted in ledger.filters:
        matching += sum(((await work.state(subjects_filter=wanted)).get("subjects") or {}).values())
    state, info = await work.state(), await work.info(ledger.consumer)
    removed = state["last_seq"] - state["messages"]
    return FilteredCount(matching, removed, info["delivered"]["consumer_seq"], info["num_pending"])
