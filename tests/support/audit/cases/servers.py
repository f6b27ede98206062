"""Cases of checks on accounts, servers and the meta group."""

from datetime import UTC, datetime, timedelta
from typing import Any, Final

from support.audit.contexts import (
    Case,
    account_context,
    audit_context,
    polled_twice,
    stream_context,
    stream_row,
)
from support.exporter.models import NOW, consumer, consumer_config, server, stream, stream_config

from exporter.audit.context import AuditContext
from exporter.model import Account, ClockEstimate, MetaGroup, Replica, Server, ServerSettings

GIB: Final = 1 << 30
MIB: Final = 1 << 20


def pair(code: str, evidence: str, bad: dict[str, Any], good: dict[str, Any]) -> Case:
    return Case(code, audit_context(server(**bad)), audit_context(server(**good)), evidence)


def cluster(field: str, *values: Any, **more: Any) -> tuple[Server, ...]:
    """Servers n1, n2, ... of one cluster, each with its value of `field`."""
    return tuple(
        server(f"n{place}", cluster="C1", jetstream=True, **{field: value, **more})
        for place, value in enumerate(values, start=1)
    )


def each(code: str, evidence: str, field: str, bad: tuple[Any, ...], good: tuple[Any, ...]) -> Case:
    return Case(
        code, audit_context(*cluster(field, *bad)), audit_context(*cluster(field, *good)), evidence
    )


def settings(**changes: Any) -> Server:
    plain = {"auth_required": True, "tls_required": False}
    return server(settings=ServerSettings(**{**plain, **changes}))


def expires_in(days: float) -> AuditContext:
    return audit_context(
        settings(tls_expires=datetime.fromtimestamp(NOW, UTC) + timedelta(days=days))
    )


def copies_on(*counts: int) -> AuditContext:
    """This many streams with one replica on each server."""
    rows = [
        stream(f"S{place}-{number}", leader=f"n{place}", hosts=(f"n{place}",))
        for place, count in enumerate(counts, start=1)
        for number in range(count)
    ]
    return audit_context(*rows, *cluster("storage_used", *(0 for _ in counts)))


def api_requests(before: tuple[int, int], after: tuple[int, int]) -> AuditContext:
    polls = [audit_context(accounts=(Account("APP", (), *numbers),)) for numbers in (before, after)]
    return polled_twice(*polls)


def reserving(max_bytes: int, replicas: int, limit: int, tier: str = "") -> AuditContext:
    row = stream(config=stream_config(max_bytes=max_bytes, replicas=replicas))
    account = account_context(tier=tier, storage_limit=limit).accounts[0]
    return audit_context(row, accounts=(account,))


def clocks(*offsets: float, unsure: float = 0.1) -> AuditContext:
    estimates = [ClockEstimate(offset, unsure, 2 * unsure) for offset in offsets]
    rows = [server(f"n{n}", clock=each) for n, each in enumerate(estimates, start=1)]
    return audit_context(*rows)


def meta(size: int = 3, lag: int = 0, *, offline: bool = False, **more: Any) -> AuditContext:
    peers = tuple(Replica(f"n{n}", lag, offline and n == 2, 0.1) for n in range(2, size + 1))
    return audit_context(meta=MetaGroup(leader="n1", size=size, replicas=peers, **more))


def naming(*seen: str) -> AuditContext:
    return audit_context(*cluster("meta_leader_seen", *seen, meta_leader=False))


def assets(count: int) -> AuditContext:
    rows = [consumer(f"c{n}", config=consumer_config(replicas=0)) for n in range(count)]
    return audit_context(stream_row(replicas=3), *rows, *cluster("storage_used", 0, 0, 0))


