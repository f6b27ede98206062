"""Messages that were gone before a consumer was ever sent them: by limits, by purges, by hand."""

from support.nats.servers import NatsServer, connected
from support.signals.ledger import MILLISECOND, NAK, Workload
from support.signals.observations import watches


async def test_what_the_limit_took_first_is_counted_exactly(nats_server: NatsServer) -> None:
    async with connected(nats_server) as client, watches(nats_server) as seen:
        work = Workload(client, "ORDERS")
        await work.create(max_msgs=10)
        await work.publish(4)
        slow, never = await work.consumer("slow"), await work.consumer("never")
        await seen.poll(slow, never)
        await work.fetch("slow", 4)
        await seen.poll(slow, never)
        await work.publish(16)
        await seen.poll(slow, never)
        assert (slow.lost, never.lost) == (6, 10)
        assert [result.lost_waiting for result in seen.result(slow)] == [6, 6]
        await work.drain("slow")
        await seen.poll(slow, never)
        await work.publish(5)
        await seen.poll(slow, never)
        assert (slow.lost, never.lost) == (6, 15)
        for ledger, waiting in ((slow, 0), (never, 15)):
            for result in seen.result(ledger):
                assert (result.lost, result.purged, result.lost_waiting) == (
                    ledger.lost,
                    0,
                    waiting,
                )
                assert result.redeliveries == 0


async def test_a_loss_and_a_redelivery_in_one_interval_are_reported_as_bounds(
    nats_server: NatsServer,
) -> None:
    async with connected(nats_server) as client, watches(nats_server) as seen:
        work = Workload(client, "ORDERS")
        await work.create(max_msgs=10)
        slow = await work.consumer("slow")
        await work.publish(10)
        await seen.poll(slow)
        await work.fetch("slow", 2)
        await work.publish(9)  # up to 9 is gone, and the consumer is at 2
        await work.fetch("slow", 3)  # 10, 11, 12
        await work.response("slow", [10, 11, 12], NAK)
        await work.fetch("slow", 3)
        await seen.poll(slow)
        assert (slow.redeliveries, slow.lost) == (3, 7)
        for result in seen.result(slow):
            assert (result.redelivery_exact, result.lost_exact) == (0, 0)
            # Neither is certain, but their difference is.
            assert result.redeliveries - (result.lost or 0) == 3 - 7
        # The doubt lasts as long as the window in which it arose.
        seen.pass_time(301)
        await seen.poll()
        for result in seen.result(slow):
            assert (result.redelivery_exact, result.lost_exact) == (1, 1)


async def test_what_grew_too_old_is_counted_exactly(nats_server: NatsServer) -> None:
    async with connected(nats_server) as client, watches(nats_server) as seen:
        work = Workload(client, "ORDERS")
        await work.create(max_age=3000 * MILLISECOND, duplicate_window=100 * MILLISECOND)
        slow = await work.consumer("slow")
        filtered = await work.consumer("picky", filter_subject="orders.b")
        await seen.poll(slow, filtered)
        await work.publish(3, "a")
        await work.publish(4, "b")
        await work.fetch("slow", 2)
        # Not compared: on a busy machine they may expire before this poll, and the ledger learns
        # of it only below.
        await seen.poll()
        await work.until_expired()
        await seen.poll(slow, filtered)
        assert (slow.lost, filtered.lost) == (5, 4)
        await work.publish(2, "b")
        await work.drain("slow")
        await seen.poll(slow, filtered)
        for result in seen.result(slow):
            assert (result.lost, result.purged, result.lost_exact) == (5, 0, 1)
        for result in seen.result(filtered):
            # It was stopped, so that even the bound is the truth.
            assert (result.lost, result.purged, result.lost_exact) == (4, 0, 0)


async def test_a_purge_is_no_loss(nats_server: NatsServer) -> None:
    async with connected(nats_server) as client, watches(nats_server) as seen:
        work = Workload(client, "ORDERS")
        await work.create(max_msgs=1000, max_age=3600 * 1000 * MILLISECOND)
        await work.publish(20)
        worker, never = await work.consumer("worker"), await work.consumer("never")
        await seen.poll(worker, never)
        await work.fetch("worker", 5)
        await work.response("worker", [2], NAK)
        await work.fetch("worker", 1)
        await seen.poll(worker, never)
        await work.purge(seq=11)
        await seen.poll(worker, never)
        assert (worker.purged, never.purged) == (5, 10)
        # A purge and deliveries between two polls.
        await work.publish(5)
        await work.purge(seq=16)
        await work.fetch("worker", 3)
        await seen.poll(worker, never)
        await work.purge()
        await seen.poll(worker, never)
        assert worker.purged + never.purged == 17 + 25
        for ledger in (worker, never):
            for result in seen.result(ledger):
                assert (result.lost, result.purged) == (0, ledger.purged)
                assert result.redeliveries == ledger.redeliveries
        for watch in seen.all.values():
            assert watch.signals.streams["APP", "ORDERS"].purged == 25


async def test_a_message_deleted_by_hand_is_no_loss(nats_server: NatsServer) -> None:
    async with connected(nats_server) as client, watches(nats_server) as seen:
        work = Workload(client, "ORDERS")
        await work.create(max_msgs=1000)
        await work.publish(20)
        worker = await work.consumer("worker")
        filtered = await work.consumer("picky", filter_subject="orders.a")
        await seen.poll(worker, filtered)
        for sequence in (4, 7, 12):
            await work.delete(sequence)
        await seen.poll(worker, filtered)
        await work.fetch("worker", 8)
        await work.response("worker", [2, 3], NAK)
        await work.fetch("worker", 2)
        await seen.poll(worker, filtered)
        assert (worker.purged, worker.redeliveries) == (3, 2)
        # With the last gap behind it the count is exact again.
        await work.drain("worker")
        await seen.poll(worker, filtered)
        await work.publish(3)
        await work.drain("worker")
        await seen.poll(worker, filtered)
        for ledger in (worker, filtered):
            for result in seen.result(ledger):
                assert result.lost == 0


async def test_losses_behind_a_filter_are_reported_as_bounds(nats_server: NatsServer) -> None:
    async with connected(nats_server) as client, watches(nats_server) as seen:
        work = Workload(client, "ORDERS")
        await work.create(max_msgs=12)
        filtered = await work.consumer("picky", filter_subject="orders.b")
        await work.publish(6, "b")
        await work.publish(6, "a")
        await seen.poll(filtered)
        await work.publish(4, "a")
        await seen.poll(filtered)
        assert filtered.lost == 4
        for result in seen.result(filtered):
            # A purge since the stream was polled would look the same.
            assert (result.lost, result.lost_upper, result.lost_exact) == (0, 4, 0)
            assert result.lost_waiting is None
        await seen.poll(filtered)
        for result in seen.result(filtered):
            # No more than four were removed, and they do not wait any more.
            assert (result.lost, result.lost_upper) == (4, 4)
        # What comes in at the same time hides what goes.
        await work.publish(2, "b")
        await seen.poll(filtered)
        await work.drain("picky")
        await seen.poll(filtered)
        assert filtered.lost == 6
        for result in seen.result(filtered):
            assert (result.lost, result.lost_upper, result.lost_exact) == (4, 6, 0)
