"""Three copies: what is set back, made again, purged, restarted or killed makes no spike.

One cluster serves all tests of this file; each has a stream of its own.
"""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from support.exporter.source_polls import api
from support.nats.servers import APP, NatsCluster
from support.signals.known_workload import version_of
from support.signals.ledger import ACK, MILLISECOND, NAK, Ledger
from support.signals.observations import Watch
from support.signals.replicated_workload import (
    VERSIONS,
    ReplicatedWorkload,
    Stage,
    stage,
    three_nodes,
)

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(300)]
RESET_SINCE = (2, 14)


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=VERSIONS)
async def cluster(request: pytest.FixtureRequest) -> AsyncIterator[NatsCluster]:
    async with three_nodes(request.param) as made:
        yield made


async def busy(at: Stage, name: str, **config: Any) -> tuple[ReplicatedWorkload, Ledger]:
    """Twenty messages, twelve of them sent, three of those again, and then another leader."""
    work = await at.stream(name)
    await work.publish(20)
    worker = await work.consumer("worker", **config)
    await at.poll_until_true()
    await work.fetch_all("worker", 12)
    await work.response("worker", [3, 5, 8], NAK)
    await work.fetch_all("worker", 3)  # a new leader would not know that they were refused
    await at.poll_until_true()
    await at.move_leaders()
    await work.response("worker", [1, 2, 4], ACK)
    await at.poll_until_true()
    assert worker.redeliveries == 3
    return work, worker


def counted(watch: Watch, ledger: Ledger) -> tuple[int, int | None, int | None, int]:
    result = watch.of(ledger)
    return result.redeliveries, result.lost, result.purged, result.recreated


async def test_a_recreated_consumer_starts_from_nothing(cluster: NatsCluster) -> None:
    async with stage(cluster) as at:
        work, worker = await busy(at, "AGAIN")
        await api(at.client, "CONSUMER.DELETE.AGAIN.worker")
        again = await work.consumer("worker", deliver_policy="new")
        await work.publish(4)
        await work.fetch_all("worker", 2)
        await at.until_reported(lambda watch: counted(watch, again), (3, 0, 0, 1))
        at.seen.restart(worker)
        await at.poll_until_true()
        await at.move_leaders()
        await work.response("worker", [21], NAK)
        await work.fetch_all("worker", 3)
        await at.poll_until_true()
        await at.until_reported(lambda watch: counted(watch, again), (4, 0, 0, 1))


async def test_a_consumer_set_back_starts_from_nothing(cluster: NatsCluster) -> None:
    if version_of(cluster) < RESET_SINCE:
        pytest.skip("CONSUMER.RESET came with 2.14")
    async with stage(cluster) as at:
        work, worker = await busy(at, "BACK")
        response = await api(at.client, "CONSUMER.RESET.BACK.worker", {"seq": 5})
        assert "error" not in response, response
        await at.until_reported(lambda watch: counted(watch, worker), (3, 0, 0, 1))
        await at.move_leaders()
        # What it gets now it had before: for the workload sent again, for the server the first time.
        await work.fetch_all("worker", 6)
        await at.until_reported(
            lambda watch: (watch.row(worker).delivered_consumer_seq, counted(watch, worker)),
            (6, (3, 0, 0, 1)),
        )


async def test_a_purge_is_counted_once_under_any_leader(cluster: NatsCluster) -> None:
    async with stage(cluster) as at:
        work, worker = await busy(at, "PURGED")
        await work.purge(seq=16)
        await at.poll_until_true()
        await at.move_leaders()
        await work.purge()
        await at.move_leaders()
        await work.publish(3)
        await work.drain("worker")
        await at.poll_until_true()
        assert worker.purged == 8
        await at.until_reported(lambda watch: counted(watch, worker), (3, 0, 8, 0))
        for watch in at.seen.all.values():
            assert watch.signals.streams["APP", "PURGED"].purged == 20


@pytest.mark.parametrize("how", ["restarted", "killed"])
async def test_a_leader_that_went_away_and_came_back_counts_nothing(
    cluster: NatsCluster, how: str
) -> None:
    async with stage(cluster) as at:
        narrow = {"ack_wait": 1000 * MILLISECOND, "max_ack_pending": 12}
        work, worker = await busy(at, how.upper(), **narrow)
        home = await cluster.consumer_leader(APP, work.stream, "worker")
        await at.leave(home)
        await (cluster.stop(home) if how == "restarted" else cluster.kill(home))
        await cluster.consumer_leader(APP, work.stream, "worker")  # waits for another one
        await work.publish(2)
        await cluster.restart(home)
        await cluster.settle()
        await at.poll_until_true()
        for watch in at.seen.all.values():
            assert counted(watch, worker) == (3, 0, 0, 0)
        # What was unacked comes again, from the new leader, and is counted to the last one.
        await work.fetch_all("worker", 9)
        await at.poll_until_true()
        assert worker.redeliveries > 3
        await at.move_leaders()
        await work.response("worker", worker.held, ACK)
        await work.drain("worker")
        await at.poll_until_true()
        for result in at.seen.result(worker):
            assert (result.redeliveries, result.redelivery_exact) == (worker.redeliveries, 1)
            assert (result.lost, result.purged, result.recreated) == (0, 0, 0)
