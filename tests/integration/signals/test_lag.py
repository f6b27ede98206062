"""Lag in seconds against the timestamps that the server itself wrote into the messages."""

from datetime import datetime
from itertools import pairwise

from support.nats.servers import NatsServer, connected
from support.signals.ledger import ACK, MILLISECOND, NAK, Ledger, Workload
from support.signals.observations import ACCOUNT, Supervisor, Watches, watches

from exporter.signals.events_input import EventsInput, LagMeasurement

SLACK = 0.001  # of a time that is known and not guessed: timestamps as floats


def _server_now(watch: Supervisor) -> float:
    """The moment of the last poll by the server's clock, as far as that is known."""
    clock = watch.snapshot.servers[0].clock
    return watch.snapshot.taken + (clock.offset_seconds if clock else 0.0)


def _stored_then(watch: Supervisor, ledger: Ledger) -> float:
    """When, by the lag that was reported, the first unfinished message was stored."""
    lag = watch.of(ledger).lag
    assert lag is not None
    return _server_now(watch) - lag


async def _stored(work: Workload, sequence: int) -> float:
    response = await work.message(sequence)
    return datetime.fromisoformat(response["time"]).timestamp()


async def _read(work: Workload, seen: Watches, ledger: Ledger) -> EventsInput:
    """Reads the message that the signals name, as an exact lag reader would."""
    start = next(iter(seen.result(ledger))).unfinished_seq
    assert start is not None
    wanted = ledger.filters[0] if ledger.filters else ">"
    found = await work.message(start, next_by_subj=wanted)
    stored = datetime.fromisoformat(found["time"]).timestamp()
    key = (ACCOUNT, ledger.stream, ledger.consumer)
    return EventsInput(lags={key: LagMeasurement(start, found["seq"], stored)})


async def test_the_lag_is_the_age_of_the_first_unfinished_message(nats_server: NatsServer) -> None:
    async with connected(nats_server) as client, watches(nats_server) as seen:
        work = Workload(client, "ORDERS")
        await work.create()
        worker = await work.consumer("worker")
        polled = []
        for _ in range(4):
            await work.publish(3)
            await seen.poll(worker)
            polled.append([_server_now(watch) for watch in seen.all.values()])
        times = {sequence: await _stored(work, sequence) for sequence in range(1, 13)}
        # Delivered and unacked counts as unfinished, out-of-order acks do not help.
        await work.fetch("worker", 7)
        await work.response("worker", [2, 3, 5], ACK)
        await seen.poll(worker)
        for watch in seen.all.values():
            assert watch.of(worker).unfinished_seq == 1
            assert abs(_stored_then(watch, worker) - times[1]) < SLACK
        await work.response("worker", [1, 4], ACK)
        await seen.poll(worker)
        for watch in seen.all.values():
            result = watch.of(worker)
            assert (result.unfinished_seq, result.lag_exact) == (6, 0)
            # Six was the last of a poll: its time is known, not guessed.
            assert abs(_stored_then(watch, worker) - times[6]) < SLACK
        await work.response("worker", worker.held, ACK)
        await seen.poll(worker)
        for before, watch in zip(polled[1], seen.all.values(), strict=True):
            assert watch.of(worker).unfinished_seq == 8
            # Seven to nine came between the second poll and the third.
            assert before - SLACK <= _stored_then(watch, worker) <= times[9] + SLACK
        await work.drain("worker")
        await seen.poll(worker)
        for result in seen.result(worker):
            assert (result.lag, result.lag_exact, result.unfinished_seq) == (0.0, 1, None)


async def test_after_a_restart_of_ours_two_points_are_known_at_once(
    nats_server: NatsServer,
) -> None:
    async with connected(nats_server) as client:
        work = Workload(client, "ORDERS")
        await work.create()
        first, last = await work.consumer("first"), await work.consumer("last")
        middle = await work.consumer("middle")
        await work.publish(10)
        await work.fetch("last", 9)
        await work.response("last", last.held, ACK)
        await work.fetch("middle", 4)
        await work.response("middle", middle.held, ACK)
        times = [await _stored(work, sequence) for sequence in (1, 10)]
        async with watches(nats_server) as seen:
            await seen.poll(first, last, middle)
            for watch in seen.all.values():
                assert abs(_stored_then(watch, first) - times[0]) < SLACK
                assert abs(_stored_then(watch, last) - times[1]) < SLACK
                assert times[0] - SLACK <= _stored_then(watch, middle) <= times[1] + SLACK
            # Nothing changes, and the lag grows with the time that passes.
            before = [result.lag or 0.0 for result in seen.result(first)]
            seen.pass_time(100)
            await seen.poll(first, last, middle)
            after = [result.lag or 0.0 for result in seen.result(first)]
            for sooner, later in zip(before, after, strict=True):
                assert 100 <= later - sooner < 100 + 60


