"""Each condition by itself, with its own start, on real servers and through all sources."""

import time
from itertools import pairwise
from typing import Any, Final

from support.nats.servers import NatsServer, connected
from support.signals.ledger import ACK, IN_PROGRESS, MILLISECOND, NAK, SECOND, Ledger, Workload
from support.signals.observations import Supervisor, Watches, watches

from exporter.signals.conditions.words import Condition, Reason
from exporter.signals.verdict import Verdict

POLL: Final = 15.0


def _found(seen: Watches, ledger: Ledger) -> list[list[str]]:
    """The conditions by source."""
    return [list(dict(result.conditions)) for result in seen.result(ledger)]


async def _poll(seen: Watches, *ledgers: Ledger) -> None:
    seen.pass_time(POLL)
    await seen.poll(*ledgers)


async def test_an_eighteen_minute_job_with_in_progress_acks_is_work(
    nats_server: NatsServer,
) -> None:
    async with connected(nats_server) as client, watches(nats_server, monitor=True) as seen:
        work = Workload(client, "ORDERS")
        await work.create()
        await work.publish(9)
        jobs = await work.consumer("jobs", max_ack_pending=3, ack_wait=20 * SECOND)
        one = await work.consumer("one", max_deliver=4, ack_wait=20 * SECOND)
        await work.fetch_all("jobs", 3)
        await work.fetch_all("one", 1)
        for number in range(72):
            await work.response("jobs", [1, 2, 3], IN_PROGRESS)
            await work.response("one", [1], IN_PROGRESS)
            await _poll(seen, jobs, one)
            # Nothing is full or stuck at any time, and there are workers.
            assert _found(seen, jobs) == ([["long_jobs"]] * 3 if number >= 2 else [[]] * 3), number
            assert all(found in ([], ["long_jobs"]) for found in _found(seen, one))
        assert _found(seen, one) == [["long_jobs"]] * 3
        assert {each.verdict for each in seen.result(jobs)} == {Verdict.LONG_JOBS}
        starts = [dict(each.conditions)["long_jobs"] for each in seen.result(jobs)]

        # The workers crash: what they extended is full, stuck and without a worker.
        for _ in range(10):
            await _poll(seen, jobs, one)
        assert (
            _found(seen, jobs)
            == [
                ["ack_pending_full", "ack_floor_stuck", "no_worker_pulls"],
            ]
            * 3
        )
        assert _found(seen, one) == [["ack_floor_stuck", "no_worker_pulls"]] * 3
        for result, start in zip(seen.result(jobs), starts, strict=True):
            assert dict(result.conditions)["ack_floor_stuck"] == start
            assert result.unjudged == ()
        assert jobs.redeliveries == one.redeliveries == 0


async def test_a_message_refused_with_a_delay_is_no_work_in_progress(
    nats_server: NatsServer,
) -> None:
    async with connected(nats_server) as client, watches(nats_server, monitor=True) as seen:
        work = Workload(client, "ORDERS")
        await work.create()
        await work.publish(4)
        delayed = await work.consumer("delayed", max_deliver=4, ack_wait=10 * SECOND)
        await work.fetch_all("delayed", 4)
        await work.response("delayed", [2, 3, 4], ACK)
        await _poll(seen, delayed)
        await work.response("delayed", [1], b'-NAK {"delay": %d}' % (3600 * SECOND))
        for _ in range(12):
            await _poll(seen, delayed)
        assert _found(seen, delayed) == [["ack_floor_stuck"]] * 3
        for result in seen.result(delayed):
            assert (result.floor_exhausted, result.unfinished_seq) == (0, 1)
            assert result.lag is not None
            assert result.lag > 12 * POLL


async def test_a_bursty_growth_is_falling_behind(nats_server: NatsServer) -> None:
    """From 105 to 426 pending in six minutes: up at one poll, down at the next."""
    pending = [105, 131, 122, 148, 139, 171, 160, 190, 178, 211, 199, 233, 222, 254, 246, 279,
               268, 301, 291, 327, 316, 352, 340, 381, 426]  # fmt: skip
    async with connected(nats_server) as client, watches(nats_server, monitor=True) as seen:
        work = Workload(client, "ORDERS")
        await work.create()
        behind = await work.consumer("behind")
        await work.publish(pending[0])
        await _poll(seen, behind)
        for before, after in pairwise(pending):
            done = 20 + max(0, before - after)
            await work.publish(after - before + done)
            await work.response("behind", await work.fetch_all("behind", done))
            await _poll(seen, behind)
            for watch in seen.all.values():
                assert watch.row(behind).num_pending == after
        assert _found(seen, behind) == [["falling_behind"]] * 3
        # It ends when the workers catch up.
        await work.drain("behind")
        await _poll(seen, behind)
        assert _found(seen, behind) == [[]] * 3


