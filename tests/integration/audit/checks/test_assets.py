"""Every check of streams and consumers on a real server, through the real command.

One server holds a violation and a near miss for each check.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest
from nats.aio.client import Client
from support.audit.command import AuditRun, audit, lowered
from support.audit.contexts import check_of
from support.audit.live import consumer_cases, stream_cases
from support.audit.live.assets import WORKER, Row, change, make, make_consumer
from support.nats.servers import (
    APP,
    NEWEST,
    SYS,
    VERSIONS,
    NatsServer,
    connected,
    default_options,
    long_run,
)
from support.recordings.scenario import Api

from exporter.audit.check import Need, Subject

ROWS = (*consumer_cases.ROWS, *stream_cases.ROWS)
# Thresholds that a short test cannot reach.
LOWERED = {
    "ephemeral-worker": {"OLD_SECONDS": 0},
    "consumer-inactive": {"LONG_SECONDS": 0},
    "consumer-drained": {"LONG_SECONDS": 0},
    "interest-held": {"LONG_SECONDS": 0},
    "inactive": {"LONG_SECONDS": 0},
    "dupe-window-costly": {"BUSY_PER_SECOND": 0.1},
    "kv-grows": {"MANY": 3},
    "large-uncompressed": {"LARGE_BYTES": 50_000},
    "large-in-memory": {"LARGE_BYTES": 50_000},
    "messages-large": {"LARGE_BYTES": 50_000},
    "subjects-many": {"MANY": 3},
    "deletes-many": {"ENOUGH": 10},
    "ephemerals-many": {"MANY": 2},
    "consumers-near-limit": {"LEAST": 2},
}
RECREATED = {"recreated-new": "new", "recreated-after": "by_start_sequence"}
CHANGED, STEADY = "changed", "steady"
VERSIONS_HERE = VERSIONS if long_run() else (NEWEST,)


@asynccontextmanager
async def living(client: Client, rows: Sequence[Row], polled: asyncio.Event) -> AsyncIterator[None]:
    """Creates all assets, and changes some between the two polls of the audit."""
    api = Api(client)
    for row in rows:
        for asset in (row.bad, row.good):
            await make(api, row.name_of(asset), asset)
    for name in (*RECREATED, CHANGED, STEADY):
        await api.stream(name, subjects=[f"{name}.>"])
    for name, policy in RECREATED.items():
        await _create_consumer(api, name, policy)
    # Not cancelled: a cancelled publish may end without an error.
    over = asyncio.Event()
    publishing = asyncio.create_task(_publishing(api, rows, over))
    changing = asyncio.create_task(_changing(api, polled))
    try:
        yield
        assert polled.is_set(), "there was no second poll"
        await changing
    finally:
        over.set()
        changing.cancel()
        await asyncio.gather(publishing, changing, return_exceptions=True)
    assert publishing.exception() is None


async def _publishing(api: Api, rows: Sequence[Row], over: asyncio.Event) -> None:
    names = [row.name_of(asset) for row in rows for asset in (row.bad, row.good) if asset.lives]
    while not over.is_set():
        for name in names:
            await api.jetstream.publish(f"{name}.0", b"x")
        await asyncio.sleep(0.1)


async def _changing(api: Api, polled: asyncio.Event) -> None:
    """Between the two polls: recreates consumers and changes the limit of a stream."""
    await polled.wait()
    await change(api, CHANGED, max_msgs=1000)
    # A consumer counts as recreated if its creation time differs by more than a second.
    await asyncio.sleep(1.1)
    for name, policy in RECREATED.items():
        await api.request(f"CONSUMER.DELETE.{name}.{WORKER}")
        await _create_consumer(api, name, policy)


async def _create_consumer(api: Api, stream: str, policy: str) -> None:
    start = {"opt_start_seq": 1} if policy == "by_start_sequence" else {}
    await make_consumer(api, stream, WORKER, {"deliver_policy": policy, **start})


def key(row: Row, name: str) -> tuple[str, str, str]:
    of_consumer = check_of(row.code).subject is Subject.CONSUMER
    return row.code, name, WORKER if of_consumer else ""


@pytest.fixture(params=VERSIONS_HERE)
async def real_server(request: pytest.FixtureRequest) -> AsyncIterator[NatsServer]:
    async with NatsServer(request.param, default_options()) as server:
        yield server


async def test_each_violation_is_found_and_no_near_miss(real_server: NatsServer) -> None:
    rows = [row for row in ROWS if row.fits(real_server.version)]
    assert rows
    polled, flags = asyncio.Event(), ("--watch", "3s", "--sample-messages")
    async with connected(real_server) as client, living(client, rows, polled):
        with lowered(LOWERED):
            run = await audit(real_server, APP, *flags, polled=polled)
            assert run.code == 1, run.complaints
            others = [
                await audit(real_server, SYS, source="system"),
                await audit(real_server, None, source="monitor"),
            ]
    _all_are_reported(run, rows)
    _changes_are_reported(run)
    with_one_poll = [row for row in rows if not _needs_two_polls(row.code)]
    for other in others:
        _all_are_reported(other, with_one_poll)


def _needs_two_polls(code: str) -> bool:
    needs = check_of(code).needs & {Need.SECOND_POLL, Need.MESSAGES}
    return bool(needs) or code == "dupe-window-costly"


def _all_are_reported(run: AuditRun, rows: Sequence[Row]) -> None:
    assert run.broken == []
    bad = [key(row, row.name_of(row.bad)) for row in rows]
    assert [each for each in bad if each not in run.found] == []
    good = [key(row, row.name_of(row.good)) for row in rows]
    assert [each for each in good if each in run.found] == []


def _changes_are_reported(run: AuditRun) -> None:
    assert ("recreate-hazard", "recreated-new", WORKER) in run.found
    assert ("recreate-hazard", "recreated-after", WORKER) not in run.found
    assert run.about("stream-changed") == {CHANGED}
    assert "max_messages" in run.evidence("stream-changed", CHANGED)
