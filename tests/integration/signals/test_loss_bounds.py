"""The hard cases of lost messages, through every source: bounds hold, and nothing false is claimed.

The truth is the ledger's: every poll checks at least <= lost <= at most, and that no more is purged.
"""

import asyncio
from dataclasses import replace
from typing import Any, Final

import pytest
from support.exporter.source_polls import api, create_stream
from support.nats.servers import NatsServer, connected
from support.signals.ledger import Ledger, Workload
from support.signals.observations import OPTIONS, Watches, watches
from support.waiting import until

# Configuration of all accounts once, at the first poll.
SLOW: Final = replace(OPTIONS, config_interval=3600.0)
FULL: Final = 600


def _counted(seen: Watches, ledger: Ledger) -> list[tuple[int | None, int | None, int | None]]:
    return [(one.lost, one.lost_upper, one.purged) for one in seen.result(ledger)]


async def _update(work: Workload, **changes: Any) -> None:
    """Some settings of the stream; the others stay."""
    now = (await api(work.client, f"STREAM.INFO.{work.stream}"))["config"]
    response = await api(work.client, f"STREAM.UPDATE.{work.stream}", now | changes)
    assert "error" not in response, response
    await work.note_gone()


async def test_a_slow_consumer_behind_a_filter_on_a_full_stream(nats_server: NatsServer) -> None:
    async with connected(nats_server) as client, watches(nats_server, monitor=True) as seen:
        work = Workload(client, "ORDERS")
        await work.create(max_msgs=FULL, storage="memory")
        slow = await work.consumer("slow", filter_subject="orders.b")
        once = await work.consumer("once", filter_subject="orders.b", max_deliver=1)
        well = await work.consumer("well", filter_subject="orders.a")
        await seen.poll(slow, once, well)
        for _ in range(36):
            for subject in "ab" * 5:
                await work.publish(10, subject)
            for name in ("slow", "once"):
                await work.response(name, await work.fetch_all(name, 14))
            await work.drain("well")
            await seen.poll(slow, once, well)
        assert slow.lost == once.lost > 900
        assert _counted(seen, well) == [(0, 0, 0)] * 3
        for ledger in (slow, once):
            for lost, most, purged in _counted(seen, ledger):
                assert lost is not None
                assert most is not None
                print(f"{ledger.consumer}: {lost} <= {ledger.lost} <= {most}")
                # Of those that waited while the stream was replaced once, less is known.
                assert lost >= ledger.lost - FULL / 2
                # What is sent may have been sent before, except where that never happens.
                sent = 0 if ledger is once else ledger.deliveries
                assert most <= ledger.lost + sent + FULL / 2
                assert purged == 0


@pytest.mark.parametrize("full", [True, False])
async def test_subjects_that_were_narrowed_to_the_filter(
    nats_server: NatsServer, *, full: bool
) -> None:
    async with connected(nats_server) as client, watches(nats_server, monitor=True) as seen:
        work = Workload(client, "ORDERS")
        await work.create(subjects=["orders.a", "orders.b"], max_msgs=300 if full else 3000)
        picky = await work.consumer("picky", filter_subject="orders.b")
        await work.publish(250, "a")
        await seen.poll(picky)
        await work.publish(30, "b")
        await seen.poll(picky)
        await _update(work, subjects=["orders.b"])
        await seen.poll(picky)
        await work.publish(220, "b")
        await seen.poll(picky)
        await work.response("picky", await work.fetch_all("picky", 40))
        await seen.poll(picky)
        assert (picky.lost, picky.purged) == (0, 0)
        assert _counted(seen, picky) == [(0, 0, 0)] * 3
        assert [one.redeliveries for one in seen.result(picky)] == [0] * 3