async def test_a_small_backlog_is_falling_behind_where_the_stream_removes_it_soon(
    nats_server: NatsServer,
) -> None:
    """Two alike: worth less than ten seconds of work, but one stream keeps 200 messages."""
    async with connected(nats_server) as client, watches(nats_server, monitor=True) as seen:
        works = [Workload(client, "NARROW"), Workload(client, "WIDE")]
        for work, most in zip(works, (200, 200_000), strict=True):
            await work.create(max_msgs=most)
        narrow, wide = [await work.consumer("worker") for work in works]

        async def pass_messages(stored: int, done: int) -> None:
            for work in works:
                await work.publish(stored)
                await work.response("worker", await work.fetch_all("worker", done))
            await _poll(seen, narrow, wide)

        for _ in range(22):
            await pass_messages(90, 88)
        assert _found(seen, narrow) == [["falling_behind"]] * 3
        assert _found(seen, wide) == [[]] * 3
        assert {result.lost_upper for result in seen.result(narrow)} == {narrow.lost} == {0}
        # And so it comes.
        while not narrow.lost:
            assert _found(seen, narrow) == [["falling_behind"]] * 3
            await pass_messages(110, 60)
        assert _found(seen, narrow) == [["losing_messages", "falling_behind"]] * 3


async def test_a_total_nak_loop_is_a_redelivery_loop_from_its_second_minute_on(
    nats_server: NatsServer,
) -> None:
    async with connected(nats_server) as client, watches(nats_server, monitor=True) as seen:
        work = Workload(client, "ORDERS")
        await work.create()
        refused = await work.consumer("refused", max_ack_pending=5)
        for _ in range(20):  # five minutes of work
            await work.publish(5)
            await work.response("refused", await work.fetch_all("refused", 5))
            await _poll(seen, refused)
        began = [watch.snapshot.taken for watch in seen.all.values()]
        await work.publish(50)
        for number in range(16):  # then nothing works any more
            for _ in range(2):
                await work.response("refused", await work.fetch_all("refused", 5), NAK)
            await _poll(seen, refused)
            if number >= 7:
                assert {each.verdict for each in seen.result(refused)} == {Verdict.REDELIVERY_LOOP}
        for watch, start in zip(seen.all.values(), began, strict=True):
            since = dict(watch.of(refused).conditions)["redelivery_loop"]
            assert abs(since - start) <= 3 * POLL


async def test_workers_that_crash_with_a_message_in_flight_show_both_conditions(
    nats_server: NatsServer,
) -> None:
    async with connected(nats_server) as client, watches(nats_server, monitor=True) as seen:
        work = Workload(client, "ORDERS")
        await work.create()
        crashed = await work.consumer("crashed", ack_wait=500 * MILLISECOND)
        await work.publish(9)
        await work.response("crashed", [(await work.fetch_all("crashed", 2))[0]])
        truth = time.time()
        for _ in range(8):
            await _poll(seen, crashed)
        assert _found(seen, crashed) == [["ack_floor_stuck", "no_worker_pulls"]] * 3
        # An exporter that starts now knows it by the server's own times.
        for watch in seen.all.values():
            later = Supervisor(watch.source, ahead=watch.ahead)
            for _ in range(2):
                await later.poll()
            result = later.of(crashed)
            assert list(dict(result.conditions)) == ["ack_floor_stuck", "no_worker_pulls"]
            for _, since in result.conditions:
                assert abs(since - truth) < 2.0


async def test_no_leader_hides_nothing_and_what_cannot_be_judged_is_named(
    nats_server: NatsServer,
) -> None:
    async with connected(nats_server) as client, watches(nats_server) as seen:
        work = Workload(client, "ORDERS")
        await work.create()
        deserted = await work.consumer("deserted")
        await work.publish(2)
        await seen.poll(deserted)
        for result in seen.result(deserted):
            missing: Any = dict.fromkeys(Condition, Reason.ONE_POLL)
            del missing[Condition.NO_LEADER]
            assert (result.conditions, dict(result.unjudged)) == ((), missing)
        await _poll(seen, deserted)
        assert _found(seen, deserted) == [["no_worker_pulls"]] * 2
