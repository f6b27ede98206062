"""Every check of streams and consumers on a real server, through the real command.

One server holds all of them: for each check what it finds and, beside it, the nearest that is fine.
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
# What takes a month, a gigabyte or a million of something elsewhere.
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
async def living(client: Client, rows: Sequence[Row], looked: asyncio.Event) -> AsyncIterator[None]:
    """All assets, and what happens while the audit looks twice."""
    api = Api(client)
    for row in rows:
        for asset in (row.bad, row.good):
            await make(api, row.name_of(asset), asset)
    for name in (*RECREATED, CHANGED, STEADY):
        await api.stream(name, subjects=[f"{name}.>"])
    for name, policy in RECREATED.items():
        await _consumer_again(api, name, policy)
    # Told to end, not cancelled: a cancelled publish may end as if nothing had been said.
    over = asyncio.Event()
    publishing = asyncio.create_task(_publishing(api, rows, over))
    changing = asyncio.create_task(_changing(api, looked))
    try:
        yield
        assert looked.is_set(), "there was no second look"
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


async def _changing(api: Api, looked: asyncio.Event) -> None:
    """Between the two looks consumers are made again, and a stream gets another limit."""
    await looked.wait()
    await change(api, CHANGED, max_msgs=1000)
    # A consumer is another one when its time of creation differs by more than a second.
    await asyncio.sleep(1.1)
    for name, policy in RECREATED.items():
        await api.request(f"CONSUMER.DELETE.{name}.{WORKER}")
        await _consumer_again(api, name, policy)


async def _consumer_again(api: Api, stream: str, policy: str) -> None:
    start = {"opt_start_seq": 1} if policy == "by_start_sequence" else {}
    await make_consumer(api, stream, WORKER, {"deliver_policy": policy, **start})


def key(row: Row, name: str) -> tuple[str, str, str]:
    of_consumer = check_of(row.code).subject is Subject.CONSUMER
    return row.code, name, WORKER if of_consumer else ""


@pytest.fixture(params=VERSIONS_HERE)
async def real_server(request: pytest.FixtureRequest) -> AsyncIterator[NatsServer]:
    async with NatsServer(request.param, default_options()) as server:
        yield server


async def test_each_asset_is_found_and_its_neighbour_is_not(real_server: NatsServer) -> None:
    rows = [row for row in ROWS if row.fits(real_server.version)]
    assert len(rows) > 50
    looked, flags = asyncio.Event(), ("--watch", "3s", "--sample-messages")
    async with connected(real_server) as client, living(client, rows, looked):
        with lowered(LOWERED):
            run = await audit(real_server, APP, *flags, looked=looked)
            assert run.code == 1, run.complaints
            others = [
                await audit(real_server, SYS, source="system"),
                await audit(real_server, None, source="monitor"),
            ]
    _all_are_told(run, rows)
    _what_happened_is_told(run)
    at_one_look = [row for row in rows if not _needs_two_looks(row.code)]
    for other in others:
        _all_are_told(other, at_one_look)


def _needs_two_looks(code: str) -> bool:
    needs = check_of(code).needs & {Need.SECOND_LOOK, Need.MESSAGES}
    return bool(needs) or code == "dupe-window-costly"


def _all_are_told(run: AuditRun, rows: Sequence[Row]) -> None:
    assert run.broken == []
    bad = [key(row, row.name_of(row.bad)) for row in rows]
    assert [each for each in bad if each not in run.found] == []
    good = [key(row, row.name_of(row.good)) for row in rows]
    assert [each for each in good if each in run.found] == []


def _what_happened_is_told(run: AuditRun) -> None:
    assert ("recreate-hazard", "recreated-new", WORKER) in run.found
    assert ("recreate-hazard", "recreated-after", WORKER) not in run.found
    assert run.about("stream-changed") == {CHANGED}
    assert "max_messages" in run.evidence("stream-changed", CHANGED)
