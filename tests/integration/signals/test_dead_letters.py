"""Does anybody keep what ran out of deliveries? Exporters only count it, be they one or several."""

import asyncio
from contextlib import AsyncExitStack

import pytest
from support.exporter.source_polls import Place
from support.nats.servers import NatsServer, connected
from support.signals.exporters import WholeExporter, whole_exporter
from support.signals.ledger import NAK
from support.signals.replicated_workload import VERSIONS, ReplicatedWorkload, three_nodes
from support.waiting import until

from exporter.settings.config import SourceName

ADVISORY = "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES"


async def _until_all_report(
    exporters: list[WholeExporter], metric: str, truth: dict[str, float]
) -> None:
    async def result() -> list[dict[str, float]]:
        return list(await asyncio.gather(*(one.of_consumers(metric) for one in exporters)))

    await until(result, ([truth] * len(exporters)).__eq__, f"{metric}: not all report {truth}")


async def _give_up(work: ReplicatedWorkload, name: str) -> None:
    for _ in range(2):
        await work.fetch_all(name, 1)
        await work.response(name, [1], NAK)
    await work.fetch(name, 1)  # this pull makes the server give it up


async def _exporters_and_a_client(
    place: Place, exporters: list[tuple[Place, SourceName]], replicas: int
) -> None:
    async with AsyncExitStack() as stack:
        both = [await stack.enter_async_context(whole_exporter(*one)) for one in exporters]
        work = ReplicatedWorkload(await stack.enter_async_context(connected(place)), "ORDERS")
        await work.create(num_replicas=replicas)
        await work.publish(1)
        for name in ("poisoned", "other"):
            await work.consumer(name, max_deliver=2)
        await work.consumer("patient")
        no_one: dict[str, float] = {"poisoned": 0, "other": 0}
        await _until_all_report(both, "dead_letter_captured", no_one)
        # What they count does not suffer from it: each of them receives everything.
        await _give_up(work, "poisoned")
        await _until_all_report(both, "naks_total", {"poisoned": 2})
        await _until_all_report(both, "exhausted_total", {"poisoned": 1})
        async with connected(place) as keeper:
            await keeper.subscribe(f"{ADVISORY}.*.poisoned")
            await keeper.flush()
            await _until_all_report(both, "dead_letter_captured", {"poisoned": 1, "other": 0})
        await _until_all_report(both, "dead_letter_captured", no_one)


async def test_two_exporters_do_not_take_each_other_for_a_capture(nats_server: NatsServer) -> None:
    exporters: list[tuple[Place, SourceName]] = [(nats_server, "system"), (nats_server, "monitor")]
    await _exporters_and_a_client(nats_server, exporters, 1)


@pytest.mark.parametrize("version", VERSIONS)
async def test_nor_do_they_on_different_nodes_of_a_cluster(version: str) -> None:
    async with three_nodes(version) as cluster:
        first, second, _ = cluster.nodes
        exporters: list[tuple[Place, SourceName]] = [(first, "system"), (second, "system")]
        await _exporters_and_a_client(cluster, exporters, 3)
