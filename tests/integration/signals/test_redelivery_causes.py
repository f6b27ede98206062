"""Why messages come again: late acks, refusals, silence, a few in a loop; each made on purpose."""

from typing import Any, Final

import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg
from support.nats.servers import NatsServer, connected
from support.signals.exporters import whole_exporter
from support.signals.ledger import ACK, MILLISECOND, NAK, Workload
from support.waiting import until

from exporter.settings.config import SourceName
from exporter.signals.redelivery_cause import Cause

# No capacity for new messages beside three unacked ones: a second pull brings redeliveries.
IMPATIENT: Final[dict[str, Any]] = {"ack_wait": 500 * MILLISECOND, "max_ack_pending": 3}
CAUSES: Final = {
    "late": Cause.LATE_ACKS,
    "refused": Cause.NAK,
    "silent": Cause.NO_ACK,
    "looping": Cause.LOOP,
}


async def _ack_late(client: Client, work: Workload) -> None:
    """Every delivery gets a response, but the first ones only after the second ones came."""
    messages: list[Msg] = []
    for _ in range(2):
        messages += await work.fetch("late", 3, wait=True)
    for message in messages:
        await client.publish(message.reply, ACK)
    await client.flush()


async def _refuse(work: Workload) -> None:
    await work.fetch("refused", 3)
    await work.response("refused", [1, 2, 3], NAK)
    await work.fetch("refused", 3, wait=True)


async def _never_ack(work: Workload) -> None:
    for _ in range(2):
        await work.fetch("silent", 3, wait=True)


async def _loop(work: Workload) -> None:
    """The first message is never acked and comes again and again; all others are done."""
    await work.fetch("looping", 9, wait=True)
    await work.response("looping", range(2, 10), ACK)
    for _ in range(4):
        await work.fetch("looping", 1, wait=True)


@pytest.mark.parametrize("source", ["system", pytest.param("monitor", marks=pytest.mark.long)])
async def test_each_cause_of_redeliveries_is_reported_by_its_name(
    nats_server: NatsServer, source: SourceName
) -> None:
    async with connected(nats_server) as client, whole_exporter(nats_server, source) as exporter:
        work = Workload(client, "ORDERS")
        await work.create()
        await work.consumer("late", **IMPATIENT)
        await work.consumer("silent", **IMPATIENT)
        await work.consumer("looping", ack_wait=IMPATIENT["ack_wait"])
        for name in ("refused", "healthy"):
            await work.consumer(name)
        await work.publish(9)
        assert await exporter.of_consumers("redelivery_cause") == {}

        await _ack_late(client, work)
        await _refuse(work)
        await _never_ack(work)
        await _loop(work)
        await work.drain("healthy")
        again = {name: ledger.redeliveries for name, ledger in work.ledgers.items()}
        assert again == {"late": 3, "refused": 3, "silent": 3, "looping": 4, "healthy": 0}

        async def result() -> dict[str, float]:
            return await exporter.of_consumers("redelivery_cause")

        await until(result, CAUSES.__eq__, f"{source}: does not report {CAUSES}")