async def test_what_expired_is_not_waited_for(nats_server: NatsServer) -> None:
    async with connected(nats_server) as client, watches(nats_server) as seen:
        work = Workload(client, "ORDERS")
        await work.create(max_msgs=5, max_age=3600 * 1000 * MILLISECOND)
        slow = await work.consumer("slow")
        await work.publish(5)
        await seen.poll(slow)
        await work.publish(7)
        await seen.poll(slow)
        stored = await _stored(work, 8)
        for watch in seen.all.values():
            result = watch.of(slow)
            assert result.unfinished_seq == 8
            assert abs(_stored_then(watch, slow) - stored) < SLACK
            assert result.headroom_ratio == 0.0  # the next message to go is the next one to read
            assert result.headroom_seconds is not None
            assert result.lag is not None
            assert abs(result.headroom_seconds + result.lag - 3600) < 0.001


async def test_a_filtered_consumer_does_not_lag_by_what_it_does_not_want(
    nats_server: NatsServer,
) -> None:
    async with connected(nats_server) as client, watches(nats_server) as seen:
        work = Workload(client, "ORDERS")
        await work.create()
        filtered = await work.consumer("picky", filter_subject="orders.b")
        await work.publish(1, "b")
        await work.drain("picky")
        polled = []
        for _ in range(4):
            await seen.poll(filtered)
            polled.append([_server_now(watch) for watch in seen.all.values()])
            for result in seen.result(filtered):
                assert (result.lag, result.unfinished_seq) == (0.0, None)
            await work.publish(3, "a")
        await work.publish(1, "b")
        stored = await _stored(work, 14)
        await seen.poll(filtered)
        for before, watch in zip(polled[-2], seen.all.values(), strict=True):
            # Not since its last message, long ago, but since it was last seen to be caught up.
            assert before - SLACK <= _stored_then(watch, filtered) <= stored + SLACK
            assert watch.of(filtered).lag_exact == 0
        await seen.poll(filtered, events=await _read(work, seen, filtered))
        for watch in seen.all.values():
            result = watch.of(filtered)
            assert (result.lag_exact, result.blocking_stream_seq) == (1, 14)
            assert abs(_stored_then(watch, filtered) - stored) < SLACK


async def test_a_filtered_consumer_at_the_start_of_the_exporter_lags_at_most_as_reported(
    nats_server: NatsServer,
) -> None:
    """Nothing shows which of the messages behind its position is the first that it wants."""
    async with connected(nats_server) as client:
        work = Workload(client, "ORDERS")
        await work.create()
        filtered = await work.consumer("picky", filter_subject="orders.b")
        await work.publish(1, "b")
        await work.drain("picky")
        await work.publish(3, "a")
        await work.publish(1, "b")
        delivered, wanted = await _stored(work, 1), await _stored(work, 5)
        async with watches(nats_server, monitor=True) as seen:
            await seen.poll(filtered)
            for watch in seen.all.values():
                assert delivered < _stored_then(watch, filtered) <= wanted + SLACK
                assert watch.of(filtered).lag_exact == 0
            await seen.poll(filtered, events=await _read(work, seen, filtered))
            for watch in seen.all.values():
                assert watch.of(filtered).lag_exact == 1
                assert abs(_stored_then(watch, filtered) - wanted) < SLACK


async def test_a_measurement_holds_until_the_message_is_finished(nats_server: NatsServer) -> None:
    async with connected(nats_server) as client, watches(nats_server) as seen:
        work = Workload(client, "ORDERS")
        await work.create()
        worker = await work.consumer("worker", max_deliver=2)
        await work.publish(9)
        await work.fetch("worker", 4)
        await seen.poll(worker)
        events = await _read(work, seen, worker)
        for _ in pairwise(range(3)):
            await seen.poll(worker, events=events)
            for result in seen.result(worker):
                assert (result.lag_exact, result.blocking_stream_seq) == (1, 1)
        await work.response("worker", [1], ACK)
        await seen.poll(worker, events=events)
        for result in seen.result(worker):
            assert (result.lag_exact, result.blocking_stream_seq, result.unfinished_seq) == (
                0,
                None,
                2,
            )


async def test_an_abandoned_message_does_not_count_as_lag(nats_server: NatsServer) -> None:
    async with connected(nats_server) as client, watches(nats_server) as seen:
        work = Workload(client, "ORDERS")
        await work.create()
        await work.publish(1)
        poisoned = await work.consumer("poisoned", max_deliver=2)
        await seen.poll(poisoned)
        for _ in range(2):
            await work.fetch("poisoned", 1)
            await work.response("poisoned", [1], NAK)
        await work.fetch("poisoned", 1)  # this pull makes the server give it up
        await seen.poll(poisoned)
        for result in seen.result(poisoned):
            assert result.lag == 0.0
        await work.publish(1)
        await work.fetch("poisoned", 1)
        stored = await _stored(work, 2)
        await seen.poll(poisoned)
        for watch in seen.all.values():
            assert watch.row(poisoned).num_ack_pending == 1
            assert abs(_stored_then(watch, poisoned) - stored) < SLACK
