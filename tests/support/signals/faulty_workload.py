"""Consumers that are faulty on purpose, one for each verdict that a consumer with a leader has."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

from nats.aio.client import Client
from support.exporter.source_polls import create_consumer
from support.nats.servers import NatsCluster, NatsServer
from support.signals.known_workload import PAUSES_SINCE, version_of
from support.signals.ledger import MILLISECOND, SECOND, Ledger, Workload
from support.signals.observations import ACCOUNT, Supervisor, Watches

from exporter.signals.verdict import Verdict

ROUNDS: Final = 12
INTERVAL_SECONDS: Final = 30.0
# What the streams of `fall_ill` need: on the small one messages are lost unread.
SMALL_LIMITS: Final = {"max_msgs": 5}

Faulty = Mapping[Verdict, Ledger]


async def fall_ill(place: NatsServer | NatsCluster, work: Workload, small: Workload) -> Faulty:
    """On two streams that are there: ORDERS, and a small one."""
    few = {"max_ack_pending": 4, "filter_subject": "orders.few"}
    faulty = {
        Verdict.ACK_PENDING_FULL: await work.consumer(
            "full", max_ack_pending=4, ack_wait=60 * SECOND
        ),
        Verdict.REDELIVERY_LOOP: await work.consumer("loops", ack_wait=50 * MILLISECOND, **few),
        Verdict.ACK_FLOOR_STUCK: await work.consumer("stuck", ack_wait=30 * SECOND),
        Verdict.NO_WORKER_PULLS: await work.consumer("deserted"),
        Verdict.FALLING_BEHIND: await work.consumer("behind"),
        Verdict.IDLE: await work.consumer("idle", filter_subject="orders.none"),
        Verdict.OK: await work.consumer("well"),
        Verdict.LOSING_MESSAGES: await small.consumer("loser"),
    }
    if version_of(place) >= PAUSES_SINCE:
        hour = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
        faulty[Verdict.PAUSED] = await work.consumer("paused", pause_until=hour)
    await create_consumer(work.client, "ORDERS", "unbound", deliver_subject="nobody.listens")
    await work.publish(3, "few")
    await work.publish(3)
    await work.fetch_all("full", 4)
    await work.fetch_all("stuck", 1)
    await work.fetch_all("loops", 3)
    return faulty


async def fall_ill_and_live(place: NatsServer, client: Client, seen: Watches) -> Faulty:
    """On streams of their own, polled for longer than the window."""
    work, small = Workload(client, "ORDERS"), Workload(client, "SMALL")
    await work.create()
    await small.create(**SMALL_LIMITS)
    faulty = await fall_ill(place, work, small)
    for _ in range(ROUNDS):
        await live(work, small)
        seen.pass_time(INTERVAL_SECONDS)
        await seen.poll()
    return faulty


async def live(work: Workload, small: Workload) -> None:
    """What happens between two polls."""
    await work.publish(6)
    await small.publish(2)
    await work.fetch_all("behind", 2)
    await work.response("behind", work.ledgers["behind"].held)
    await work.fetch_all("loops", 3)
    await work.drain("well")
    never_acked = min(work.ledgers["stuck"].held)
    for _ in range(6):  # around that one; on a busy machine it comes again
        got = await work.fetch_all("stuck", 1)
        await work.response("stuck", (each for each in got if each != never_acked))


def assert_each_has_its_name(watch: Supervisor, faulty: Faulty) -> None:
    wrong = {
        ledger.consumer: watch.of(ledger)
        for verdict, ledger in faulty.items()
        if watch.of(ledger).verdict is not verdict
    }
    assert not wrong, wrong
    unbound = watch.signals.consumers[ACCOUNT, "ORDERS", "unbound"]
    assert unbound.verdict is Verdict.NO_WORKER_PULLS, unbound
