"""An ack floor that is unchanged: held by a message that was given up, or by one at work?"""

import json

import pytest
from support.nats.servers import NatsServer, connected
from support.signals.ledger import ACK, MILLISECOND, NAK, SECOND, Ledger, Workload
from support.signals.observations import ACCOUNT, Watches, watches
from support.waiting import until

from exporter.signals.events_input import EventsInput
from exporter.signals.verdict import Verdict


def _exhausted(seen: Watches, ledger: Ledger) -> list[int | None]:
    return [result.floor_exhausted for result in seen.result(ledger)]


async def _refuse_until_given_up(work: Workload, name: str, sequence: int) -> None:
    """The server gives a message up when it is due again and a client pulls."""
    before = (await work.info(name))["num_ack_pending"]

    async def left() -> int:
        for message in await work.fetch(name, 1):
            got = message.metadata.sequence.stream
            await work.response(name, [got], NAK if got == sequence else ACK)
        return int((await work.info(name))["num_ack_pending"])

    await work.response(name, [sequence], NAK)
    await until(left, lambda pending: pending == before - 1, f"{sequence} is not given up")


async def test_an_exhausted_message_is_distinguished_from_work_in_progress(
    nats_server: NatsServer,
) -> None:
    async with connected(nats_server) as client, watches(nats_server) as seen:
        work = Workload(client, "ORDERS")
        await work.create()
        await work.publish(12)
        poisoned = await work.consumer("poisoned", max_deliver=2)
        at_work = await work.consumer("at_work", max_deliver=2)
        retried = await work.consumer("retried", max_deliver=5)
        endless = await work.consumer("endless")
        ledgers = (poisoned, at_work, retried, endless)
        for ledger in ledgers:
            await work.fetch(ledger.consumer, 4)
            await work.response(ledger.consumer, [2, 3], ACK)
        await seen.poll(*ledgers)
        await work.response("retried", [1], NAK)
        await work.fetch("retried", 1)
        await _refuse_until_given_up(work, "poisoned", 1)
        await seen.poll(*ledgers)
        for ledger in (poisoned, at_work, retried):
            assert _exhausted(seen, ledger) == [0, 0]  # for all that is known yet
        assert _exhausted(seen, endless) == [None, None]

        # Two tries of ten minutes each are over; all of them went on. That proves nothing: a
        # message that waits out the delay of a nak looks the same.
        seen.pass_time(1300)
        for ledger in ledgers:
            await work.fetch(ledger.consumer, 1)
            await work.response(ledger.consumer, [max(ledger.held)], ACK)
        await seen.poll(*ledgers)
        assert _exhausted(seen, poisoned) == [0, 0]

        # Two redelivered messages and one unacked: the other one was given up.
        await work.fetch("poisoned", 1)
        await _refuse_until_given_up(work, "poisoned", 4)
        await seen.poll(*ledgers)
        assert _exhausted(seen, poisoned) == [1, 1]
        assert _exhausted(seen, at_work) == [0, 0]
        assert _exhausted(seen, retried) == [0, 0]
        for result in seen.result(poisoned):
            assert result.floor_stalled is not None
            assert result.floor_stalled > 1300
            assert result.unfinished_seq is not None
            assert result.unfinished_seq > 1  # its lag is not that of the abandoned message

        # An hour and more: what is held by live work is stuck, what is held by a dead message not.
        seen.pass_time(6000)
        await seen.poll(*ledgers)
        for result in seen.result(at_work):
            assert result.verdict is Verdict.ACK_FLOOR_STUCK
        for result in seen.result(poisoned):
            assert result.verdict is not Verdict.ACK_FLOOR_STUCK


async def test_the_last_exhausted_message_leaves_the_floor_behind(nats_server: NatsServer) -> None:
    async with connected(nats_server) as client, watches(nats_server) as seen:
        work = Workload(client, "ORDERS")
        await work.create()
        await work.publish(4)
        poisoned = await work.consumer("poisoned", max_deliver=2)
        await work.fetch("poisoned", 4)
        await work.response("poisoned", [1, 2, 3], ACK)
        await seen.poll(poisoned)
        await _refuse_until_given_up(work, "poisoned", 4)
        await seen.poll(poisoned)
        for watch in seen.all.values():
            row = watch.row(poisoned)
            assert (row.num_ack_pending, row.num_redelivered) == (0, 1)
            behind = row.ack_floor_consumer_seq < row.delivered_consumer_seq
            # Which server leaves it behind depends on its version and on its replicas.
            assert behind or nats_server.version.startswith("2.10.")
            assert watch.of(poisoned).floor_exhausted == int(behind)
            assert (watch.of(poisoned).lag, watch.of(poisoned).floor_stalled) == (0.0, 0.0)
        # When the message leaves the stream, nothing is held any more.
        await work.purge()
        await seen.poll()
        assert _exhausted(seen, poisoned) == [0, 0]


