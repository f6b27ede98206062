"""A stream restored from a snapshot: that is seen, and what it did before is not counted again."""

import pytest
from support.exporter.source_polls import api
from support.nats.servers import NatsServer, connected
from support.nats.stream_snapshot import restore_stream, save_stream
from support.signals.ledger import NAK, Truth, Workload
from support.signals.mixed.bounds import Gauge, gauges, upper

CONSUMERS = {"busy": {}, "idle": {}, "never": {}, "filtered": {"filter_subject": "orders.b"}}


def _counted(one: Gauge, name: str) -> Truth:
    result = one.poller.state.signals.consumers["APP", "ORDERS", name]
    return Truth(result.lost or 0, result.purged or 0, result.redeliveries)


def _upper(one: Gauge, name: str) -> int | None:
    return upper(one.poller.state.signals.consumers["APP", "ORDERS", name])


async def _poll(exporters: list[Gauge]) -> None:
    for one in exporters:
        await one.poller.poll_once()
        assert one.poller.state.complete, one.poller.state.requests


@pytest.mark.parametrize("gone", ["unseen", "seen"])
async def test_a_restored_stream_counts_nothing_by_itself(
    nats_server: NatsServer, gone: str
) -> None:
    async with connected(nats_server) as client, gauges(nats_server) as exporters:
        work = Workload(client, "ORDERS")
        await work.create(max_msgs=40)
        await work.publish(12, "a")
        await work.publish(8, "b")
        for name, config in CONSUMERS.items():
            await work.consumer(name, **config)
        await _poll(exporters)
        await _deliver(work, "busy", 12, again=3)
        await work.drain("idle")
        await _poll(exporters)
        saved = await save_stream(client, "ORDERS")
        await work.publish(8, "a")
        await _deliver(work, "busy", 6, again=2)
        await _poll(exporters)
        before = {name: Truth(redeliveries=5 * (name == "busy")) for name in CONSUMERS}
        for one in exporters:
            assert {name: _counted(one, name) for name in CONSUMERS} == before, one.source

        await api(client, "STREAM.DELETE.ORDERS")
        if gone == "seen":  # then the counts may start again
            await _poll(exporters)
            before = dict.fromkeys(CONSUMERS, Truth())
        await restore_stream(client, saved)
        await _poll(exporters)
        for one in exporters:
            assert {name: _counted(one, name) for name in CONSUMERS} == before, one.source
            assert {_upper(one, name) for name in CONSUMERS} == {0}, one.source
            stream = one.poller.state.signals.streams["APP", "ORDERS"]
            assert stream.recreated + stream.regressions == 1, (one.source, stream)
            assert stream.purged == 0

        # The sequences 21 to 28 are used again: to all they are new.
        work.stored = {seq: subject for seq, subject in work.stored.items() if seq <= 20}
        for ledger in work.ledgers.values():
            ledger.sent = type(ledger.sent)({s: n for s, n in ledger.sent.items() if s <= 12})
        await work.publish(25, "b")
        await work.drain("idle")
        await _poll(exporters)
        assert work.ledgers["never"].lost == 5
        for one in exporters:
            assert _counted(one, "idle") == before["idle"], one.source
            lost = _counted(one, "never").lost
            assert lost <= 5 <= (_upper(one, "never") or 0), (one.source, lost)
            assert _counted(one, "filtered").lost == 0


async def _deliver(work: Workload, name: str, count: int, again: int) -> None:
    got = await work.fetch_all(name, count)
    await work.response(name, got[:again], NAK)
    await work.fetch_all(name, again)
    await work.response(name, list(work.ledgers[name].held))
