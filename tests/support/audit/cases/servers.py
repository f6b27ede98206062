"""One row per check of accounts, servers and the meta group, and its nearest neighbour.

What cannot be made on a small cluster (thousands of assets, a slow disk, a wrong clock) is shown here
alone, on rows like those that real servers gave.
"""

from datetime import UTC, datetime, timedelta
from typing import Any, Final

from support.audit.contexts import Case, looked_twice, of_account, of_stream, scene, stream_of
from support.exporter.models import NOW, consumer, consumer_config, server, stream, stream_config

from exporter.audit.context import AuditContext
from exporter.model import Account, ClockEstimate, MetaGroup, Replica, Server, ServerSettings

GIB: Final = 1 << 30
MIB: Final = 1 << 20


def pair(code: str, evidence: str, bad: dict[str, Any], good: dict[str, Any]) -> Case:
    return Case(code, scene(server(**bad)), scene(server(**good)), evidence)


def cluster(field: str, *values: Any, **more: Any) -> tuple[Server, ...]:
    """Servers n1, n2, ... of one cluster, each with its value of `field`."""
    return tuple(
        server(f"n{place}", cluster="C1", jetstream=True, **{field: value, **more})
        for place, value in enumerate(values, start=1)
    )


def each(code: str, evidence: str, field: str, bad: tuple[Any, ...], good: tuple[Any, ...]) -> Case:
    return Case(code, scene(*cluster(field, *bad)), scene(*cluster(field, *good)), evidence)


def settings(**changes: Any) -> Server:
    plain = {"auth_required": True, "tls_required": False}
    return server(settings=ServerSettings(**{**plain, **changes}))


def expires_in(days: float) -> AuditContext:
    return scene(settings(tls_expires=datetime.fromtimestamp(NOW, UTC) + timedelta(days=days)))


def copies_on(*counts: int) -> AuditContext:
    """So many streams with one copy on each of the servers."""
    rows = [
        stream(f"S{place}-{number}", leader=f"n{place}", hosts=(f"n{place}",))
        for place, count in enumerate(counts, start=1)
        for number in range(count)
    ]
    return scene(*rows, *cluster("storage_used", *(0 for _ in counts)))


def asked(before: tuple[int, int], after: tuple[int, int]) -> AuditContext:
    looks = [scene(accounts=(Account("APP", (), *numbers),)) for numbers in (before, after)]
    return looked_twice(*looks)


def reserving(max_bytes: int, replicas: int, limit: int, tier: str = "") -> AuditContext:
    row = stream(config=stream_config(max_bytes=max_bytes, replicas=replicas))
    account = of_account(tier=tier, storage_limit=limit).accounts[0]
    return scene(row, accounts=(account,))


def clocks(*offsets: float, unsure: float = 0.1) -> AuditContext:
    readings = [ClockEstimate(offset, unsure, 2 * unsure) for offset in offsets]
    rows = [server(f"n{n}", clock=each) for n, each in enumerate(readings, start=1)]
    return scene(*rows)


def meta(size: int = 3, lag: int = 0, *, offline: bool = False, **more: Any) -> AuditContext:
    peers = tuple(Replica(f"n{n}", lag, offline and n == 2, 0.1) for n in range(2, size + 1))
    return scene(meta=MetaGroup(leader="n1", size=size, replicas=peers, **more))


def naming(*seen: str) -> AuditContext:
    return scene(*cluster("meta_leader_seen", *seen, meta_leader=False))


def assets(count: int) -> AuditContext:
    rows = [consumer(f"c{n}", config=consumer_config(replicas=0)) for n in range(count)]
    return scene(stream_of(replicas=3), *rows, *cluster("storage_used", 0, 0, 0))


ACCOUNTS: Final = (
    Case(
        "account-unlimited",
        of_account(storage_unlimited=True, memory_unlimited=True),
        of_account(storage_unlimited=None, memory_unlimited=False),
        "no limit of storage and memory",
    ),
    Case(
        "account-overcommitted",
        reserving(29, 3, 100),
        reserving(28, 3, 100),
        "file streams may grow to 87 B of 100 B",
    ),
    Case("account-overcommitted", reserving(29, 3, 100), reserving(29, 3, 100, "R3"), "87 B"),
    Case(
        "account-streams-near-limit",
        of_account(streams=9, streams_limit=10),
        of_account(streams=8, streams_limit=10),
        "9 streams, at most 10",
    ),
    Case(
        "account-consumers-near-limit",
        of_account(consumers=90, consumers_limit=100),
        of_account(consumers=89, consumers_limit=100),
        "90 consumers, at most 100",
    ),
    Case(
        "api-errors",
        asked((1000, 50), (1200, 53)),
        asked((1000, 50), (1200, 52)),
        "3 of 200 API requests failed in 1m",
    ),
    Case("api-errors", asked((0, 0), (100, 100)), asked((0, 0), (99, 99)), "100 of 100"),
)

