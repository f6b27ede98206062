"""Sick on purpose, on three nodes: the verdict names what is wrong, whoever leads by now."""

from datetime import UTC, datetime, timedelta
from typing import Final

import pytest
from support.known_workload import PAUSES_SINCE, version_of
from support.looking import ACCOUNT
from support.reading import create_consumer
from support.truth import MILLISECOND, SECOND, Ledger
from support.truth_replicated import VERSIONS, ReplicatedWorkload, Stage, stage, three_nodes

from exporter.signals.verdict import Verdict

ROUNDS: Final = 12
MOVES: Final = (4, 9)  # before these rounds all leaders move
INTERVAL_SECONDS: Final = 30.0


async def fall_ill(at: Stage) -> dict[Verdict, Ledger]:
    """One consumer for each verdict that a consumer with a leader can have."""
    work, small = await at.stream("ORDERS"), await at.stream("SMALL", max_msgs=5)
    few = {"max_ack_pending": 4, "filter_subject": "orders.few"}
    sick = {
        Verdict.ACK_PENDING_FULL: await work.consumer(
            "full", max_ack_pending=4, ack_wait=60 * SECOND
        ),
        Verdict.REDELIVERY_LOOP: await work.consumer("loops", ack_wait=50 * MILLISECOND, **few),
        Verdict.ACK_FLOOR_STUCK: await work.consumer("stuck", ack_wait=20 * SECOND),
        Verdict.NOBODY_PULLS: await work.consumer("deserted"),
        Verdict.FALLING_BEHIND: await work.consumer("behind"),
        Verdict.IDLE: await work.consumer("idle", filter_subject="orders.none"),
        Verdict.OK: await work.consumer("well"),
        Verdict.LOSING_MESSAGES: await small.consumer("loser"),
    }
    if version_of(at.cluster) >= PAUSES_SINCE:
        hour = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
        sick[Verdict.PAUSED] = await work.consumer("paused", pause_until=hour)
    await create_consumer(at.client, "ORDERS", "unbound", deliver_subject="nobody.listens")
    await work.publish(3, "few")
    await work.publish(3)
    await work.fetch_all("full", 4)
    await work.fetch_all("stuck", 1)
    await work.fetch_all("loops", 3)
    return sick


async def live(work: ReplicatedWorkload, small: ReplicatedWorkload) -> None:
    """What happens between two looks."""
    await work.publish(6)
    await small.publish(2)
    await work.fetch_all("behind", 2)
    await work.answer("behind", work.ledgers["behind"].held)
    await work.fetch_all("loops", 3)
    await work.drain("well")
    for _ in range(6):  # around the one that nobody acks
        await work.answer("stuck", await work.fetch_all("stuck", 1))


@pytest.mark.timeout(300)
@pytest.mark.parametrize("version", VERSIONS)
async def test_each_way_to_be_sick_keeps_its_name_while_leaders_move(version: str) -> None:
    async with three_nodes(version) as cluster, stage(cluster) as at:
        sick = await fall_ill(at)
        for number in range(ROUNDS):
            if number in MOVES:
                await at.move_leaders()
            await live(*at.works)
            at.seen.pass_time(INTERVAL_SECONDS)
            await at.seen.look()
        for watch in at.seen.all.values():
            found = {ledger.consumer: watch.of(ledger).verdict for ledger in sick.values()}
            assert found == {ledger.consumer: verdict for verdict, ledger in sick.items()}
            unbound = watch.signals.consumers[ACCOUNT, "ORDERS", "unbound"]
            assert unbound.verdict is Verdict.NOBODY_PULLS
            changes = [told.leader_changes for told in watch.signals.consumers.values()]
            assert sum(changes) >= len(sick)  # else this proved nothing
