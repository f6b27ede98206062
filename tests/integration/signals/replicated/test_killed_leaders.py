"""Three nodes whose leaders end by kill -9 while messages are counted: the bounds hold through it."""

from collections.abc import Awaitable, Callable
from typing import Final

import pytest
from support.nats.servers import APP, NEWEST, OLDEST, long_run
from support.signals.ledger import NAK, Ledger
from support.signals.mixed.bounds import Gauge, Moment, gauges
from support.signals.replicated_workload import ReplicatedWorkload, Stage, stage, three_nodes
from support.waiting import until

VERSIONS: Final = (OLDEST, "2.11.11", NEWEST) if long_run() else (NEWEST,)
POLLS_WITHOUT_IT: Final = 3


async def _work(work: ReplicatedWorkload) -> None:
    """Some are delivered, three of those twice; some are lost unread, with and without a filter."""
    await work.publish(9, "a")
    await work.publish(6, "b")
    for name, count in (("all", 8), ("a", 5)):
        got = await work.fetch_all(name, count)
        await work.response(name, got[:3], NAK)
        await work.fetch_all(name, 3)
        await work.response(name, list(work.ledgers[name].held))


async def _poll_until_within_bounds(exporters: list[Gauge], ledgers: list[Ledger]) -> None:
    """In a cluster what happened reaches the responses a little later; never too much of it."""

    async def faults() -> list[str]:
        found = []
        for one in exporters:
            await one.poller.poll_once()
            state = one.poller.state
            found += [f"{one.source}: not complete"] * (not state.complete)
            found += _faults(one, ledgers)
            delivered = {(row.stream, row.name): row.delivered_consumer_seq
                         for row in (state.snapshot.consumers if state.snapshot else ())}  # fmt: skip
            found += [f"{one.source}: {each.consumer} is not up to date" for each in ledgers
                      if delivered.get((each.stream, each.consumer)) != each.deliveries]  # fmt: skip
        return found

    await until(faults, lambda found: found == [], "the truth is not within the bounds")


def _faults(one: Gauge, ledgers: list[Ledger]) -> list[str]:
    now = [(each, Moment(each.truth)) for each in ledgers]
    return [
        f"{one.source}: {each.consumer} {fault}"
        for each, moment in now
        for fault in one.check(each, moment, moment)
    ]


def _assert_nothing_too_much(one: Gauge, ledgers: list[Ledger]) -> None:
    """Responses may be late or missing, and still nothing is counted that did not happen."""
    for each in ledgers:
        if (result := one.result(each)) is not None:
            counted = (result.lost or 0, result.purged or 0, result.redeliveries)
            assert all(a <= b for a, b in zip(counted, each.truth, strict=False)), (
                one.source,
                each.consumer,
                counted,
                each.truth,
            )


@pytest.mark.timeout(400)
@pytest.mark.parametrize("version", VERSIONS)
async def test_the_bounds_hold_while_leaders_are_killed(version: str) -> None:
    async with (
        three_nodes(version) as cluster,
        stage(cluster) as at,
        gauges(cluster) as exporters,
    ):
        work = await at.stream("ORDERS", max_msgs=30)
        await work.consumer("all")
        await work.consumer("a", filter_subject="orders.a")
        await work.consumer("b", filter_subject="orders.b")
        await _poll_until_within_bounds(exporters, at.ledgers)
        victims: list[Callable[[], Awaitable[str]]] = [
            lambda: cluster.stream_leader(APP, "ORDERS"),
            lambda: cluster.consumer_leader(APP, "ORDERS", "a"),
            lambda: cluster.consumer_leader(APP, "ORDERS", "all"),
        ]
        for victim in victims:
            await _work(work)
            await _poll_until_within_bounds(exporters, at.ledgers)
            await _kill(at, await victim(), exporters)
            await _poll_until_within_bounds(exporters, at.ledgers)
        for one in exporters:
            print(f"{version} {one.width()}")
        # Else this proved nothing.
        assert all(each.lost > 0 for each in at.ledgers), at.ledgers
        assert sum(each.redeliveries for each in at.ledgers) > 10


async def _kill(at: Stage, node: str, exporters: list[Gauge]) -> None:
    """The work goes on without it, and so do the polls."""
    await at.leave(node)
    await at.cluster.kill(node)
    for _ in range(POLLS_WITHOUT_IT):
        await _work(at.works[0])
        for one in exporters:
            await one.poller.poll_once()
            _assert_nothing_too_much(one, at.ledgers)
    await at.cluster.restart(node)
    await at.cluster.settle()
