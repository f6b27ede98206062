"""Checks on disturbed servers: frozen, starved, split, flooded and damaged."""

import json
from collections.abc import Callable
from pathlib import Path

import nats
import pytest
from support.audit.command import AuditRun, audit
from support.audit.live.assets import WORKER
from support.audit.live.cluster import lead_meta, meta_of, page_of
from support.audit.live.request_flood import flooded, make_wide_stream
from support.audit.live.slow_servers import frozen, starved
from support.audit.live.split_cluster import ISOLATED, split_cluster
from support.nats.servers import (
    APP,
    NEWEST,
    SYS,
    VERSIONS,
    NatsCluster,
    NatsServer,
    connected,
    default_options,
    long_run,
)
from support.recordings.scenario import Api, since
from support.signals.damaged_stores import (
    MAX_BYTES,
    PAYLOAD,
    blocks_of,
    stream_folder,
    while_stopped,
)
from support.waiting import until

STREAM = "ORDERS"
META_CHANGES = 520  # the check requires more than 500
ACKS = 1_050  # the check requires more than 1,000
BEHIND = ("meta-replica-behind", "consumer-replica-behind")
CONSUMERS = 150
LONG_TEXT = "x" * 120_000  # in the metadata of each consumer, so in the state of the meta group


def versions_since(first: str) -> tuple[str, ...]:
    """The newest version; in long runs all versions since `first`."""
    return tuple(each for each in VERSIONS if since(each, first)) if long_run() else (NEWEST,)


@pytest.mark.parametrize("version", versions_since("2.9.0"))
async def test_a_frozen_server_is_behind_and_then_catches_up(version: str) -> None:
    async with NatsCluster(3, version, default_options()) as cluster:
        async with connected(cluster) as client:
            api = Api(client)
            await api.stream(STREAM, subjects=["orders.>"], num_replicas=3)
            await api.consumer(STREAM, WORKER, max_ack_pending=-1)
            for _ in range(ACKS):
                await client.publish("orders.new")
            await api.jetstream.publish("orders.new")
        leader, idle = await _leads_nothing(cluster)
        with frozen(idle):
            async with connected(leader) as client:
                await _change(Api(client), META_CHANGES)
                await _work(Api(client), ACKS)
            reported = await audit(leader, SYS, "--watch", "1s", source="system")
        await cluster.settle()
        await _consumer_is_current(cluster)
        quiet = await audit(leader, SYS, "--watch", "1s", source="system")
    assert reported.about("meta-replica-behind") == {idle.name}
    assert _number(reported.evidence("meta-replica-behind", idle.name)) >= META_CHANGES
    evidence = reported.evidence("consumer-replica-behind", STREAM, WORKER)
    assert evidence.startswith(f"{idle.name} is 1,")
    assert not reported.about("meta-offline") | reported.about("consumer-replica-offline")
    assert not {code for code, _, _ in quiet.found} & set(BEHIND)
    assert reported.broken == quiet.broken == []


async def _leads_nothing(cluster: NatsCluster) -> tuple[NatsServer, NatsServer]:
    """The meta leader, and a node that leads neither the stream nor the consumer."""
    meta = await cluster.meta_leader()
    stream = await cluster.stream_leader(APP, STREAM)
    consumer = await cluster.consumer_leader(APP, STREAM, WORKER)
    while len({meta, stream, consumer}) == 3:
        consumer = await cluster.step_down_consumer(APP, STREAM, WORKER)
    idle = next(node for node in cluster.nodes if node.name not in {meta, stream, consumer})
    return cluster.node_of(meta), idle


async def _change(api: Api, times: int) -> None:
    """Each change of a stream is an entry of the meta group's log."""
    config = (await api.request(f"STREAM.INFO.{STREAM}"))["config"]
    for number in range(times):
        await api.request(f"STREAM.UPDATE.{STREAM}", {**config, "description": str(number)})


async def _work(api: Api, messages: int) -> None:
    """One by one: acks that arrive together are one entry of the consumer's log."""
    for message in await api.fetch(STREAM, WORKER, messages):
        await message.ack_sync(timeout=10)


async def _consumer_is_current(cluster: NatsCluster) -> None:
    async with connected(cluster) as client:

        async def copies() -> list[bool]:
            try:
                request = f"$JS.API.CONSUMER.INFO.{STREAM}.{WORKER}"
                response = json.loads((await client.request(request, timeout=1)).data)
            except nats.errors.TimeoutError:
                return []  # no response during a leader change: retry
            replicas = response.get("cluster", {}).get("replicas") or ()
            return [peer["current"] for peer in replicas]

        await until(copies, lambda found: found == [True, True], "a copy does not catch up")


