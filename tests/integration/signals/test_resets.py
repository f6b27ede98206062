"""What is set back, made again, purged or killed must not count as redeliveries or losses."""

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from support.exporter.source_polls import api
from support.nats.servers import NatsServer, connect, connected
from support.signals.known_workload import version_of
from support.signals.ledger import ACK, MILLISECOND, NAK, Ledger, Workload
from support.signals.observations import Watches, watches

RESET_SINCE = (2, 14)


async def _busy(work: Workload, seen: Watches, **config: object) -> Ledger:
    """Twenty messages, twelve of them sent, three of those again."""
    await work.create(storage="file")
    await work.publish(20)
    worker = await work.consumer("worker", **config)
    await seen.poll(worker)
    await work.fetch("worker", 12)
    await work.response("worker", [3, 5, 8], NAK)
    await work.fetch("worker", 3)
    await work.response("worker", [1, 2, 4], ACK)
    await seen.poll(worker)
    return worker


def _counted(seen: Watches, ledger: Ledger) -> list[tuple[int, int | None, int | None, int]]:
    return [(t.redeliveries, t.lost, t.purged, t.recreated) for t in seen.result(ledger)]


async def test_a_recreated_consumer_starts_from_nothing(nats_server: NatsServer) -> None:
    async with connected(nats_server) as client, watches(nats_server, monitor=True) as seen:
        work = Workload(client, "ORDERS")
        worker = await _busy(work, seen)
        assert _counted(seen, worker) == [(3, 0, 0, 0)] * 3
        await api(client, "CONSUMER.DELETE.ORDERS.worker")
        again = await work.consumer("worker", deliver_policy="new")
        await work.publish(4)
        await work.fetch("worker", 2)
        seen.pass_time(2)
        await seen.poll()
        assert _counted(seen, again) == [(3, 0, 0, 1)] * 3
        seen.restart(worker)
        await seen.poll(again)
        await work.response("worker", [21], NAK)
        await work.fetch("worker", 3)
        await seen.poll(again)
        assert _counted(seen, again) == [(4, 0, 0, 1)] * 3


async def test_a_consumer_that_is_gone_is_counted_and_forgotten(nats_server: NatsServer) -> None:
    async with connected(nats_server) as client, watches(nats_server) as seen:
        work = Workload(client, "ORDERS")
        await _busy(work, seen)
        await api(client, "CONSUMER.DELETE.ORDERS.worker")
        await seen.poll()
        for watch in seen.all.values():
            assert watch.signals.consumers == {}
            assert watch.signals.streams["APP", "ORDERS"].consumers_removed == 1


@pytest.mark.parametrize("back_to", [None, 5])
async def test_a_consumer_set_back_starts_from_nothing(
    nats_server: NatsServer, back_to: int | None
) -> None:
    if version_of(nats_server) < RESET_SINCE:
        pytest.skip("CONSUMER.RESET came with 2.14")
    async with connected(nats_server) as client, watches(nats_server) as seen:
        work = Workload(client, "ORDERS")
        worker = await _busy(work, seen)
        request = None if back_to is None else {"seq": back_to}
        response = await api(client, "CONSUMER.RESET.ORDERS.worker", request)
        assert "error" not in response, response
        await seen.poll()
        assert _counted(seen, worker) == [(3, 0, 0, 1)] * 2
        seen.restart(worker)
        # What it gets now it had before: for the workload sent again, for the server the first time.
        await work.fetch("worker", 6)
        await seen.poll()
        assert _counted(seen, worker) == [(3, 0, 0, 1)] * 2


async def test_a_recreated_stream_starts_from_nothing(nats_server: NatsServer) -> None:
    async with connected(nats_server) as client, watches(nats_server, monitor=True) as seen:
        work = Workload(client, "ORDERS")
        await _busy(work, seen)
        await asyncio.sleep(1.0)  # a time of creation may move by so much and mean nothing
        await api(client, "STREAM.DELETE.ORDERS")
        work.stored.clear()
        await work.create()
        again = await work.consumer("worker")
        await work.publish(5)
        await work.fetch("worker", 2)
        await seen.poll()
        assert _counted(seen, again) == [(3, 0, 0, 1)] * 3
        for watch in seen.all.values():
            stream = watch.signals.streams["APP", "ORDERS"]
            assert (stream.recreated, stream.regressions, stream.purged) == (1, 0, 0)


async def test_what_was_missing_in_a_poll_and_comes_back_is_recreated(
    nats_server: NatsServer,
) -> None:
    async with connected(nats_server) as client, watches(nats_server, monitor=True) as seen:
        work = Workload(client, "ORDERS")
        worker = await _busy(work, seen)
        await api(client, "CONSUMER.DELETE.ORDERS.worker")
        await seen.poll()
        await asyncio.sleep(1.0)  # a time of creation may move by so much and mean nothing
        seen.restart(worker)
        again = await work.consumer("worker")
        await work.fetch("worker", 2)
        await seen.poll(again)
        assert _counted(seen, again) == [(0, 0, 0, 1)] * 3
        assert _streams(seen) == [(0, 1)] * 3

        await api(client, "STREAM.DELETE.ORDERS")
        await seen.poll()
        await asyncio.sleep(1.0)
        seen.restart(again)
        work.stored.clear()
        await work.create()
        await work.publish(5)
        last = await work.consumer("worker")
        await work.fetch("worker", 2)
        await work.response("worker", [1], NAK)
        await seen.poll(last)
        assert _counted(seen, last) == [(0, 0, 0, 2)] * 3
        assert _streams(seen) == [(1, 1)] * 3  # its counters continue
        await work.fetch("worker", 2)
        await seen.poll(last)
        assert _counted(seen, last) == [(1, 0, 0, 2)] * 3
        assert _streams(seen) == [(1, 1)] * 3  # its counters continue


