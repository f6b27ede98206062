"""Checks of what only happens to servers in trouble: frozen, starved, split, flooded, damaged."""

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
from support.audit.live.split_cluster import APART, split_cluster
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
META_CHANGES = 520  # of which more than 500 are needed
ACKS = 1_050  # likewise, more than 1,000
BEHIND = ("meta-replica-behind", "consumer-replica-behind")
CONSUMERS = 150
LONG_TEXT = "x" * 120_000  # what each consumer brings into the state of the meta group


def versions_since(first: str) -> tuple[str, ...]:
    """The newest alone; in the long run all that do it in this way."""
    return tuple(each for each in VERSIONS if since(each, first)) if long_run() else (NEWEST,)


@pytest.mark.parametrize("version", versions_since("2.9.0"))
async def test_a_server_that_stands_still_is_behind_and_then_catches_up(version: str) -> None:
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
            told = await audit(leader, SYS, "--watch", "1s", source="system")
        await cluster.settle()
        await _consumer_is_current(cluster)
        quiet = await audit(leader, SYS, "--watch", "1s", source="system")
    assert told.about("meta-replica-behind") == {idle.name}
    assert _number(told.evidence("meta-replica-behind", idle.name)) >= META_CHANGES
    evidence = told.evidence("consumer-replica-behind", STREAM, WORKER)
    assert evidence.startswith(f"{idle.name} is 1,")
    assert not told.about("meta-offline") | told.about("consumer-replica-offline")
    assert not {code for code, _, _ in quiet.found} & set(BEHIND)
    assert told.broken == quiet.broken == []


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
    """One by one: what comes together is one entry of the consumer's log."""
    for message in await api.fetch(STREAM, WORKER, messages):
        await message.ack_sync(timeout=10)


async def _consumer_is_current(cluster: NatsCluster) -> None:
    async with connected(cluster) as client:

        async def copies() -> list[bool]:
            try:
                request = f"$JS.API.CONSUMER.INFO.{STREAM}.{WORKER}"
                response = json.loads((await client.request(request, timeout=1)).data)
            except nats.errors.TimeoutError:
                return []  # while leaders move a request goes unheard: ask again
            replicas = response.get("cluster", {}).get("replicas") or ()
            return [peer["current"] for peer in replicas]

        await until(copies, lambda found: found == [True, True], "a copy does not catch up")


# Before, the requests of clients were done in place and never waited.
@pytest.mark.parametrize("version", versions_since("2.11.0"))
async def test_requests_that_pile_up_are_told_and_fewer_are_not(version: str) -> None:
    async with NatsServer(version, default_options()) as server, connected(server) as client:
        await make_wide_stream(client)
        async with flooded(client, 900):
            await _nearly_too_many_wait(server)
            busy = await audit(server, None, source="monitor")
            async with flooded(client, 600):
                told = await until(
                    lambda: audit(server, None, source="monitor"),
                    lambda run: bool(run.about("api-inflight-high")),
                    "fifteen hundred requests, and nobody is told",
                )
        rested = await audit(server, None, source="monitor")
    assert told.about("api-inflight-high") == {"n1"}
    assert 1_000 < _number(told.evidence("api-inflight-high", "n1")) <= 1_500
    assert not busy.about("api-inflight-high") | rested.about("api-inflight-high")


async def _nearly_too_many_wait(server: NatsServer) -> None:
    async def requests() -> int:
        said = await page_of(server, "jsz")
        return int(said["api"].get("inflight", 0))

    await until(requests, lambda count: count > 800, "the requests do not pile up")


# Before, nobody could be told who is to lead next.
@pytest.mark.parametrize("version", versions_since("2.11.0"))
async def test_two_meta_leaders_of_a_split_cluster_are_told_until_it_is_whole(version: str) -> None:
    async with split_cluster(version, default_options()) as cluster:
        await lead_meta(cluster, APART)
        before = await _audited_over_http(cluster)
        with cluster.cut():
            told = await until(
                lambda: _audited_over_http(cluster),
                lambda run: bool(run.about("meta-disagree")),
                f"nobody leads besides {APART}",
            )
        await cluster.settle()
        after = await _audited_over_http(cluster)
    assert told.evidence("meta-disagree", "") in {
        f"{other}, {APART} all say that they lead" for other in ("n1", "n2")
    }
    assert not before.about("meta-disagree") | after.about("meta-disagree")


async def _audited_over_http(cluster: NatsCluster) -> AuditRun:
    return await audit(cluster, None, source="monitor")


@pytest.mark.long
async def test_a_slow_snapshot_of_the_meta_group_is_told_and_a_quick_one_is_not() -> None:
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
        told = await _audited_over_http(cluster)
        await lead_meta(cluster, leader)
        async with connected(cluster) as client:
            await _change(Api(client), 1)
        await _leads_with_new_snapshot(cluster, chosen)
        quiet = await _audited_over_http(cluster)
    assert told.evidence("meta-snapshot-slow", "").startswith("the last snapshot took ")
    assert quiet.about("meta-snapshot-slow") == frozenset()


async def _leads_with_new_snapshot(cluster: NatsCluster, node: NatsServer) -> None:
    """Whoever begins to lead takes a snapshot."""

    async def taken() -> str:
        group = await meta_of(node)
        return str(group.get("snapshot", {}).get("last_time", ""))

    before = await taken()
    await lead_meta(cluster, node.name)
    await until(taken, lambda now: now not in ("", before), f"{node.name} takes no snapshot")


# Version 2.10 also overlooks that a whole block is gone; 2.9 reads all at its start, and counts anew.
@pytest.mark.parametrize("version", versions_since("2.11.0"))
async def test_a_stream_with_a_damaged_block_has_more_subjects_than_messages(version: str) -> None:
    torn, missed = [await _audited_after(act, version) for act in (_tear, Path.unlink)]
    assert torn.evidence("subjects-inconsistent", STREAM) == "40 subjects, 32 messages"
    # The server notices that a whole block is gone, and counts anew.
    assert missed.about("subjects-inconsistent") == frozenset()


async def _audited_after(damage: Callable[[Path], None], version: str) -> AuditRun:
    """One message for each subject, in three blocks; the one in the middle is damaged."""
    async with NatsServer(version, default_options()) as server:
        async with connected(server) as client:
            await Api(client).stream(STREAM, subjects=["orders.*"], max_bytes=MAX_BYTES)
            for number in range(40):
                await client.request(f"orders.{number:02}", b"x" * PAYLOAD, timeout=20)
        await while_stopped(
            server, lambda store: damage(blocks_of(stream_folder(store, STREAM))[1])
        )
        async with connected(server) as client:
            # Before 2.12 the messages count until one of them is asked for.
            await client.request(f"$JS.API.STREAM.MSG.GET.{STREAM}", b'{"seq": 20}', timeout=20)
        return await audit(server, APP)


def _tear(block: Path) -> None:
    """The second half of it never reached the disk."""
    block.write_bytes(block.read_bytes()[: block.stat().st_size // 2])


def _number(evidence: str) -> int:
    return int(evidence.split(maxsplit=1)[0].replace(",", ""))