@pytest.mark.parametrize("full", [True, False])
async def test_own_subjects_beside_those_of_a_source(
    nats_server: NatsServer, *, full: bool
) -> None:
    async with connected(nats_server) as client, watches(nats_server, monitor=True) as seen:
        await create_stream(client, "ORIGIN", subjects=["origin.>"])
        work = Workload(client, "OWN")
        most = 200 if full else 2000
        await work.create(sources=[{"name": "ORIGIN"}], max_msgs=most)
        own = await work.consumer("own", filter_subject="own.>")
        await seen.poll(own)
        stored = 0
        for _ in range(8):
            await work.publish(20)
            for _ in range(40):
                await client.request("origin.x", b"x", timeout=20)
            stored += 60
            await until(
                work.state, lambda state, goal=stored: state["last_seq"] == goal, "not sourced"
            )
            await work.note_gone()
            await work.response("own", await work.fetch_all("own", 5))
            await seen.poll(own)
        assert (own.lost > 0) is full
        for lost, upper, purged in _counted(seen, own):
            assert (lost or 0) >= own.lost - most / 3
            assert (upper or 0) <= own.lost + own.deliveries + most / 3
            assert purged == 0


async def test_a_full_stream_that_rejects_is_purged_and_filled_again(
    nats_server: NatsServer,
) -> None:
    async with connected(nats_server) as client, watches(nats_server, monitor=True) as seen:
        work = Workload(client, "ORDERS")
        await work.create(max_msgs=100, discard="new")
        slow = await work.consumer("slow")
        picky = await work.consumer("picky", filter_subject="orders.a")
        await work.publish(100)
        await seen.poll(slow, picky)
        await work.purge()
        await work.publish(100)
        await seen.poll(slow, picky)
        assert (slow.lost, slow.purged, picky.purged) == (0, 100, 100)
        assert _counted(seen, slow) == [(0, 0, 100)] * 3
        # As many wait as before: that they are others, nothing shows behind a filter.
        assert [one[:2] for one in _counted(seen, picky)] == [(0, 0)] * 3


async def test_a_limit_lowered_under_a_lagging_consumer(nats_server: NatsServer) -> None:
    async with connected(nats_server) as client, watches(nats_server, SLOW, monitor=True) as seen:
        work = Workload(client, "ORDERS")
        await work.create(max_msgs=1000)
        slow = await work.consumer("slow")
        picky = await work.consumer("picky", filter_subject="orders.b")
        await work.publish(100, "a")
        await work.publish(100, "b")
        await seen.poll(slow, picky)
        await work.fetch_all("slow", 10)
        await seen.poll(slow, picky)
        await _update(work, max_msgs=50)
        await seen.poll(slow, picky)
        assert (slow.lost, picky.lost) == (140, 50)
        assert _counted(seen, slow) == [(140, 140, 0)] * 3
        # Where they were when the exporter started is not known.
        assert _counted(seen, picky) == [(50, 100, 0)] * 3


async def test_a_consumer_recreated_with_a_filter(nats_server: NatsServer) -> None:
    async with connected(nats_server) as client, watches(nats_server, SLOW, monitor=True) as seen:
        work = Workload(client, "ORDERS")
        await work.create(max_msgs=100)
        await work.consumer("worker")
        await work.publish(90)
        await seen.poll()
        await asyncio.sleep(1.1)  # a time of creation may move by a second and mean nothing
        await api(client, "CONSUMER.DELETE.ORDERS.worker")
        again = await work.consumer("worker", filter_subject="orders.b")
        await work.publish(3, "b")
        await seen.poll(again)
        for _ in range(3):
            await work.publish(40)
            await work.publish(1, "b")
            await work.drain("worker")
            await seen.poll(again)
        assert again.lost == 0
        # Three waited at its first poll, it is not known where.
        assert _counted(seen, again) == [(0, 3, 0)] * 3
        for watch in seen.all.values():
            config = watch.row(again).config
            assert config is not None
            assert config.filters == ("orders.b",)


async def test_a_stream_younger_than_the_last_configuration(nats_server: NatsServer) -> None:
    async with connected(nats_server) as client, watches(nats_server, SLOW, monitor=True) as seen:
        await create_stream(client, "OLDER")
        await seen.poll()
        work = Workload(client, "ORDERS")
        await work.create(max_msgs=20)
        slow = await work.consumer("slow")
        picky = await work.consumer("picky", filter_subject="orders.a")
        await work.publish(20)
        await seen.poll(slow, picky)
        await work.publish(30)
        await seen.poll(slow, picky)
        assert (slow.lost, picky.lost) == (30, 30)
        assert _counted(seen, slow) == [(30, 30, 0)] * 3
        assert _counted(seen, picky) == [(0, 30, 0)] * 3  # until what came next is gone as well
        await work.publish(20)
        await seen.poll(slow, picky)
        assert picky.lost == 50
        assert _counted(seen, picky) == [(20, 50, 0)] * 3
        # No more requests than needed: nothing is unknown any more.
        await seen.poll(slow, picky)
        for name in ("system", "monitor"):
            outcomes = {one.request for one in seen.all[name].snapshot.outcomes}
            assert "jsz_account" not in outcomes


