"""Three copies, and leaders that step down in the middle: ack floor and lag keep to the truth.

One cluster serves all tests of this file; each has streams of its own.
"""

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Final

import pytest
import pytest_asyncio
from support.nats.servers import APP, NatsCluster
from support.signals.exact_requests import DIGITS_SECONDS, ExactPoller, exact_poller
from support.signals.known_workload import version_of
from support.signals.ledger import ACK, NAK, Ledger
from support.signals.observations import ACCOUNT, Supervisor
from support.signals.replicated_workload import (
    VERSIONS,
    ReplicatedWorkload,
    Stage,
    stage,
    three_nodes,
)
from support.waiting import until

from exporter.signals import ack_floor
from exporter.signals.verdict import Verdict

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(300)]
SLACK: Final = 0.001  # of a time that is known and not guessed: timestamps as floats


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=VERSIONS)
async def cluster(request: pytest.FixtureRequest) -> AsyncIterator[NatsCluster]:
    async with three_nodes(request.param) as made:
        yield made


def skip_where_floors_go_back(cluster: NatsCluster) -> None:
    """Seen of 2.9.10: filtered, 4 became 2; of others the acks that overtook the floor were lost."""
    if version_of(cluster) < (2, 10):
        pytest.skip("a new leader of 2.9 may say a lower floor than the one before it, for good")


# --- ack floor ------------------------------------------------------------------------------------


def gaps(watch: Supervisor, *ledgers: Ledger) -> list[tuple[int, int]]:
    rows = [watch.row(ledger) for ledger in ledgers]
    return [(ack_floor.gap(row), ack_floor.gap_deliveries(row)) for row in rows]


async def refuse_until_given_up(work: ReplicatedWorkload, name: str, sequence: int) -> None:
    """The server gives a message up when it is due again and a client pulls."""
    before = (await work.info(name))["num_ack_pending"]

    async def left() -> int:
        for message in await work.fetch(name, 1):
            got = message.metadata.sequence.stream
            await work.response(name, [got], NAK if got == sequence else ACK)
        return int((await work.info(name))["num_ack_pending"])

    await work.response(name, [sequence], NAK)
    await until(left, lambda pending: pending == before - 1, f"{sequence} is not given up")


async def test_the_gap_behind_the_floor_is_true(cluster: NatsCluster) -> None:
    skip_where_floors_go_back(cluster)
    async with stage(cluster) as at:
        work = await at.stream("GAPS")
        for subject in "abcabcabcabc":
            await work.publish(1, subject)
        worker = await work.consumer("worker")
        filtered = await work.consumer("picky", filter_subject="gaps.b")
        both = (worker, filtered)
        await work.fetch_all("worker", 6)
        await work.fetch_all("picky", 3)  # 2, 5, 8
        await work.response("worker", [1, 2, 4], ACK)
        await work.response("picky", [2], ACK)
        await at.until_reported(lambda watch: gaps(watch, *both), [(4, 4), (4, 2)])
        await at.move_leaders()
        await at.until_reported(lambda watch: gaps(watch, *both), [(4, 4), (4, 2)])
        await work.response("worker", [3], ACK)
        await work.response("picky", [5], NAK)
        await work.fetch_all("picky", 1)
        await at.until_reported(lambda watch: gaps(watch, *both), [(2, 2), (4, 3)])
        await at.move_leaders()
        for ledger in both:
            await work.response(ledger.consumer, ledger.held, ACK)
        await at.until_reported(lambda watch: gaps(watch, *both), [(0, 0), (0, 0)])
        await at.poll_until_true()


async def test_a_floor_that_is_unchanged_is_timed_over_leaders(cluster: NatsCluster) -> None:
    async with stage(cluster) as at:
        work = await at.stream("STILL")
        await work.publish(8)
        worker = await work.consumer("worker")
        await work.fetch_all("worker", 6)
        await at.poll_until_true()
        before = [watch.snapshot.taken for watch in at.seen.all.values()]
        await work.response("worker", [1, 2], ACK)
        await at.until_reported(lambda watch: watch.row(worker).ack_floor_stream_seq, 2)
        after = [watch.snapshot.taken for watch in at.seen.all.values()]
        for _ in range(2):
            at.seen.pass_time(500)
            await at.move_leaders()
            await work.response(
                "worker", [max(worker.held)], ACK
            )  # others go on, the floor does not
            await at.poll_until_true()
        # It moved between the last poll that saw it where it was and the first that did not.
        for watch, sooner, later in zip(at.seen.all.values(), before, after, strict=True):
            result, now = watch.of(worker).floor_stalled, watch.snapshot.taken
            assert result is not None
            assert 1000 < now - later <= result <= now - sooner, (result, now - later, now - sooner)


