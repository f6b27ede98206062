"""Streams and servers that are unwell on real servers: each condition, since when, and its end."""

import time

import pytest
from support.nats.servers import APP, NatsServer, connected
from support.signals.ledger import Workload
from support.signals.observations import ACCOUNT, Watches, watches
from support.signals.replicated_workload import VERSIONS, ReplicatedWorkload, three_nodes
from support.waiting import until

from exporter import catalog
from exporter.signals.results import Signals


def _streams(seen: Watches, stream: str) -> list[dict[str, float]]:
    return [
        dict(watch.signals.stream_conditions.get((ACCOUNT, stream), ()))
        for watch in seen.all.values()
    ]


def _unjudged(signals: Signals) -> list[set[str]]:
    """Of each server."""
    return [{word for word, _ in each} for each in signals.server_unjudged.values()]


def _servers(seen: Watches) -> list[dict[str, tuple[str, ...]]]:
    return [
        {name: tuple(word for word, _ in held) for name, held in signals.server_conditions.items()}
        for signals in (watch.signals for watch in seen.all.values())
    ]


async def test_a_stream_that_rejects_messages_is_full_since_its_last_one(
    nats_server: NatsServer,
) -> None:
    async with connected(nats_server) as client, watches(nats_server) as seen:
        work = Workload(client, "ORDERS")
        await work.create(max_msgs=50, discard="new")
        before = time.time()
        await work.publish(50)
        after = time.time()
        for _ in range(2):
            seen.pass_time(600)
            await seen.poll()
            for held in _streams(seen, "ORDERS"):
                assert set(held) == {"full"}
                assert before - 0.1 <= held["full"] <= after + 0.1
        await work.purge(keep=10)
        await seen.poll()
        assert _streams(seen, "ORDERS") == [{}, {}]
        assert _servers(seen) == [{}, {}]
        # Health and storage need the system account.
        unjudged = {name: _unjudged(watch.signals) for name, watch in seen.all.items()}
        assert unjudged == {"account": [{"unhealthy", "storage_high"}], "system": []}


async def test_an_interest_stream_keeps_nothing_until_someone_reads_it(
    nats_server: NatsServer,
) -> None:
    async with connected(nats_server) as client, watches(nats_server) as seen:
        work = Workload(client, "ORDERS")
        await work.create(retention="interest")
        await seen.poll()
        assert _streams(seen, "ORDERS") == [{}, {}], "nothing was published yet"
        await work.publish(5)
        await seen.poll()
        assert [set(held) for held in _streams(seen, "ORDERS")] == [{"no_interest"}] * 2
        await Workload(client, "COPY").create(subjects=[], sources=[{"name": "ORDERS"}])
        await seen.poll()
        assert _streams(seen, "ORDERS") == [{}, {}]


async def test_messages_of_a_work_queue_that_match_no_filter_are_unreachable(
    nats_server: NatsServer,
) -> None:
    async with connected(nats_server) as client, watches(nats_server) as seen:
        work = Workload(client, "ORDERS")
        await work.create(retention="workqueue")
        await work.consumer("worker", filter_subject="orders.a")
        await work.publish(3, "b")
        for _ in range(2):
            await seen.poll()
            assert _streams(seen, "ORDERS") == [{}, {}], "rows are of different moments"
        seen.pass_time(61)
        await seen.poll()
        assert [set(held) for held in _streams(seen, "ORDERS")] == [{"unreachable_messages"}] * 2
        await work.consumer("other", filter_subject="orders.b")
        await seen.poll()
        assert _streams(seen, "ORDERS") == [{}, {}]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("version", VERSIONS)
async def test_dead_servers_cost_a_replica_then_the_leader(version: str) -> None:
    async with three_nodes(version) as cluster, connected(cluster) as client:
        work = ReplicatedWorkload(client, "ORDERS")
        await work.create()
        await work.publish(5)
        leader = await cluster.stream_leader(APP, "ORDERS")
        first, second = (node.name for node in cluster.nodes if node.name != leader)
        async with watches(cluster) as seen:
            await seen.poll_until_complete()
            assert (_streams(seen, "ORDERS"), _servers(seen)) == ([{}, {}], [{}, {}])
            account, system = (watch.signals.stream_unjudged for watch in seen.all.values())
            # What followers store is seen by the system account.
            assert account == {(ACCOUNT, "ORDERS"): (("diverged", "no value reported"),)}
            assert system == {}

            async def poll() -> list[tuple[set[str], dict[str, tuple[str, ...]]]]:
                for watch in seen.all.values():
                    await watch.poll_incomplete()
                return [
                    (set(held), servers)
                    for held, servers in zip(_streams(seen, "ORDERS"), _servers(seen), strict=True)
                ]

            await cluster.kill(first)
            one = ({"replica_offline", "quorum_at_risk"}, {first: ("down",)})
            await until(poll, [one, one].__eq__, "the replica is not missed")
            since = [dict(watch.signals.server_conditions)[first] for watch in seen.all.values()]
            await cluster.kill(second)
            both = ({"no_leader"}, {first: ("down",), second: ("down",)})
            await until(poll, [both, both].__eq__, "the leader is not missed")
            later = [dict(watch.signals.server_conditions)[first] for watch in seen.all.values()]
            assert later == since
            for watch in seen.all.values():
                words = [word for word, _ in watch.signals.stream_unjudged[ACCOUNT, "ORDERS"]]
                assert words == [*catalog.STREAM_CONDITIONS[1:]]
