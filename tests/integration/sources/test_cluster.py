"""Three nodes that fail one after the other, polled through all three sources.

The cluster is shared; each test leaves it whole again.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Final

import pytest
import pytest_asyncio
from support.exporter.source_polls import (
    account_source,
    all_sources,
    api,
    consumers,
    create_consumer,
    create_stream,
    failures,
    nats_access,
    outcome,
    poll,
    streams,
)
from support.nats.scenario import (
    LONE_MESSAGES,
    NODES,
    SHARED_MESSAGES,
    Scenario,
    scenario_of,
    two_waiting_pulls,
)
from support.nats.servers import APP, SYS, connected, long_run, versions
from support.waiting import until

from exporter.model import Consumer, Snapshot, Stream
from exporter.sources.source import Source
from exporter.sources.transport.connection import NatsConnection

pytestmark = pytest.mark.asyncio(loop_scope="module")

MEASURED: Final = ("num_pending", "num_waiting", "num_ack_pending", "num_redelivered")
# Short, for polls that are repeated until a state is reached.
SHORT_POLL_SECONDS: Final = 4.0
ELECTIONS: Final = 20 if long_run() else 5
UP: Final = (True, "")
Reported = dict[Any, tuple[bool, str]]


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=versions())
async def shared_scenario(request: pytest.FixtureRequest) -> AsyncIterator[Scenario]:
    async with scenario_of(request.param) as built:
        yield built


@pytest_asyncio.fixture(loop_scope="module")
async def scenario(shared_scenario: Scenario) -> AsyncIterator[Scenario]:
    yield shared_scenario
    await shared_scenario.repair()


def reported(rows: Mapping[Any, Stream | Consumer]) -> Reported:
    return {key: (row.up, row.reason) for key, row in rows.items()}


async def seen_until(
    scenario: Scenario, source: Source, holds: Callable[[Snapshot], bool], otherwise: str
) -> Snapshot:
    """Polls until it holds; on the way a row may be absent or down, but never wrong."""

    async def request() -> Snapshot:
        snapshot = await poll(source)
        assert_no_false_number(scenario, snapshot)
        return snapshot

    return await until(request, holds, otherwise)


def assert_no_false_number(scenario: Scenario, snapshot: Snapshot) -> None:
    for stream in snapshot.streams:
        if stream.up and stream.name in scenario.streams():
            shared = stream.name == "SHARED"
            assert stream.messages == (SHARED_MESSAGES if shared else LONE_MESSAGES), stream
    for consumer in snapshot.consumers:
        if consumer.up and consumer.stream in scenario.lone_streams.values():
            assert consumer.num_pending == LONE_MESSAGES, consumer
        elif consumer.up and consumer.name in scenario.lone_consumers.values():
            assert consumer.num_pending == SHARED_MESSAGES, consumer


async def whole_again(scenario: Scenario, sources: Mapping[str, Source]) -> None:
    """Every source sees everything up, and nothing besides."""

    def whole(snapshot: Snapshot) -> bool:
        return (
            reported(streams(snapshot)) == dict.fromkeys(scenario.streams(), UP)
            and reported(consumers(snapshot)) == dict.fromkeys(scenario.consumers(), UP)
            and {server.name: server.up for server in snapshot.servers}
            == dict.fromkeys(NODES, True)
            and snapshot.complete
        )

    for name, source in sources.items():
        await seen_until(scenario, source, whole, f"{name} does not see all of it again")


async def test_measurements_come_from_the_leader_of_each_consumer(scenario: Scenario) -> None:
    async with (
        two_waiting_pulls(scenario),
        connected(scenario.cluster) as client,
        all_sources(scenario.cluster) as sources,
    ):
        names = [name for stream, name in scenario.consumers() if stream == "SHARED"]
        truth: dict[str, Any] = {}
        # Each node leads once, so that the leader is not always the first to respond.
        for _ in range(2):
            await scenario.cluster.step_down_stream(APP, "SHARED")
            leaders = await scenario.leaders_apart()
            await whole_again(scenario, sources)
            truth = {name: await api(client, f"CONSUMER.INFO.SHARED.{name}") for name in names}
            for source in sources.values():
                assert_as_the_leaders_report(await poll(source), leaders, truth)
    assert [truth["c"][field] for field in MEASURED] == [7, 0, 2, 0]
    assert [truth["idle"][field] for field in MEASURED] == [0, 2, 0, 0]


def assert_as_the_leaders_report(
    snapshot: Snapshot, leaders: tuple[str, str], truth: Mapping[str, Any]
) -> None:
    found = consumers(snapshot)
    assert (streams(snapshot)["SHARED"].leader, found["SHARED", "c"].leader) == leaders
    assert leaders[0] != leaders[1]
    for name, info in truth.items():
        row = found["SHARED", name]
        assert [getattr(row, field) for field in MEASURED] == [info[field] for field in MEASURED]
        assert row.leader == info["cluster"]["leader"]
        assert row.delivered_stream_seq == info["delivered"]["stream_seq"]
        assert row.ack_floor_stream_seq == info["ack_floor"]["stream_seq"]


async def waiting_by_server(scenario: Scenario) -> dict[str, int]:
    """num_waiting of the consumer `idle`, as each server has it in its JSZ."""
    connection = NatsConnection(nats_access(scenario.cluster, SYS), "test")
    replies = await connection.gather(
        "$SYS.REQ.SERVER.PING.JSZ",
        b'{"account":"APP","streams":true,"consumer":true}',
        enough=lambda got: len(got) == len(NODES),
        quiet=5,
        timeout=10,
    )
    await connection.close()
    responses = [json.loads(reply.data) for reply in replies]
    return {
        response["server"]["name"]: row["num_waiting"]
        for response in responses
        for stream in response["data"]["account_details"][0]["stream_detail"]
        for row in stream.get("consumer_detail", ())
        if (stream["name"], row["name"]) == ("SHARED", "idle")
    }


async def test_of_followers_only_their_message_counts_are_used(scenario: Scenario) -> None:
    async with two_waiting_pulls(scenario), all_sources(scenario.cluster) as sources:
        leader = await scenario.cluster.consumer_leader(APP, "SHARED", "idle")
        await whole_again(scenario, sources)
        waiting = await waiting_by_server(scenario)
        seen = [await poll(sources[name]) for name in ("system", "monitor")]
    # Two of three servers report that no pull request waits.
    assert waiting == {node: 2 if node == leader else 0 for node in NODES}
    for snapshot in seen:
        assert consumers(snapshot)["SHARED", "idle"].num_waiting == 2
        shared = streams(snapshot)["SHARED"]
        assert dict(shared.follower_messages) == {
            node: SHARED_MESSAGES for node in NODES if node != shared.leader
        }


async def test_a_leader_elected_a_moment_ago_is_not_believed(scenario: Scenario) -> None:
    """For a short time it reports no pending messages; since 2.11.9 its response shows when."""
    if scenario.cluster.nodes[0].version in ("2.9.10", "2.10.26"):
        pytest.skip("this version does not report leader_since")
    rows: list[Consumer] = []
    async with all_sources(scenario.cluster) as sources:
        await whole_again(scenario, sources)
        for _ in range(ELECTIONS):
            move = asyncio.create_task(scenario.cluster.step_down_consumer(APP, "SHARED", "c"))
            while not move.done():
                rows.append(consumers(await poll(sources["monitor"]))["SHARED", "c"])
            await move
        await whole_again(scenario, sources)
    assert rows  # on a slow machine none of them may have had a leader
    assert {row.num_pending for row in rows if row.up} <= {7}
    assert {row.reason for row in rows if not row.up} <= {"no_leader"}


async def expendable_node(scenario: Scenario) -> str:
    """A node that does not lead the meta group, so that LIST still works without it."""
    leader = await scenario.cluster.meta_leader()
    return next(node for node in NODES if node != leader)


async def assert_missed(scenario: Scenario, node: str, sources: Mapping[str, Source]) -> None:
    # The quick ones first: the account source waits four seconds for a node that was killed.
    for name in ("system", "monitor", "account"):
        missing = rows_are(rows_without(scenario, node, by_account=name == "account"))
        snapshot = await seen_until(
            scenario, sources[name], missing, f"{name} does not miss {node}"
        )
        assert {row.name: row.up for row in snapshot.servers} == {
            each: each != node for each in NODES
        }
        assert not snapshot.complete
        silent = streams(snapshot)[scenario.lone_streams[node]]
        assert (silent.messages, silent.last_seq, silent.created) == (0, 0, None)
        assert silent.config is not None


def rows_are(expected: tuple[Reported, Reported]) -> Callable[[Snapshot], bool]:
    return lambda seen: (reported(streams(seen)), reported(consumers(seen))) == expected


def rows_without(scenario: Scenario, node: str, *, by_account: bool) -> tuple[Reported, Reported]:
    """What only that node had is known and down; everything else goes on."""
    lone, alone = scenario.lone_streams[node], scenario.lone_consumers[node]
    reason = "missing" if by_account else "server_down"
    return (
        dict.fromkeys(scenario.streams(), UP) | {lone: (False, reason)},
        dict.fromkeys(scenario.consumers(), UP)
        | {
            ("SHARED", alone): (False, reason),
            (lone, "c"): (False, "stream_missing" if by_account else reason),
        },
    )


async def test_a_server_stopped_in_order_leaves_no_record_of_zeroes(scenario: Scenario) -> None:
    node = await expendable_node(scenario)
    lone, alone = scenario.lone_streams[node], scenario.lone_consumers[node]
    async with all_sources(scenario.cluster) as sources:
        await whole_again(scenario, sources)
        await scenario.cluster.stop(node)
        await assert_missed(scenario, node, sources)
        async with connected(scenario.cluster) as client:
            listed = await api(client, "STREAM.LIST")
            of_shared = await api(client, "CONSUMER.LIST.SHARED")
        await scenario.cluster.restart(node)
        await whole_again(scenario, sources)
    # The trap is there: the lists hold records that say nothing but zero.
    assert (listed["missing"], of_shared["missing"]) == ([lone], [alone])
    stream = next(row for row in listed["streams"] if row["config"]["name"] == lone)
    assert (stream["state"]["messages"], stream["cluster"].get("leader")) == (0, None)
    assert "" in {row["name"] for row in of_shared["consumers"]}


async def test_a_killed_server_is_missed_until_it_is_back(scenario: Scenario) -> None:
    node = await expendable_node(scenario)
    async with all_sources(scenario.cluster) as sources:
        await whole_again(scenario, sources)
        await scenario.cluster.kill(node)
        await assert_missed(scenario, node, sources)
        await scenario.cluster.restart(node)
        await whole_again(scenario, sources)


async def test_what_is_deleted_while_all_servers_live_vanishes(scenario: Scenario) -> None:
    async with connected(scenario.cluster) as client, all_sources(scenario.cluster) as sources:
        await create_stream(client, "GONE")
        await create_consumer(client, "GONE", "c")
        for name, source in sources.items():
            await seen_until(
                scenario,
                source,
                lambda snapshot: (
                    reported(streams(snapshot)).get("GONE") == UP
                    and reported(consumers(snapshot)).get(("GONE", "c")) == UP
                ),
                f"{name} does not see what is new",
            )
        await api(client, "STREAM.DELETE.GONE")
        await whole_again(scenario, sources)


async def test_without_a_meta_leader_known_assets_are_requested_by_name(scenario: Scenario) -> None:
    kept, *lost = NODES
    cluster = scenario.cluster
    only_kept = nats_access(cluster, addresses=(cluster.node_of(kept).url,))
    async with all_sources(cluster) as sources, account_source(only_kept) as account:
        sources["account"] = account
        await whole_again(scenario, sources)
        for node in lost:
            await cluster.kill(node)

        async def request() -> Snapshot:
            snapshot = await poll(account, SHORT_POLL_SECONDS)
            assert_no_false_number(scenario, snapshot)
            return snapshot

        # For about ten seconds there is no response, and the old leader of SHARED stays leader.
        leaderless = await until(
            request,
            lambda snapshot: (
                set(failures(snapshot).values()) == {"no_meta_leader"}
                and reported(streams(snapshot)).get("SHARED") == (False, "no_leader")
            ),
            "the lists are not refused for want of a meta leader",
        )
        assert_requested_by_name(scenario, leaderless)
        for name in ("system", "monitor"):
            # Each consumer's old leader gives up its office in its own time.
            given_up = await until(
                lambda name=name: poll(sources[name]),  # type: ignore[misc]
                lambda snapshot: (
                    not {UP} & {reported(consumers(snapshot))[each] for each in OF_ALL}
                ),
                "a consumer of all nodes still has a leader",
            )
            assert_without_quorum(scenario, given_up)
        for node in lost:
            await cluster.restart(node, healthy=False)
        await cluster.settle()
        await whole_again(scenario, sources)


OF_ALL: Final = (("SHARED", "c"), ("SHARED", "idle"))


def assert_requested_by_name(scenario: Scenario, snapshot: Snapshot) -> None:
    here, *gone = (scenario.lone_streams[node] for node in NODES)
    requests = ("account_info", "stream_list", "consumer_list")
    assert failures(snapshot) == dict.fromkeys(requests, "no_meta_leader")
    assert "10008" in outcome(snapshot, "stream_list").detail
    assert reported(streams(snapshot)) == {
        here: UP,
        "SHARED": (False, "no_leader"),
        **dict.fromkeys(gone, (False, "no_meta_leader")),
    }
    assert streams(snapshot)[here].messages == LONE_MESSAGES
    found = consumers(snapshot)
    assert found.keys() == scenario.consumers()
    assert [key for key, row in found.items() if row.up] == [(here, "c")]
    assert found[here, "c"].num_pending == LONE_MESSAGES


def assert_without_quorum(scenario: Scenario, snapshot: Snapshot) -> None:
    here, *gone = (scenario.lone_streams[node] for node in NODES)
    kept, *lost = (scenario.lone_consumers[node] for node in NODES)
    assert reported(streams(snapshot)) == {
        here: UP,
        "SHARED": (False, "no_leader"),
        **dict.fromkeys(gone, (False, "server_down")),
    }
    assert streams(snapshot)[here].messages == LONE_MESSAGES
    found = reported(consumers(snapshot))
    assert found.keys() == scenario.consumers()
    assert found[here, "c"] == UP
    assert found["SHARED", kept] == UP
    assert {found["SHARED", name] for name in ("c", "idle")} == {(False, "no_leader")}
    assert {found["SHARED", name] for name in lost} == {(False, "server_down")}
    assert snapshot.meta is not None
    assert snapshot.meta.leader == ""