async def test_an_exhausted_message_is_distinguished_from_work_at_hand(
    cluster: NatsCluster,
) -> None:
    async with stage(cluster) as at:
        work = await at.stream("POISON")
        await work.publish(12)
        poisoned = await work.consumer("poisoned", max_deliver=2)
        at_work = await work.consumer("at_work", max_deliver=2)
        endless = await work.consumer("endless")
        all_of_them = (poisoned, at_work, endless)
        for ledger in all_of_them:
            await work.fetch_all(ledger.consumer, 4)
            await work.response(ledger.consumer, [2, 3], ACK)
        await at.poll_until_true()
        await refuse_until_given_up(work, "poisoned", 1)
        await at.move_leaders()
        await at.poll_until_true()
        assert _exhausted(at, *all_of_them) == {(0, 0, None)}  # for all that is known yet
        # Two tries of ten minutes each are over, and all of them went on: that proves nothing.
        at.seen.pass_time(1300)
        for ledger in all_of_them:
            await work.fetch_all(ledger.consumer, 1)
            await work.response(ledger.consumer, [max(ledger.held)], ACK)
        await at.move_leaders()
        await at.poll_until_true()
        assert _exhausted(at, *all_of_them) == {(0, 0, None)}
        # Two redelivered messages and one unacked: the other one was given up.
        await work.fetch_all("poisoned", 1)
        await refuse_until_given_up(work, "poisoned", 4)
        await at.move_leaders()
        await at.poll_until_true()
        if version_of(cluster) < (2, 10):
            # Its new leader lists acked messages as unacked: without an advisory nothing is proved.
            assert _exhausted(at, *all_of_them) == {(0, 0, None)}
            return
        assert _exhausted(at, *all_of_them) == {(1, 0, None)}
        for result in at.seen.result(poisoned):
            assert result.unfinished_seq is not None
            assert result.unfinished_seq > 1  # its lag is not that of the abandoned message


def _exhausted(at: Stage, *ledgers: Ledger) -> set[tuple[int | None, ...]]:
    return {
        tuple(watch.of(ledger).floor_exhausted for ledger in ledgers)
        for watch in at.seen.all.values()
    }


# --- lag ------------------------------------------------------------------------------------------


def off_by(watch: Supervisor, ledger: Ledger, stored: float) -> float:
    """How far the lag is from that message's age, beyond what the clocks are known to differ."""
    result = watch.of(ledger)
    assert result.lag is not None
    leader = next(row.leader for row in watch.snapshot.streams if row.name == ledger.stream)
    clock = next(s.clock for s in watch.snapshot.servers if s.name == leader)
    assert clock is not None
    true_age = watch.snapshot.taken + clock.offset_seconds - stored
    return max(0.0, abs(result.lag - true_age) - 2 * _uncertainty(watch))


def _uncertainty(watch: Supervisor) -> float:
    """Of the clocks: the message may have been stamped by another leader than today's."""
    return max(s.clock.uncertainty_seconds for s in watch.snapshot.servers if s.clock)


async def stored_at(work: ReplicatedWorkload, sequence: int) -> float:
    return datetime.fromisoformat((await work.message(sequence))["time"]).timestamp()


