"""Cases of checks on the replicas and the size of streams."""

from typing import Any, Final

from support.audit.cases.stream_lifecycle import DAY, GIB, LIMITED, MIB, MONTH_AGO, owner, pair
from support.audit.contexts import Case, stream_context
from support.exporter.models import consumer, consumer_config, server

from exporter.audit.context import AuditContext
from exporter.model import Replica


def peers(count: int, **config: Any) -> dict[str, Any]:
    others = tuple(Replica(f"n{number}", 0, False, 0.1) for number in range(2, count + 1))
    return {"state_replicas": others, **config}


def in_cluster(size: int, **config: Any) -> AuditContext:
    names = [f"n{number}" for number in range(1, size + 1)]
    return stream_context(*(server(name, cluster="C1", jetstream=True) for name in names), **config)


def ephemerals(count: int) -> AuditContext:
    config = consumer_config(durable=False)
    rows = [consumer(f"e{number}", config=config) for number in range(count)]
    return stream_context(*rows, consumers=count)


COPIES: Final = (
    Case(
        "replicas-one",
        in_cluster(3, replicas=1),
        in_cluster(2, replicas=1),
        "1 replica on n1, 3 servers in the cluster",
    ),
    Case("replicas-one", in_cluster(3, replicas=1), in_cluster(3, replicas=3), "1 replica"),
    pair("replicas-even", "2 replicas tolerate 0 failures", {"replicas": 2}, {"replicas": 3}),
    pair(
        "replicas-memory-one",
        "memory, 1 replica",
        {"storage": "memory"},
        {"storage": "memory", "replicas": 3},
    ),
    pair(
        "peers-unexpected",
        "1 peer, peer-expect 3",
        peers(1, **owner("peer-expect", 3)),
        peers(3, **owner("peer-expect", 3)),
    ),
    pair("raft-peers", "2 peers, num_replicas 3", peers(2, replicas=3), peers(3, replicas=3)),
    pair("raft-peers", "3 peers, num_replicas 1", peers(3, replicas=1), peers(1, replicas=1)),
    pair(
        "direct-get-off",
        "3 replicas, allow_direct false",
        {"replicas": 3},
        {"replicas": 3, "allow_direct": True},
    ),
    pair(
        "over-replicated-inactive",
        "3 replicas, 3 KiB in total, nothing stored for 31d",
        {"replicas": 3, "bytes": 1024, "last_seq": 4, "last_time": MONTH_AGO},
        {"replicas": 2, "bytes": 1024, "last_seq": 4, "last_time": MONTH_AGO},
    ),
)

SIZES: Final = (
    pair("no-limits", "3 messages, 120 B", {"messages": 3, "bytes": 120}, LIMITED),
    pair("no-limits", "no limit", {}, {"sealed": True}),
    pair(
        "kv-grows",
        "100,001 deleted",
        {"kind": "kv", "deleted": 100_001},
        {"kind": "kv", "deleted": 100_000},
    ),
    pair(
        "kv-grows",
        "no max_age",
        {"kind": "kv", "deleted": 100_001},
        {"kind": "kv", "deleted": 100_001, "max_age_seconds": DAY},
    ),
    pair(
        "kv-expiry-silent",
        "values expire after 1d",
        {"kind": "kv", "max_age_seconds": DAY},
        {"kind": "kv", "max_age_seconds": DAY, "delete_markers": True},
    ),
    pair(
        "large-uncompressed",
        "1 GiB on disk",
        {"bytes": GIB + 1},
        {"bytes": GIB},
    ),
    pair(
        "large-uncompressed",
        "uncompressed",
        {"bytes": GIB + 1},
        {"bytes": GIB + 1, "compression": "s2"},
    ),
    pair(
        "large-in-memory",
        "100 MiB in memory, 1 replica",
        {"storage": "memory", "bytes": 100 * MIB + 1},
        {"storage": "memory", "bytes": 100 * MIB},
    ),
    pair(
        "subjects-many",
        "1,000,000 subjects",
        {"state_subjects": 1_000_000, "messages": 2_000_000},
        {"state_subjects": 999_999, "messages": 2_000_000},
    ),
    pair(
        "subjects-inconsistent",
        "4 subjects, 3 messages",
        {"state_subjects": 4, "messages": 3},
        {"state_subjects": 4, "messages": 0},
    ),
    pair(
        "deletes-many",
        "50,001 of 100,000 sequences",
        {"first_seq": 1, "last_seq": 100_000, "deleted": 50_001},
        {"first_seq": 1, "last_seq": 100_000, "deleted": 50_000},
    ),
    pair(
        "deletes-many",
        "1,000,001 of",
        {"kind": "kv", "first_seq": 1, "last_seq": 1_000_100, "deleted": 1_000_001},
        {"kind": "kv", "first_seq": 1, "last_seq": 1_000_100, "deleted": 1_000_000},
    ),
    pair(
        "messages-large",
        "2 MiB on average of 3 messages",
        {"messages": 3, "bytes": 6 * MIB},
        {"messages": 6, "bytes": 6 * MIB},
    ),
    pair(
        "stream-limit-near",
        "90 of 100 messages, discard new",
        {"discard": "new", "messages": 90, **LIMITED},
        {"discard": "new", "messages": 89, **LIMITED},
    ),
    pair(
        "stream-limit-near",
        "950 B of 1,000 B",
        {"discard": "new", "bytes": 950, "max_bytes": 1000},
        {"discard": "old", "bytes": 950, "max_bytes": 1000},
    ),
    pair(
        "discard-new-unlimited",
        "discard new, no limit",
        {"discard": "new", "max_messages_per_subject": 5},
        {"discard": "new", "max_messages_per_subject": 5, "discard_new_per_subject": True},
    ),
    pair(
        "consumers-near-limit",
        "9 consumers, limit 10",
        {"max_consumers": 10, "consumers": 9},
        {"max_consumers": 10, "consumers": 8},
    ),
    pair(
        "consumers-near-limit",
        "10 consumers, limit 10",
        {"max_consumers": 10, "consumers": 10},
        {"max_consumers": 9, "consumers": 9},
    ),
    Case("ephemerals-many", ephemerals(100), ephemerals(99), "100 of 100 consumers are ephemeral"),
    Case(
        "consumers-growing",
        stream_context(consumers=900, history={"consumer_growth": 500.0}),
        stream_context(consumers=900, history={"consumer_growth": 499.0}),
        "500 more consumers than a day ago, 900 now",
    ),
)

CASES: Final = (*COPIES, *SIZES)
