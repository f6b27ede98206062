"""Three nodes: what is counted stays true while the leaders of streams and consumers move."""

from support.nats.servers import APP, NatsCluster, connected
from support.signals.known_workload import version_of
from support.signals.ledger import ACK, NAK, TERM, Workload
from support.signals.observations import watches

from exporter.signals.results import ConsumerSignals


def _counted(result: ConsumerSignals) -> tuple[int, int | None, int | None, int, int | None]:
    return (
        result.redeliveries,
        result.lost,
        result.purged,
        result.recreated,
        result.redelivery_exact,
    )


async def test_the_counts_stay_true_while_leaders_move(nats_cluster: NatsCluster) -> None:
    async with connected(nats_cluster) as client, watches(nats_cluster) as seen:
        work = Workload(client, "ORDERS")
        await work.create(num_replicas=3, max_msgs=40)
        await work.publish(10)
        mixed = await work.consumer("mixed", max_deliver=3)
        filtered = await work.consumer("picky", filter_subject="orders.b")
        slow = await work.consumer("slow")
        all_of_them = (mixed, filtered, slow)
        await seen.poll_until_true(*all_of_them)

        await work.fetch_all("mixed", 6)
        await work.response("mixed", [2, 4, 6], NAK)
        await work.response("mixed", [1], ACK)
        await work.fetch_all("mixed", 3)
        await seen.poll_until_true(*all_of_them)

        await nats_cluster.step_down_consumer(APP, "ORDERS", "mixed")
        await seen.poll_until_true(*all_of_them)
        await work.response("mixed", [2, 4], NAK)
        await work.response("mixed", [3], TERM)
        await work.fetch("mixed", 2, wait=True)
        await work.publish(8, "b")
        await work.fetch_all("picky", 5)
        await work.response("picky", [11, 12], NAK)
        await work.fetch("picky", 2, wait=True)
        await seen.poll_until_true(*all_of_them)

        await nats_cluster.step_down_stream(APP, "ORDERS")
        await nats_cluster.step_down_consumer(APP, "ORDERS", "slow")
        await work.publish(30)
        await seen.poll_until_true(*all_of_them)
        await work.drain("mixed")
        await seen.poll_until_true(*all_of_them)
        assert (mixed.redeliveries, mixed.lost, filtered.redeliveries, slow.lost) == (5, 2, 2, 8)
        # A leader of 2.9 that steps down briefly reports old numbers: the counts may be bounds then.
        surely = version_of(nats_cluster) >= (2, 10)
        for result in seen.result(mixed):
            assert _counted(result)[:4] == (5, 2, 0, 0)
            assert result.redelivery_exact == 1 or not surely
            assert result.leader_changes >= 1
        for result in seen.result(slow):
            assert _counted(result) == (0, 8, 0, 0, 1)
        for result in seen.result(filtered):
            assert _counted(result)[3:] == (0, 0)


async def test_a_purge_that_a_new_leader_does_not_know_of_counts_once(
    nats_cluster: NatsCluster,
) -> None:
    async with connected(nats_cluster) as client, watches(nats_cluster) as seen:
        work = Workload(client, "ORDERS")
        await work.create(num_replicas=3)
        await work.publish(20)
        worker = await work.consumer("worker", max_deliver=2)
        await work.fetch_all("worker", 4)
        await seen.poll_until_true(worker)
        await work.purge(seq=11)
        await seen.poll_until_true(worker)
        for _ in range(3):
            # The position that a purge moved is not replicated: it may go back with the leader.
            await nats_cluster.step_down_consumer(APP, "ORDERS", "worker")
            await seen.poll_until_true(worker)
        await work.fetch_all("worker", 3)
        await seen.poll_until_true(worker)
        for result in seen.result(worker):
            assert _counted(result) == (0, 0, 6, 0, 1)
            assert result.floor_exhausted == 0