async def test_the_lag_is_the_age_of_the_first_unfinished_message(cluster: NatsCluster) -> None:
    skip_where_floors_go_back(cluster)
    async with stage(cluster) as at:
        work = await at.stream("LATE")
        worker = await work.consumer("worker")
        for turn in range(4):
            await work.publish(3)
            await at.poll_until_true()
            if turn % 2:
                await at.move_leaders()
        times = {sequence: await stored_at(work, sequence) for sequence in range(1, 13)}
        await work.fetch_all("worker", 7)
        await work.response("worker", [2, 3, 5], ACK)
        await at.until_reported(lambda watch: watch.of(worker).unfinished_seq, 1)
        assert _most_off(at, worker, times[1]) < SLACK
        await at.move_leaders()
        await work.response("worker", [1, 4], ACK)
        await at.until_reported(lambda watch: watch.of(worker).unfinished_seq, 6)
        # Six was the last of a poll: its time is known, not guessed.
        assert _most_off(at, worker, times[6]) < SLACK
        at.seen.pass_time(100)
        await at.move_leaders()
        await at.until_reported(lambda watch: watch.of(worker).unfinished_seq, 6)
        assert _most_off(at, worker, times[6]) < SLACK
        await work.response("worker", worker.held, ACK)
        await work.drain("worker")
        await at.until_reported(
            lambda watch: (watch.of(worker).lag, watch.of(worker).lag_exact), (0.0, 1)
        )


def _most_off(at: Stage, ledger: Ledger, stored: float) -> float:
    return max(off_by(watch, ledger, stored) for watch in at.seen.all.values())


@pytest.mark.parametrize("direct", [True, pytest.param(False, marks=pytest.mark.long)])
async def test_a_lag_read_from_the_message_is_exact_under_any_leader(
    cluster: NatsCluster, direct: bool
) -> None:
    async with stage(cluster) as at, exact_poller(cluster) as own:
        work = await at.stream("READ", allow_direct=direct)
        filtered = await work.consumer("picky", filter_subject="read.b")
        for subject in "aabaab":
            await work.publish(1, subject)
        stored = {sequence: await stored_at(work, sequence) for sequence in (3, 6)}
        await _until_read(own, filtered, 3)
        _assert_exact(own, filtered, stored[3])
        await at.move_leaders()
        await _until_read(own, filtered, 3)
        _assert_exact(own, filtered, stored[3])
        await work.fetch_all("picky", 1)
        await work.response("picky", [3], ACK)
        await at.move_leaders()
        await _until_read(own, filtered, 6)
        _assert_exact(own, filtered, stored[6])


async def _until_read(own: ExactPoller, ledger: Ledger, sequence: int) -> None:
    async def result() -> tuple[int | None, int | None]:
        await own.poll()
        return own.of(ledger).lag_exact, own.of(ledger).blocking_stream_seq

    await until(result, (1, sequence).__eq__, f"{sequence} is not read")


def _assert_exact(own: ExactPoller, ledger: Ledger, stored: float) -> None:
    lag = own.of(ledger).lag
    assert lag is not None
    unsure = max(s.clock.uncertainty_seconds for s in own.snapshot.servers if s.clock)
    assert abs(lag - (own.snapshot.taken - stored)) <= 2 * unsure + DIGITS_SECONDS


# --- verdict --------------------------------------------------------------------------------------


async def test_a_consumer_without_a_leader_is_reported_without_one(cluster: NatsCluster) -> None:
    """One copy on one node: while that is away no server leads; when it is back all is as it was."""
    async with stage(cluster) as at:
        work = await at.stream("ALONE", num_replicas=1)
        await work.publish(3)
        alone = await work.consumer("alone", num_replicas=1)
        await at.poll_until_true()
        await at.seen.poll(alone)
        home = await cluster.stream_leader(APP, "ALONE")
        await at.leave(home)
        await cluster.stop(home)
        watching = list(at.seen.all.values())

        async def verdicts() -> list[int | None]:
            for watch in watching:
                await watch._poll(None)
            result = [w.signals.consumers.get((ACCOUNT, "ALONE", "alone")) for w in watching]
            return [None if one is None else one.verdict for one in result]

        no_one = [Verdict.NO_LEADER] * len(watching)
        await until(verdicts, no_one.__eq__, "a server still leads")
        await cluster.restart(home)
        await cluster.settle()
        await at.poll_until_true()
        await at.seen.poll(alone)
        for result in at.seen.result(alone):
            assert result.verdict is not Verdict.NO_LEADER
            assert (result.redeliveries, result.lost, result.recreated) == (0, 0, 0)
