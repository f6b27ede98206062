"""Sick on purpose, each in its own way: the verdict names what is wrong."""

from datetime import UTC, datetime, timedelta

from support.known_workload import PAUSES_SINCE, version_of
from support.looking import watches
from support.reading import api
from support.servers import NatsServer, connected
from support.truth import MILLISECOND, SECOND, Workload

from exporter.signals.verdict import Verdict

ROUNDS = 12
INTERVAL_SECONDS = 30.0


async def test_each_way_to_be_sick_has_its_name(nats_server: NatsServer) -> None:
    async with connected(nats_server) as client, watches(nats_server) as seen:
        work, small = Workload(client, "ORDERS"), Workload(client, "SMALL")
        await work.create()
        await small.create(max_msgs=5)
        can_pause = version_of(nats_server) >= PAUSES_SINCE
        until = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
        pause = {"pause_until": until} if can_pause else {}
        sick = {
            Verdict.ACK_PENDING_FULL: await work.consumer(
                "full", max_ack_pending=4, ack_wait=60 * SECOND
            ),
            Verdict.REDELIVERY_LOOP: await work.consumer(
                "loops", max_ack_pending=4, ack_wait=50 * MILLISECOND, filter_subject="orders.few"
            ),
            Verdict.ACK_FLOOR_STUCK: await work.consumer("stuck", ack_wait=20 * SECOND),
            Verdict.NOBODY_PULLS: await work.consumer("deserted"),
            Verdict.FALLING_BEHIND: await work.consumer("behind"),
            Verdict.IDLE: await work.consumer("idle", filter_subject="orders.none"),
            Verdict.OK: await work.consumer("well"),
            Verdict.LOSING_MESSAGES: await small.consumer("loser"),
        }
        if can_pause:
            sick[Verdict.PAUSED] = await work.consumer("paused", **pause)
        await api(
            client,
            "CONSUMER.CREATE.ORDERS.unbound",
            {
                "stream_name": "ORDERS",
                "config": {"durable_name": "unbound", "deliver_subject": "nobody.listens"},
            },
        )
        await work.publish(3, "few")
        await work.publish(3)
        await work.fetch("full", 4)
        await work.fetch("stuck", 1)
        await work.fetch("loops", 3)
        for _ in range(ROUNDS):
            await work.publish(6)
            await small.publish(2)
            await work.fetch("behind", 2)
            await work.answer("behind", sick[Verdict.FALLING_BEHIND].held)
            await work.fetch("loops", 3, wait=True)
            await work.drain("well")
            for _ in range(6):  # around the one that nobody acks
                (message,) = await work.fetch("stuck", 1)
                await work.answer("stuck", [message.metadata.sequence.stream])
            seen.pass_time(INTERVAL_SECONDS)
            await seen.look()
        for watch in seen.all.values():
            found = {ledger.consumer: watch.of(ledger).verdict for ledger in sick.values()}
            assert found == {ledger.consumer: verdict for verdict, ledger in sick.items()}
            unbound = watch.signals.consumers["APP", "ORDERS", "unbound"]
            assert unbound.verdict is Verdict.NOBODY_PULLS