# Older servers handle requests inline, so they never queue.
@pytest.mark.parametrize("version", versions_since("2.11.0"))
async def test_only_many_queued_requests_are_reported(version: str) -> None:
    async with NatsServer(version, default_options()) as server, connected(server) as client:
        await make_wide_stream(client)
        async with flooded(client, 900):
            await _requests_queue_up(server)
            busy = await audit(server, None, source="monitor")
            async with flooded(client, 600):
                reported = await until(
                    lambda: audit(server, None, source="monitor"),
                    lambda run: bool(run.about("api-inflight-high")),
                    "1,500 queued requests are not reported",
                )
        after = await audit(server, None, source="monitor")
    assert reported.about("api-inflight-high") == {"n1"}
    assert 1_000 < _number(reported.evidence("api-inflight-high", "n1")) <= 1_500
    assert not busy.about("api-inflight-high") | after.about("api-inflight-high")


async def _requests_queue_up(server: NatsServer) -> None:
    async def requests() -> int:
        page = await page_of(server, "jsz")
        return int(page["api"].get("inflight", 0))

    await until(requests, lambda count: count > 800, "the requests do not queue up")


# Older servers do not support a preferred leader.
@pytest.mark.parametrize("version", versions_since("2.11.0"))
async def test_two_meta_leaders_are_reported_while_the_cluster_is_split(version: str) -> None:
    async with split_cluster(version, default_options()) as cluster:
        await lead_meta(cluster, ISOLATED)
        before = await _audited_over_http(cluster)
        with cluster.split():
            reported = await until(
                lambda: _audited_over_http(cluster),
                lambda run: bool(run.about("meta-disagree")),
                f"no second leader beside {ISOLATED}",
            )
        await cluster.settle()
        after = await _audited_over_http(cluster)
    assert reported.evidence("meta-disagree", "") in {
        f"{other}, {ISOLATED} all claim to be meta leader" for other in ("n1", "n2")
    }
    assert not before.about("meta-disagree") | after.about("meta-disagree")


async def _audited_over_http(cluster: NatsCluster) -> AuditRun:
    return await audit(cluster, None, source="monitor")


@pytest.mark.long
async def test_only_a_slow_snapshot_of_the_meta_group_is_reported() -> None:
    async with NatsCluster(3, NEWEST, default_options()) as cluster:
        async with connected(cluster) as client:
            await Api(client).stream(STREAM, subjects=["orders.>"], storage="memory")
            for number in range(CONSUMERS):
                await Api(client).consumer(
                    STREAM, f"c{number}", mem_storage=True, metadata={"text": LONG_TEXT}
                )
        leader = await cluster.meta_leader()
        chosen = next(node for node in cluster.nodes if node.name != leader)
        async with starved(chosen):
            await _leads_with_new_snapshot(cluster, chosen)
        reported = await _audited_over_http(cluster)
        await lead_meta(cluster, leader)
        async with connected(cluster) as client:
            await _change(Api(client), 1)
        await _leads_with_new_snapshot(cluster, chosen)
        quiet = await _audited_over_http(cluster)
    assert reported.evidence("meta-snapshot-slow", "").startswith("the last snapshot took ")
    assert quiet.about("meta-snapshot-slow") == frozenset()


async def _leads_with_new_snapshot(cluster: NatsCluster, node: NatsServer) -> None:
    """A new leader takes a snapshot."""

    async def taken() -> str:
        group = await meta_of(node)
        return str(group.get("snapshot", {}).get("last_time", ""))

    before = await taken()
    await lead_meta(cluster, node.name)
    await until(taken, lambda now: now not in ("", before), f"{node.name} takes no snapshot")


# Version 2.10 also misses a deleted block; 2.9 reads all blocks at startup and recounts.
@pytest.mark.parametrize("version", versions_since("2.11.0"))
async def test_a_stream_with_a_damaged_block_has_more_subjects_than_messages(version: str) -> None:
    torn, missed = [await _audited_after(act, version) for act in (_tear, Path.unlink)]
    assert torn.evidence("subjects-inconsistent", STREAM) == "40 subjects, 32 messages"
    # The server detects a deleted block and recounts.
    assert missed.about("subjects-inconsistent") == frozenset()


async def _audited_after(damage: Callable[[Path], None], version: str) -> AuditRun:
    """One message per subject, in three blocks; the second block is damaged."""
    async with NatsServer(version, default_options()) as server:
        async with connected(server) as client:
            await Api(client).stream(STREAM, subjects=["orders.*"], max_bytes=MAX_BYTES)
            for number in range(40):
                await client.request(f"orders.{number:02}", b"x" * PAYLOAD, timeout=20)
        await while_stopped(
            server, lambda store: damage(blocks_of(stream_folder(store, STREAM))[1])
        )
        async with connected(server) as client:
            # Before 2.12 the server detects the damage only when it reads a message.
            await client.request(f"$JS.API.STREAM.MSG.GET.{STREAM}", b'{"seq": 20}', timeout=20)
        return await audit(server, APP)


def _tear(block: Path) -> None:
    """Truncates the block to its first half."""
    block.write_bytes(block.read_bytes()[: block.stat().st_size // 2])


def _number(evidence: str) -> int:
    return int(evidence.split(maxsplit=1)[0].replace(",", ""))
