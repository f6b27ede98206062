"""Faulty on purpose, each in its own way: the verdict names what is wrong."""

from support.nats.servers import NatsServer, connected
from support.signals.faulty_workload import (
    INTERVAL_SECONDS,
    ROUNDS,
    SMALL_LIMITS,
    assert_each_has_its_name,
    fall_ill,
    live,
)
from support.signals.ledger import Workload
from support.signals.observations import watches


async def test_each_fault_has_its_name(nats_server: NatsServer) -> None:
    async with connected(nats_server) as client, watches(nats_server) as seen:
        work, small = Workload(client, "ORDERS"), Workload(client, "SMALL")
        await work.create()
        await small.create(**SMALL_LIMITS)
        faulty = await fall_ill(nats_server, work, small)
        for _ in range(ROUNDS):
            await live(work, small)
            seen.pass_time(INTERVAL_SECONDS)
            await seen.poll()
        for watch in seen.all.values():
            assert_each_has_its_name(watch, faulty)
