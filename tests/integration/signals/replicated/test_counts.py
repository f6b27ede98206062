"""Three copies, and leaders that step down in the middle: what came again or was lost is counted.

One cluster serves all tests of this file; each has streams of its own.
"""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from support.nats.servers import NatsCluster
from support.signals.ledger import ACK, MILLISECOND, NAK, TERM, Ledger
from support.signals.observations import ACCOUNT
from support.signals.replicated_workload import (
    VERSIONS,
    ReplicatedWorkload,
    Stage,
    stage,
    three_nodes,
)

from exporter.signals.events_input import EventsInput, FilteredCount
from exporter.signals.results import ConsumerSignals

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(300)]


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=VERSIONS)
async def cluster(request: pytest.FixtureRequest) -> AsyncIterator[NatsCluster]:
    async with three_nodes(request.param) as made:
        yield made


def counted(result: ConsumerSignals) -> tuple[int, int | None, int | None, int]:
    return result.redeliveries, result.lost, result.purged, result.recreated


async def test_what_comes_again_is_counted_from_any_leader(cluster: NatsCluster) -> None:
    """Timeouts, a work queue whose acks leave gaps, an interest stream: all by the leaders of now."""
    async with stage(cluster) as at:
        plain, queue = await at.stream("PLAIN"), await at.stream("QUEUE", retention="workqueue")
        shared = await at.stream("SHARED", retention="interest")
        hasty = await plain.consumer("hasty", ack_wait=400 * MILLISECOND, max_ack_pending=4)
        crew, reader = await queue.consumer("crew"), await shared.consumer("reader")
        for work in at.works:
            await work.publish(10)
        await at.poll_until_true()
        await plain.fetch_all("hasty", 4)
        for work, name in ((queue, "crew"), (shared, "reader")):
            await work.fetch_all(name, 8)
            await work.response(name, [2, 3, 5, 7], ACK)
        await at.poll_until_true()
        assert (await queue.state())["num_deleted"] > 0  # else this proves nothing
        await at.move_leaders()
        await plain.fetch_all("hasty", 4)  # those that timed out, from another leader
        for work, name in ((queue, "crew"), (shared, "reader")):
            await work.response(name, [1, 4], NAK)
            await work.fetch_all(name, 2)
            await work.response(name, [6], TERM)
        await at.poll_until_true()
        await at.move_leaders()
        for work, ledger in ((queue, crew), (shared, reader)):
            await work.response(ledger.consumer, ledger.held, ACK)
            await work.drain(ledger.consumer)
        await at.poll_until_true()
        assert (crew.redeliveries, reader.redeliveries) == (2, 2)
        assert hasty.redeliveries >= 4
        for ledger in (hasty, crew, reader):
            for result in at.seen.result(ledger):
                assert counted(result) == (ledger.redeliveries, 0, 0, 0)
                assert result.redelivery_exact == 1


async def test_a_filtered_consumer_with_counts_has_the_truth(cluster: NatsCluster) -> None:
    async with stage(cluster) as at:
        work = await at.stream("PICK")
        eu = await work.consumer("eu", filter_subject="pick.b.>")
        await _poll_with_count(at, work, eu)
        for turn in range(3):
            for subject in ("a", "b.x", "c", "b.y"):
                await work.publish(2, subject)
            await work.fetch_all("eu", 4)
            await work.response("eu", [min(eu.held), max(eu.held)], NAK)
            await work.fetch_all("eu", 2)
            if turn:
                await at.move_leaders()
            await _poll_with_count(at, work, eu)
        assert eu.redeliveries == 6
        for result in at.seen.result(eu):
            assert (result.redeliveries, result.redelivery_exact) == (6, 1)


async def _poll_with_count(at: Stage, work: ReplicatedWorkload, ledger: Ledger) -> None:
    await at.poll_until_true()
    key = (ACCOUNT, ledger.stream, ledger.consumer)
    await at.seen.poll(ledger, events=EventsInput(counts={key: await _count(work, ledger)}))


async def _count(work: ReplicatedWorkload, ledger: Ledger) -> FilteredCount:
    """Nothing moves meanwhile, so the three responses are of the same time."""
    matching = 0
    for wanted in ledger.filters:
        matching += sum(((await work.state(subjects_filter=wanted)).get("subjects") or {}).values())
    state, info = await work.state(), await work.info(ledger.consumer)
    removed = state["last_seq"] - state["messages"]
    return FilteredCount(matching, removed, info["delivered"]["consumer_seq"], info["num_pending"])


async def test_what_limits_took_first_is_counted_under_any_leader(cluster: NatsCluster) -> None:
    async with stage(cluster) as at:
        age = 3000 * MILLISECOND
        old = await at.stream("OLD", max_age=age, duplicate_window=age)
        small = await at.stream("SMALL", max_bytes=2000, discard="old")
        slow, behind = await old.consumer("slow"), await small.consumer("behind")
        filtered = await old.consumer("picky", filter_subject="old.b")
        await at.poll_until_true()
        await small.publish(30)
        await old.publish(3, "a")
        await old.publish(4, "b")
        await old.fetch_all("slow", 2)
        await small.publish(10)
        await at.poll_until_true()
        await at.move_leaders()
        await old.until_expired()
        await at.poll_until_true()
        assert (slow.lost, filtered.lost) == (5, 4)
        await at.move_leaders()
        await small.drain("behind")
        await at.poll_until_true()  # else a message sent again might hide one that is gone
        await small.publish(40)
        await at.poll_until_true()
        assert behind.lost > 0
        for ledger in (slow, behind):
            for result in at.seen.result(ledger):
                assert counted(result) == (0, ledger.lost, 0, 0)
                assert result.lost_exact == 1
        # Behind a filter a new leader hides what went meanwhile: no more than a bound is promised.
        assert [result.lost_exact for result in at.seen.result(filtered)] == [0, 0]
