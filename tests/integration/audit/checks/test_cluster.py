"""Checks that need a cluster: replicas, leaders and the meta group."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence

import pytest
from support.audit.command import AuditRun, audit, lowered
from support.audit.contexts import check_of
from support.audit.live.assets import WORKER, Asset, Row, make
from support.audit.live.cluster import NODES, Holders, above_average, holders
from support.nats.servers import (
    APP,
    NEWEST,
    SYS,
    VERSIONS,
    NatsCluster,
    connected,
    default_options,
    long_run,
)
from support.recordings.scenario import Api
from support.waiting import until

from exporter.audit.check import Subject

ONE, TWO, THREE = ({"num_replicas": count} for count in (1, 2, 3))
DIRECT = {**THREE, "allow_direct": True}
EXPECTS_THREE = {"metadata": {"io.nats.monitor.peer-expect": "3"}}
ROWS = (
    Row("replicas-one", Asset(ONE, messages=10, bytes=10_000), Asset(THREE)),
    Row("replicas-even", Asset(TWO), Asset(THREE)),
    Row(
        "state-volatile",
        Asset(THREE, {"num_replicas": 1}),
        Asset(THREE, {"num_replicas": 3}),
    ),
    Row("direct-get-off", Asset(THREE), Asset(DIRECT)),
    Row("over-replicated-inactive", Asset(THREE), Asset(ONE)),
    Row(
        "peers-unexpected",
        Asset({**ONE, **EXPECTS_THREE}),
        Asset({**THREE, **EXPECTS_THREE}),
        since="2.10.0",
    ),
)
# With these thresholds, exactly the servers above the average are reported.
LOWERED = {
    "over-replicated-inactive": {"LONG_SECONDS": 0},
    "stream-leaders-skewed": {"TIMES": 1.0, "LEAST": 1},
    "consumer-leaders-skewed": {"TIMES": 1.0, "LEAST": 1},
    "replicas-skewed": {"TIMES": 1.0, "LEAST": 1},
    "meta-large": {"MANY": 10},
    "ha-assets-many": {"MANY": 1},
    "storage-skewed": {"TIMES": 1.5, "LEAST_BYTES": 50_000},
    "storage-full-uneven": {"FULL": 5e-5, "APART": 5e-5},
}
OF_LARGE_CLUSTERS = {"meta-large", "ha-assets-many", "storage-skewed", "storage-full-uneven"}
SINGLE = {"replicas-one-bad", "over-replicated-inactive-good", "peers-unexpected-bad"}
VERSIONS_HERE = VERSIONS if long_run() else (NEWEST,)


@pytest.fixture(params=VERSIONS_HERE)
async def real_cluster(request: pytest.FixtureRequest) -> AsyncIterator[NatsCluster]:
    async with NatsCluster(3, request.param, default_options()) as cluster:
        yield cluster


async def test_copies_and_leaders(real_cluster: NatsCluster) -> None:
    rows = [row for row in ROWS if row.fits(real_cluster.nodes[0].version)]
    async with connected(real_cluster) as client:
        api = Api(client)
        for row in rows:
            for asset in (row.bad, row.good):
                await make(api, row.name_of(asset), asset)
        run, expected = await _audited_while_leaders_stay(real_cluster, api, rows)
    with lowered(LOWERED):
        seen = await audit(real_cluster, APP)
    plain = await audit(real_cluster, SYS, source="system")
    _rows_are_reported(run, rows)
    _rows_are_reported(seen, rows)
    _servers_are_reported(run, expected)
    assert not {code for code, _, _ in plain.found} & OF_LARGE_CLUSTERS
    for quiet in (run, seen, plain):
        assert quiet.broken == []
        assert not [one for one in quiet.findings if one["severity"] == "crit"]
        assert quiet.about("raft-peers") == frozenset()
    await _a_lost_server_is_reported(real_cluster)


async def _audited_while_leaders_stay(
    cluster: NatsCluster, api: Api, rows: Sequence[Row]
) -> tuple[AuditRun, Holders]:
    """Repeats the audit if leaders moved in the meantime."""

    async def attempt() -> tuple[AuditRun, Holders, Holders]:
        before = await holders(api, rows)
        with lowered(LOWERED):
            run = await audit(cluster, SYS, source="system")
        return run, before, await holders(api, rows)

    run, expected, _ = await until(
        attempt, lambda made: made[1] == made[2] and made[1].complete, "leaders keep moving"
    )
    return run, expected


def _rows_are_reported(run: AuditRun, rows: Sequence[Row]) -> None:
    for row in rows:
        consumer = WORKER if check_of(row.code).subject is Subject.CONSUMER else ""
        assert (row.code, row.name_of(row.bad), consumer) in run.found
        assert (row.code, row.name_of(row.good), consumer) not in run.found


def _servers_are_reported(run: AuditRun, expected: Holders) -> None:
    assert run.about("stream-leaders-skewed") == above_average(expected.stream_leaders)
    assert run.about("consumer-leaders-skewed") == above_average(expected.consumer_leaders)
    assert run.about("replicas-skewed") == above_average(expected.copies)
    assert run.about("meta-large") == {""}
    assert run.about("ha-assets-many") == set(NODES)
    # Most of the data is in one stream with one replica.
    heavy, _ = expected.streams["replicas-one-bad"]
    assert run.about("storage-skewed") == run.about("storage-full-uneven") == {heavy}
    if "sync-gap" not in {one["check"] for one in run.system["not_evaluated"]}:
        assert run.about("sync-gap") == expected.with_single_copies


async def _a_lost_server_is_reported(cluster: NatsCluster) -> None:
    """Stops a server, then removes it from the meta group between the two polls."""
    leader = await cluster.meta_leader()
    lost = next(node.name for node in cluster.nodes if node.name != leader)
    await cluster.stop(lost)
    left = [node for node in cluster.nodes if node.running]
    run = await until(
        lambda: audit(left[0], SYS, source="system"),
        lambda reported: bool(
            reported.about("meta-offline") and reported.about("consumer-replica-offline")
        ),
        f"the audit does not report that {lost} is offline",
    )
    assert run.about("meta-offline") == {""}
    assert run.about("consumer-replica-offline") == {"state-volatile-good"}
    assert run.about("meta-even") == frozenset()
    polled = asyncio.Event()
    removing = asyncio.create_task(_remove(cluster, lost, polled))
    shrunk = await audit(left[0], SYS, "--watch", "3s", source="system", polled=polled)
    await removing
    assert shrunk.about("meta-shrunk") == {""}
    assert shrunk.evidence("meta-even", "") == "2 servers tolerate 0 failures"
    # With two servers left, no server can hold the third replica.
    assert "replicas-one-good" in shrunk.about("raft-peers")
    assert shrunk.evidence("raft-peers", "replicas-one-good") == "2 peers, num_replicas 3"
    assert not {name for name in shrunk.about("raft-peers") if name in SINGLE}


async def _remove(cluster: NatsCluster, name: str, polled: asyncio.Event) -> None:
    await polled.wait()
    async with connected(cluster, SYS) as client:
        request = json.dumps({"peer": name}).encode()
        response = await client.request("$JS.API.SERVER.REMOVE", request, timeout=10)
        assert json.loads(response.data)["success"]
