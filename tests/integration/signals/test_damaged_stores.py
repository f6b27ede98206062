"""Stores that were set back or lost a part: what a server then says of itself must not pass unseen."""

import shutil
from functools import partial
from pathlib import Path

import pytest
from support.exporter.exposed_series import polled, polling
from support.exporter.source_polls import create_stream
from support.nats.servers import APP, NatsCluster, NatsServer, connect, connected
from support.signals.damaged_stores import (
    MAX_BYTES,
    blocks_of,
    delete_block,
    fill_blocks,
    forget_stream,
    messages_in,
    put_back,
    stream_folder,
    while_stopped,
)
from support.signals.ledger import ACK, Workload
from support.signals.observations import watches
from support.signals.replicated_workload import VERSIONS, three_nodes
from support.waiting import until

SUBJECT = "orders.a"


async def test_a_stream_set_back_is_reported_and_who_is_ahead_of_it(
    nats_server: NatsServer, tmp_path: Path
) -> None:
    """An older copy of the messages is put back; the consumer's state is today's."""
    async with watches(nats_server) as seen:
        client = await connect(nats_server)
        work = Workload(client, "ORDERS")
        await work.create(storage="file")
        await work.publish(10)
        worker, slow = await work.consumer("worker"), await work.consumer("slow")
        await work.fetch("slow", 3)
        await client.close()
        await while_stopped(
            nats_server,
            lambda store: shutil.copytree(
                stream_folder(store, "ORDERS") / "msgs", tmp_path / "msgs"
            ),
        )
        async with connected(nats_server) as client:
            await work.continue_with(client)
            await work.publish(5)
            await work.fetch("worker", 14)
            await work.response("worker", worker.held, ACK)
            await seen.poll_until_complete(worker, slow)
        for watch in seen.all.values():
            assert [watch.of(one).ahead for one in (worker, slow)] == [None, None]
        await while_stopped(
            nats_server,
            lambda store: put_back(tmp_path / "msgs", stream_folder(store, "ORDERS") / "msgs"),
        )
        await seen.poll_until_complete()
        for watch in seen.all.values():
            stream = watch.signals.streams["APP", "ORDERS"]
            assert (stream.regressions, stream.recreated, stream.purged) == (1, 0, 0)
            assert [watch.of(one).ahead for one in (worker, slow)] == [14 - 10, None]
            assert [watch.of(one).redeliveries for one in (worker, slow)] == [0, 0]
            assert [watch.of(one).lost for one in (worker, slow)] == [0, 0]
        # With as many new messages it is ahead of nothing any more.
        async with connected(nats_server) as client:
            await work.continue_with(client)
            for _ in range(4):
                await client.request(SUBJECT, b"new", timeout=20)
        await seen.poll()
        await seen.poll()
        for watch in seen.all.values():
            assert watch.of(worker).ahead is None
            assert watch.signals.streams["APP", "ORDERS"].regressions == 1


async def test_sequences_used_again_are_first_deliveries(
    nats_server: NatsServer, tmp_path: Path
) -> None:
    """An older copy of the messages is put back, and a consumer gets what is stored in their place."""
    async with watches(nats_server, monitor=True) as seen:
        client = await connect(nats_server)
        work = Workload(client, "ORDERS")
        await work.create(storage="file")
        await work.publish(10)
        await work.consumer("worker")
        await work.consumer("picky", filter_subject=SUBJECT)
        await client.close()
        await while_stopped(
            nats_server,
            lambda store: shutil.copytree(
                stream_folder(store, "ORDERS") / "msgs", tmp_path / "msgs"
            ),
        )
        async with connected(nats_server) as client:
            await work.continue_with(client)
            await work.publish(20)
            for name in ("worker", "picky"):
                await work.drain(name)
            await seen.poll_until_complete()
        await while_stopped(
            nats_server,
            lambda store: put_back(tmp_path / "msgs", stream_folder(store, "ORDERS") / "msgs"),
        )
        await seen.poll_until_complete()
        async with connected(nats_server) as client:
            await work.continue_with(client)
            for _ in range(8):
                for _ in range(5):
                    await client.request(SUBJECT, b"new", timeout=20)
                for name in ("worker", "picky"):
                    got = await work.fetch(name, 3)
                    await work.response(name, [one.metadata.sequence.stream for one in got])
                await seen.poll()
        assert sum(ledger.deliveries for ledger in work.ledgers.values()) > 60
        for ledger in work.ledgers.values():
            counted = [
                (r.redeliveries, r.lost, r.lost_upper, r.purged) for r in seen.result(ledger)
            ]
            assert counted == [(0, 0, 0, 0)] * 3