async def test_a_purge_by_subject_that_moves_others(nats_server: NatsServer) -> None:
    """Before 2.10 a consumer without a filter is moved to the end: what it skips is still stored."""
    async with connected(nats_server) as client, watches(nats_server, monitor=True) as seen:
        work = Workload(client, "ORDERS")
        await work.create(max_msgs=1000)
        plain = await work.consumer("plain")
        await work.publish(10, "a")
        await work.publish(25, "b")
        await seen.poll(plain)
        await work.fetch_all("plain", 10)
        await seen.poll(plain)
        await work.purge(filter="orders.a")
        await seen.poll(plain)
        rows = [watch.row(plain) for watch in seen.all.values()]
        moved = nats_server.version.startswith("2.9.")
        assert {row.num_pending for row in rows} == {0 if moved else 25}
        assert plain.purged == 0
        assert _counted(seen, plain) == [(0, 0, 0)] * 3


async def test_a_limit_lowered_and_raised_between_two_polls(nats_server: NatsServer) -> None:
    """No poll shows the lower limit; that nothing moved the consumers excludes a purge."""
    async with connected(nats_server) as client, watches(nats_server, monitor=True) as seen:
        work = Workload(client, "ORDERS")
        await work.create(max_msgs=100)
        ledgers = [await work.consumer("all"), await work.consumer("a", filter_subject="orders.a")]
        for subject in "abab":
            await work.publish(10, subject)
        await seen.poll(*ledgers)
        await _update(work, max_msgs=15)
        await _update(work, max_msgs=100)
        await seen.poll(*ledgers)
        assert [ledger.lost for ledger in ledgers] == [25, 15]
        for ledger in ledgers:
            assert [(lost, purged) for lost, _, purged in _counted(seen, ledger)] == [(0, 0)] * 3
            assert all("losing_messages" not in dict(one.conditions) for one in seen.result(ledger))


@pytest.mark.parametrize("at_once", [True, False])
async def test_deleting_the_oldest_messages_is_no_loss(
    nats_server: NatsServer, at_once: bool
) -> None:
    """Two polls show the same as of a limit that was lowered and raised: so neither is a loss."""
    async with connected(nats_server) as client, watches(nats_server, monitor=True) as seen:
        work = Workload(client, "ORDERS")
        await work.create(max_msgs=100)
        every = await work.consumer("all")
        for subject in "abab":
            await work.publish(10, subject)
        await seen.poll(every)
        if at_once:
            await work.purge(filter="orders.a")
        else:
            for sequence in range(1, 11):
                await work.delete(sequence)
        await seen.poll(every)
        for one in seen.result(every):
            assert one.lost == 0
            assert "losing_messages" not in dict(one.conditions)


async def test_a_purge_up_to_a_sequence_that_no_message_has(nats_server: NatsServer) -> None:
    """It moves the last sequence of the stream too, past sequences that no message ever had."""
    async with connected(nats_server) as client, watches(nats_server, monitor=True) as seen:
        work = Workload(client, "ORDERS")
        await work.create()
        ledgers = [await work.consumer("done"), await work.consumer("waits")]
        ledgers.append(await work.consumer("picky", filter_subject="orders.a"))
        await seen.poll(*ledgers)
        for limit, sent in ((10, 0), (30, 4), (50, 0), (60, 2)):
            await work.publish(sent)
            await work.drain("done")
            await seen.poll(*ledgers)
            await work.purge(seq=limit)
            await seen.poll(*ledgers)
        assert [ledger.purged for ledger in ledgers] == [0, 6, 6]
        for ledger in ledgers:
            assert _counted(seen, ledger) == [(0, 0, ledger.purged)] * 3
        for watch in seen.all.values():
            assert watch.signals.streams["APP", "ORDERS"].purged == 6
