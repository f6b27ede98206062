"""One long job among many short ones: deliveries hide its in-progress acks, ack counts do not."""

import asyncio
from contextlib import suppress

import pytest
from support.nats.servers import NatsServer, connected
from support.signals.exporters import whole_exporter
from support.signals.ledger import IN_PROGRESS, MILLISECOND, Workload
from support.waiting import until

from exporter.settings.config import SourceName
from exporter.signals.verdict import Verdict


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("system", Verdict.LONG_JOBS),
        ("monitor", Verdict.LONG_JOBS),
        ("account", Verdict.ACK_FLOOR_STUCK),
    ],
)
async def test_a_long_job_among_short_ones_is_seen_where_acks_are_counted(
    nats_server: NatsServer, source: SourceName, expected: Verdict
) -> None:
    async with connected(nats_server) as client, whole_exporter(nats_server, source) as exporter:
        work = Workload(client, "ORDERS")
        await work.create()
        await work.consumer("mixed", ack_wait=500 * MILLISECOND)
        await work.publish(1)
        (job,) = await work.fetch_all("mixed", 1)

        async def extend() -> None:
            while True:
                await client.publish(work.ledgers["mixed"].held[job].reply, IN_PROGRESS)
                await asyncio.sleep(0.1)

        async def verdict() -> float | None:
            """Between two polls always a delivery."""
            await work.publish(1)
            await work.response("mixed", await work.fetch_all("mixed", 1))
            return (await exporter.of_consumers("verdict")).get("mixed")

        extending = asyncio.create_task(extend())
        try:
            seen = [await verdict()]

            async def settled() -> float | None:
                seen.append(await verdict())
                return seen[-1]

            await until(settled, lambda found: found == expected, f"{source}: not {expected!r}")
        finally:
            extending.cancel()
            with suppress(asyncio.CancelledError):
                await extending
        assert work.ledgers["mixed"].redeliveries == 0
        # Never the wrong one in between.
        assert {each for each in seen if each is not None} <= {Verdict.OK, expected}