async def test_messages_that_a_crash_took_from_the_end_are_counted(
    nats_server: NatsServer,
) -> None:
    async with watches(nats_server) as seen:
        async with connected(nats_server) as client:
            work = Workload(client, "ORDERS")
            await work.create(storage="file", max_bytes=MAX_BYTES)
            await fill_blocks(client, SUBJECT, 40)
            worker = await work.consumer("worker", ack_policy="none", ack_wait=None)
            await work.fetch("worker", 40, wait=True)
            await seen.poll(worker)

        def lose_the_end(store: Path) -> int:
            folder = stream_folder(store, "ORDERS")
            last = blocks_of(folder)[-1]
            gone = messages_in(last, SUBJECT)
            delete_block(folder, last)
            return gone

        gone = await while_stopped(nats_server, lose_the_end)
        assert 0 < gone < 40
        await seen.poll_until_complete()
        for watch in seen.all.values():
            stream = watch.signals.streams["APP", "ORDERS"]
            assert (stream.regressions, stream.recreated) == (1, 0)
            assert watch.of(worker).ahead == gone


# --- followers ------------------------------------------------------------------------------------


@pytest.mark.timeout(300)
@pytest.mark.parametrize("version", VERSIONS)
async def test_a_follower_that_lost_a_part_of_its_store_is_named(version: str) -> None:
    """Its log says that it has everything, its leader sees no lag, and only its count differs."""
    async with three_nodes(version) as cluster:
        async with connected(cluster) as client:
            await create_stream(
                client, "ORDERS", subjects=["orders.>"], storage="file", max_bytes=MAX_BYTES,
                num_replicas=3,
            )  # fmt: skip
            await fill_blocks(client, SUBJECT, 40)
        follower = await _a_follower(cluster)
        await _until_reported(cluster, "system", {})

        def lose_the_beginning(store: Path) -> int:
            folder = stream_folder(store, "ORDERS")
            first = blocks_of(folder)[0]
            gone = messages_in(first, SUBJECT)
            delete_block(folder, first)
            return gone

        gone = await while_stopped(follower, lose_the_beginning)
        assert 0 < gone < 40
        for source in ("system", "monitor"):
            await _until_reported(cluster, source, {follower.name: gone})
        # Its replica is rebuilt from the leader's.
        await while_stopped(follower, partial(forget_stream, stream="ORDERS"))
        await _until_reported(cluster, "system", {})


async def _a_follower(cluster: NatsCluster) -> NatsServer:
    """One that has all that the leader has."""
    leader = await cluster.stream_leader(APP, "ORDERS")
    return next(node for node in cluster.nodes if node.name != leader)


async def _until_reported(cluster: NatsCluster, source: str, truth: dict[str, int]) -> None:
    async with polling(cluster, source) as poller:  # type: ignore[arg-type]

        async def result() -> tuple[int, dict[str, float]]:
            """How many of its copies the leader holds for current, and who differs."""
            seen = await polled(poller)
            lags = seen.named("stream_replica_lag", stream="ORDERS").values()
            found = seen.named("stream_replica_divergence_messages", stream="ORDERS")
            apart = {dict(labels)["server"]: value for labels, value in found.items()}
            return sum(lag == 0 for lag in lags), apart

        await until(result, (2, truth).__eq__, f"{source}: does not report {truth}")