def _streams(seen: Watches) -> list[tuple[int, int]]:
    found = [watch.signals.streams["APP", "ORDERS"] for watch in seen.all.values()]
    assert [(one.regressions, one.purged) for one in found] == [(0, 0)] * 3
    return [(one.recreated, one.consumers_removed) for one in found]


async def test_a_restart_counts_nothing_by_itself(nats_server: NatsServer) -> None:
    async with watches(nats_server) as seen:
        client = await connect(nats_server)
        work = Workload(client, "ORDERS")
        worker = await _busy(work, seen, ack_wait=400 * MILLISECOND, max_ack_pending=12)
        await client.close()
        await nats_server.restart()
        await seen.poll_until_complete(worker)
        if _forgot(seen, worker):  # seen of 2.10.26 on a busy disk, even when it is ended gently
            assert _counted(seen, worker) == [(3, 0, 0, 1)] * 2
            return
        assert _counted(seen, worker) == [(3, 0, 0, 0)] * 2
        async with connected(nats_server) as new_client:
            await work.continue_with(new_client)
            await work.fetch("worker", 9, wait=True)
            await seen.poll(worker)
        assert worker.redeliveries > 3
        assert _counted(seen, worker) == [(worker.redeliveries, 0, 0, 0)] * 2
        assert [result.redelivery_exact for result in seen.result(worker)] == [1, 1]


async def test_acks_that_a_server_forgot_are_redeliveries_but_no_reset(
    nats_server: NatsServer, tmp_path: Path
) -> None:
    """As after a crash: what was delivered was written down, what was acked then was not."""
    async with watches(nats_server) as seen:
        client = await connect(nats_server)
        work = Workload(client, "ORDERS")
        await work.create(storage="file")
        await work.publish(20)
        # No capacity for new messages beside those nine.
        narrow = {"ack_wait": 400 * MILLISECOND, "max_ack_pending": 9}
        worker = await work.consumer("worker", **narrow)
        filtered = await work.consumer("picky", filter_subject="orders.a", **narrow)
        await seen.poll(worker, filtered)
        for name in ("worker", "picky"):
            await work.fetch(name, 9)
        await client.close()
        await _stop_and(nats_server, lambda store: shutil.copytree(store, tmp_path / "store"))
        async with connected(nats_server) as client:
            await work.continue_with(client)
            for name in ("worker", "picky"):
                await work.response(name, work.ledgers[name].held, ACK)
            await seen.poll_until_complete(worker, filtered)
        acked = [watch.row(worker).ack_floor_stream_seq for watch in seen.all.values()]
        await _stop_and(nats_server, lambda store: _put_back(tmp_path / "store", store))
        await seen.poll_until_complete(worker, filtered)
        floors = [watch.row(worker).ack_floor_stream_seq for watch in seen.all.values()]
        assert (acked, floors) == ([9, 9], [0, 0])
        assert _counted(seen, worker) == [(0, 0, 0, 0)] * 2
        async with connected(nats_server) as client:
            await work.continue_with(client)
            for name in ("worker", "picky"):
                await work.fetch(name, 9, wait=True)
            await seen.poll(worker, filtered)
        for ledger in (worker, filtered):
            assert _counted(seen, ledger) == [(9, 0, 0, 0)] * 2


async def test_a_killed_server_makes_no_spike(nats_server: NatsServer) -> None:
    """It may have forgotten anything of the last tenths of a second, deliveries included."""
    async with watches(nats_server) as seen:
        client = await connect(nats_server)
        work = Workload(client, "ORDERS")
        worker = await _busy(work, seen)
        await work.publish(400)
        got = await work.fetch("worker", 400, wait=True)
        for message in got[:300]:
            await client.publish(message.reply, ACK)
        await client.flush()
        await seen.poll(worker)
        await client.close()
        await nats_server.kill()
        await nats_server.restart()
        await seen.poll_until_complete(worker)
        assert _counted(seen, worker) == [(3, 0, 0, int(_forgot(seen, worker)))] * 2


def _forgot(seen: Watches, ledger: Ledger) -> bool:
    return any(w.row(ledger).delivered_consumer_seq < ledger.deliveries for w in seen.all.values())


async def _stop_and(server: NatsServer, act: Callable[[Path], object]) -> None:
    await server.stop()
    assert server._folder is not None
    await asyncio.to_thread(act, server._folder / "store")
    await server.restart()


def _put_back(kept: Path, store: Path) -> None:
    shutil.rmtree(store)
    shutil.copytree(kept, store)