ACCOUNTS: Final = (
    Case(
        "account-unlimited",
        account_context(storage_unlimited=True, memory_unlimited=True),
        account_context(storage_unlimited=None, memory_unlimited=False),
        "no storage and no memory limit",
    ),
    Case(
        "account-overcommitted",
        reserving(29, 3, 100),
        reserving(28, 3, 100),
        "max_bytes of file streams: 87 B of 100 B",
    ),
    Case("account-overcommitted", reserving(29, 3, 100), reserving(29, 3, 100, "R3"), "87 B"),
    Case(
        "account-streams-near-limit",
        account_context(streams=9, streams_limit=10),
        account_context(streams=8, streams_limit=10),
        "9 streams, limit 10",
    ),
    Case(
        "account-consumers-near-limit",
        account_context(consumers=90, consumers_limit=100),
        account_context(consumers=89, consumers_limit=100),
        "90 consumers, limit 100",
    ),
    Case(
        "api-errors",
        api_requests((1000, 50), (1200, 53)),
        api_requests((1000, 50), (1200, 52)),
        "3 of 200 API requests failed in 1m",
    ),
    Case(
        "api-errors", api_requests((0, 0), (100, 100)), api_requests((0, 0), (99, 99)), "100 of 100"
    ),
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
        "90 B of 100 B storage reserved",
        {"storage_reserved": 90, "storage_max": 100},
        {"storage_reserved": 89, "storage_max": 100},
    ),
    each(
        "stream-leaders-skewed",
        "leads 16 streams, average 10.0",
        "stream_leaders",
        (16, 7, 7),
        (15, 8, 7),
    ),
    each("stream-leaders-skewed", "leads 10", "stream_leaders", (10, 0, 0), (9, 0, 0)),
    each("stream-leaders-skewed", "leads 16", "stream_leaders", (16, 7, 7), (16, None, 7)),
    each(
        "consumer-leaders-skewed",
        "leads 31 consumers, average 20.0",
        "consumer_leaders",
        (31, 15, 14),
        (30, 15, 15),
    ),
    Case("replicas-skewed", copies_on(10, 1, 1), copies_on(10, 6, 5), "holds 10 replicas"),
    each(
        "storage-skewed",
        "stores 7 GiB, average 3 GiB",
        "storage_used",
        (7 * GIB, GIB, GIB),
        (6 * GIB, 2 * GIB, GIB),
    ),
    Case(
        "storage-full-uneven",
        audit_context(*cluster("storage_used", 90, 60, 70, storage_max=100)),
        audit_context(*cluster("storage_used", 90, 61, 70, storage_max=100)),
        "90% full, n2 60%",
    ),
    each(
        "storage-limit-uneven",
        "storage limit 49 B, largest in the cluster 100 B",
        "storage_max",
        (100, 100, 49),
        (100, 100, 50),
    ),
    pair("ha-assets-many", "1,000 replicated", {"ha_assets": 1000}, {"ha_assets": 999}),
    Case(
        "auth-off",
        audit_context(settings(auth_required=False)),
        audit_context(settings()),
        "authentication not required, TLS not required",
    ),
    Case("tls-expiring", expires_in(29.9), expires_in(30), "expires in 29d21h: 2023-12-14"),
    Case(
        "tls-expiring",
        expires_in(-1),
        audit_context(settings(tls_required=True)),
        "expires already",
    ),
    each(
        "version-mixed",
        "version 2.14.6, most of its cluster 2.15.1",
        "version",
        ("2.15.1", "2.15.1", "2.14.6"),
        ("2.15.1", "2.15.1", "2.15.1"),
    ),
    each(
        "version-mixed",
        "version 2.9.10, most of its cluster 2.10.26",
        "version",
        ("2.10.26", "2.9.10"),
        ("2.10.26", ""),
    ),
    pair("version-known-bad", "issue 7281", {"version": "2.11.8"}, {"version": "2.11.9"}),
    pair("version-known-bad", "scan the stream", {"version": "2.9.14"}, {"version": "2.9.15"}),
    Case(
        "sync-gap",
        stream_context(server(sync_always=False, sync_interval_seconds=120.0)),
        stream_context(server(sync_always=True)),
        "1 stream with one replica, synced every 2m",
    ),
    Case(
        "sync-gap",
        stream_context(server(sync_always=False)),
        stream_context(server(sync_always=False), replicas=3),
        "1 stream with one replica",
    ),
    Case("clock", clocks(1.2, 0.0), clocks(1.1, 0.1), "+1.200 s"),
    Case("clock", clocks(-0.7, 0.7), clocks(-0.6, 0.6), "-0.700 s"),
    Case("clock", clocks(2.0, 2.0), clocks(2.0, 2.0, unsure=1.5), "check the local clock"),
    pair("api-inflight-high", "1,001 API", {"api_inflight": 1001}, {"api_inflight": 1000}),
    Case(
        "payload-large",
        audit_context(settings(max_payload=8 * MIB + 1)),
        audit_context(settings(max_payload=8 * MIB)),
        "max_payload 8 MiB",
    ),
    Case(
        "server-unnamed",
        audit_context(server("NABCDEFGHIJKLMNOP", id="NABCDEFGHIJKLMNOP")),
        audit_context(server("n1", id="NABCDEFGHIJKLMNOP")),
        "NABCDEFGHIJK",
    ),
)

META: Final = (
    Case("meta-even", meta(4), meta(3), "4 servers tolerate 1 failure"),
    Case("meta-offline", meta(offline=True), meta(), "1 of 3 servers offline: n2"),
    Case(
        "meta-disagree",
        audit_context(*cluster("meta_leader", True, True, False)),
        audit_context(*cluster("meta_leader", True, False, False)),
        "n1, n2 all claim to be meta leader",
    ),
    Case(
        "meta-disagree",
        polled_twice(naming("n1", "n2"), naming("n1", "n2")),
        polled_twice(naming("n1", "n1"), naming("n1", "n2")),
        "different leaders in both polls: n1, n2",
    ),
    Case(
        "meta-shrunk",
        polled_twice(meta(5), meta(4)),
        polled_twice(meta(4), meta(5)),
        "4 servers, 5 servers 1m ago",
    ),
    Case(
        "meta-snapshot-slow",
        meta(snapshot_seconds=5.0),
        meta(snapshot_seconds=4.9),
        "the last snapshot took 5s",
    ),
    Case("meta-large", assets(1666), assets(1665), "3 stream replicas, 4,998 consumer replicas"),
    Case(
        "meta-replica-behind",
        polled_twice(meta(lag=501), meta(lag=600)),
        polled_twice(meta(lag=500), meta(lag=600)),
        "600 operations behind",
    ),
)

CASES: Final = (*ACCOUNTS, *SERVERS, *META)