async def test_an_advisory_proves_that_a_message_with_a_single_delivery_is_exhausted(
    nats_server: NatsServer,
) -> None:
    async with connected(nats_server) as client, watches(nats_server) as seen:
        work = Workload(client, "ORDERS")
        await work.create()
        await work.publish(50)
        once = await work.consumer("once", max_deliver=1, ack_wait=800 * MILLISECOND)
        await seen.poll(once)
        await work.fetch("once", 2)
        await seen.poll(once)

        async def left() -> int:
            """One more is always in flight, so that no ack empties the list and moves the floor."""
            await work.fetch("once", 1)
            await work.response("once", sorted(once.held)[1:-1], ACK)
            return int((await work.info("once"))["num_ack_pending"])

        await until(left, lambda pending: pending == 1, "message 1 is not given up")
        seen.pass_time(1)
        await seen.poll(once)
        # The server reports no redelivered message here: its worker may keep it alive.
        assert _exhausted(seen, once) == [0, 0]
        key = (ACCOUNT, "ORDERS", "once")
        await seen.poll(once, events=EventsInput(exhausted={key: frozenset({1})}))
        assert once.redeliveries == 0
        for watch in seen.all.values():
            row, result = watch.row(once), watch.of(once)
            assert (row.ack_floor_stream_seq, result.floor_exhausted) == (0, 1), row
            assert (result.redeliveries, result.redelivery_exact) == (0, 1)


async def test_an_advisory_names_what_holds_the_floor_at_once(nats_server: NatsServer) -> None:
    async with connected(nats_server) as client, watches(nats_server) as seen:
        work = Workload(client, "ORDERS")
        await work.create()
        await work.publish(8)
        poisoned = await work.consumer("poisoned", max_deliver=2)
        await work.fetch("poisoned", 4)
        await work.response("poisoned", [1], ACK)
        await seen.poll(poisoned)
        given_up: set[int] = set()
        subject = "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.ORDERS.poisoned"
        advisories = await client.subscribe(subject)
        await client.flush()
        await _refuse_until_given_up(work, "poisoned", 2)
        advisory = await advisories.next_msg(timeout=10)
        given_up.add(json.loads(advisory.data)["stream_seq"])
        key = (ACCOUNT, "ORDERS", "poisoned")
        await seen.poll(poisoned, events=EventsInput(exhausted={key: frozenset(given_up)}))
        assert given_up == {2}
        assert _exhausted(seen, poisoned) == [1, 1]
        # Others are given up after it, and it is no longer among the latest.
        await seen.poll(poisoned, events=EventsInput(exhausted={key: frozenset({3})}))
        assert _exhausted(seen, poisoned) == [1, 1]


@pytest.mark.parametrize("advisories_received", [True, False])
async def test_a_message_that_waits_out_the_delay_of_a_nak_is_unfinished(
    nats_server: NatsServer, advisories_received: bool
) -> None:
    async with connected(nats_server) as client, watches(nats_server, monitor=True) as seen:
        work = Workload(client, "ORDERS")
        await work.create()
        await work.publish(8)
        delayed = await work.consumer("delayed", max_deliver=4, ack_wait=10 * SECOND)
        listening = EventsInput(listening=frozenset({ACCOUNT} if advisories_received else ()))
        advisories = await client.subscribe("$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.>")
        await work.fetch("delayed", 4)
        await seen.poll(delayed, events=listening)
        await work.response("delayed", [1], NAK)
        await work.fetch_all("delayed", 1)
        assert delayed.sent[1] == 2
        await work.response("delayed", [1], b'-NAK {"delay": %d}' % (3600 * SECOND))
        await work.response("delayed", [2, 3, 4], ACK)
        # Longer than four tries of ten seconds; others are finished meanwhile.
        for _ in range(4):
            seen.pass_time(30)
            await work.response("delayed", await work.fetch_all("delayed", 1), ACK)
            await seen.poll(delayed, events=listening)
        assert delayed.sent == {1: 2, **dict.fromkeys(range(2, 9), 1)}
        assert advisories.pending_msgs == 0
        for watch in seen.all.values():
            row, result = watch.row(delayed), watch.of(delayed)
            assert (row.num_ack_pending, row.num_redelivered, row.ack_floor_stream_seq) == (1, 1, 0)
            assert (result.floor_exhausted, result.unfinished_seq) == (0, 1), row
            assert result.lag is not None
            assert result.lag > 120
            assert result.floor_stalled is not None
            assert result.floor_stalled > 110
        # Ten times ack_wait are over: the floor is stuck, and no exhausted message excuses it.
        assert {result.verdict for result in seen.result(delayed)} == {Verdict.ACK_FLOOR_STUCK}