SERVERS: Final = (
    pair(
        "reservation-wasted",
        "19.9 MiB of 1 GiB reserved storage",
        {"storage_reserved": GIB, "storage_used": int(19.9 * MIB)},
        {"storage_reserved": GIB, "storage_used": GIB // 5 + 1},
    ),
    pair(
        "reservation-wasted",
        "reserved memory",
        {"memory_reserved": GIB, "memory_used": 0},
        {"memory_reserved": GIB - 1, "memory_used": 0},
    ),
    pair(
        "reservation-near-max",
        "90 B of 100 B storage is reserved",
        {"storage_reserved": 90, "storage_max": 100},
        {"storage_reserved": 89, "storage_max": 100},
    ),
    each(
        "stream-leaders-skewed",
        "leads 16 streams, the average is 10.0",
        "stream_leaders",
        (16, 7, 7),
        (15, 8, 7),
    ),
    each("stream-leaders-skewed", "leads 10", "stream_leaders", (10, 0, 0), (9, 0, 0)),
    each("stream-leaders-skewed", "leads 16", "stream_leaders", (16, 7, 7), (16, None, 7)),
    each(
        "consumer-leaders-skewed",
        "leads 31 consumers, the average is 20.0",
        "consumer_leaders",
        (31, 15, 14),
        (30, 15, 15),
    ),
    Case("replicas-skewed", copies_on(10, 1, 1), copies_on(10, 6, 5), "holds 10 copies"),
    each(
        "storage-skewed",
        "stores 7 GiB, the average is 3 GiB",
        "storage_used",
        (7 * GIB, GIB, GIB),
        (6 * GIB, 2 * GIB, GIB),
    ),
    Case(
        "storage-full-uneven",
        scene(*cluster("storage_used", 90, 60, 70, storage_max=100)),
        scene(*cluster("storage_used", 90, 61, 70, storage_max=100)),
        "90% full, n2 60%",
    ),
    each(
        "storage-limit-uneven",
        "may store 49 B, another one 100 B",
        "storage_max",
        (100, 100, 49),
        (100, 100, 50),
    ),
    pair("ha-assets-many", "1,000 replicated", {"ha_assets": 1000}, {"ha_assets": 999}),
    Case(
        "auth-off",
        scene(settings(auth_required=False)),
        scene(settings()),
        "authentication not required, TLS not required",
    ),
    Case("tls-expiring", expires_in(29.9), expires_in(30), "expires in 29d21h: 2023-12-14"),
    Case("tls-expiring", expires_in(-1), scene(settings(tls_required=True)), "expires already"),
    each(
        "version-mixed",
        "version 2.14.6, its cluster has 2.15.1",
        "version",
        ("2.15.1", "2.15.1", "2.14.6"),
        ("2.15.1", "2.15.1", "2.15.1"),
    ),
    each(
        "version-mixed",
        "version 2.9.10, its cluster has 2.10.26",
        "version",
        ("2.10.26", "2.9.10"),
        ("2.10.26", ""),
    ),
    pair("version-known-bad", "issue 7281", {"version": "2.11.8"}, {"version": "2.11.9"}),
    pair("version-known-bad", "scan the stream", {"version": "2.9.14"}, {"version": "2.9.15"}),
    Case(
        "sync-gap",
        of_stream(server(sync_always=False, sync_interval_seconds=120.0)),
        of_stream(server(sync_always=True)),
        "1 stream with one copy, the disk is synced every 2m",
    ),
    Case(
        "sync-gap",
        of_stream(server(sync_always=False)),
        of_stream(server(sync_always=False), replicas=3),
        "1 stream with one copy",
    ),
    Case("clock", clocks(1.2, 0.0), clocks(1.1, 0.1), "+1.200 s"),
    Case("clock", clocks(-0.7, 0.7), clocks(-0.6, 0.6), "-0.700 s"),
    Case("clock", clocks(2.0, 2.0), clocks(2.0, 2.0, unsure=1.5), "is it our own clock?"),
    pair("api-inflight-high", "1,001 API", {"api_inflight": 1001}, {"api_inflight": 1000}),
    Case(
        "payload-large",
        scene(settings(max_payload=8 * MIB + 1)),
        scene(settings(max_payload=8 * MIB)),
        "max_payload 8 MiB",
    ),
    Case(
        "server-unnamed",
        scene(server("NABCDEFGHIJKLMNOP", id="NABCDEFGHIJKLMNOP")),
        scene(server("n1", id="NABCDEFGHIJKLMNOP")),
        "NABCDEFGHIJK",
    ),
)

META: Final = (
    Case("meta-even", meta(4), meta(3), "4 servers survive 1 failure"),
    Case("meta-offline", meta(offline=True), meta(), "1 of 3 are away: n2"),
    Case(
        "meta-disagree",
        scene(*cluster("meta_leader", True, True, False)),
        scene(*cluster("meta_leader", True, False, False)),
        "n1, n2 all say that they lead",
    ),
    Case(
        "meta-disagree",
        looked_twice(naming("n1", "n2"), naming("n1", "n2")),
        looked_twice(naming("n1", "n1"), naming("n1", "n2")),
        "named as leader at both looks: n1, n2",
    ),
    Case("meta-shrunk", looked_twice(meta(5), meta(4)), looked_twice(meta(4), meta(5)), "1m ago 5"),
    Case(
        "meta-snapshot-slow",
        meta(snapshot_seconds=5.0),
        meta(snapshot_seconds=4.9),
        "the last snapshot took 5s",
    ),
    Case("meta-large", assets(1666), assets(1665), "3 copies of streams, 4,998 of consumers"),
    Case(
        "meta-replica-behind",
        looked_twice(meta(lag=501), meta(lag=600)),
        looked_twice(meta(lag=500), meta(lag=600)),
        "600 operations behind",
    ),
)

CASES: Final = (*ACCOUNTS, *SERVERS, *META)
