"""Contexts without findings: exemptions, exact thresholds and unknown data."""

from dataclasses import replace
from typing import Any, Final

from support.audit.cases.consumer_lifecycle import recreated
from support.audit.cases.deliveries import DAY, HOUR, KEY, sampled_acks
from support.audit.cases.servers import (
    api_requests,
    clocks,
    cluster,
    copies_on,
    meta,
    naming,
    reserving,
)
from support.audit.cases.stream_lifecycle import (
    GIB,
    MIB,
    MONTH_AGO,
    THIRTY_DAYS_AGO,
    grown,
    queue_of,
    read_by,
    sampled,
    window,
)
from support.audit.cases.stream_size import peers
from support.audit.contexts import (
    account_context,
    audit_context,
    consumer_context,
    polled_twice,
    stream_context,
)
from support.exporter.models import NOW, at, consumer, consumer_config, server, stream

from exporter.audit.context import AuditContext, MessageSample
from exporter.exposition.histogram import Histogram
from exporter.model import MetaGroup
from exporter.signals.publishes.engine import ConsumerReplies, PublishSignals

OLD: Final = {"created": at(NOW - 40 * DAY)}
LONG_AGO: Final = {"last_seq": 4, "last_time": MONTH_AGO}
HELD: Final[dict[str, Any]] = {"num_pending": 7, "created": at(NOW - 8 * DAY)}
INTEREST: Final = {"retention": "interest"}
UNSEEN: Final = {"delivered_consumer_seq": 4, "delivered_stream_seq": 4, "stream_first_seq": 9}


def subscribed() -> AuditContext:
    """No stream stores the advisory, but a client subscribes to it."""
    publishes = PublishSignals({}, {KEY: ConsumerReplies(dead_letter_captured=1)})
    return replace(consumer_context({"max_deliver": 5}), publishes=publishes)


def unknown_stream() -> AuditContext:
    """A stream of unknown configuration may store the advisories."""
    worker = consumer(config=consumer_config(max_deliver=5))
    return audit_context(stream(), stream("OTHER", config=None), worker)


def full(**changes: Any) -> AuditContext:
    """A full stream with messages younger than the window, with changes."""
    plain = {"messages": 10, "max_messages": 10, "first_time": at(NOW - 5), "last_time": at(NOW)}
    return stream_context(**window(120.0, **{**plain, **changes}))


CONSUMERS: Final[tuple[tuple[str, AuditContext], ...]] = (
    ("no-dead-letter", subscribed()),
    ("no-dead-letter", unknown_stream()),
    ("no-dead-letter", consumer_context({"max_deliver": 5, "ack_policy": "none"})),
    (
        "ack-wait-short",
        consumer_context({"backoff_seconds": (1.0,)}, history={"p99_time_to_ack": 50.0}),
    ),
    ("ack-wait-short", sampled_acks({"ack_wait_seconds": 1.0}, Histogram((1.0,), (0, 99), 99.0))),
    ("ack-wait-long", consumer_context({"ack_wait_seconds": HOUR, "backoff_seconds": (1.0,)})),
    (
        "ack-wait-long",
        consumer_context({"ack_wait_seconds": 130.0}, history={"p99_time_to_ack": 13.0}),
    ),
    ("durable-expires", consumer_context({"durable": False, "inactive_threshold_seconds": HOUR})),
    ("ephemeral-lingers", consumer_context({"inactive_threshold_seconds": 2 * DAY})),
    ("ephemeral-worker", consumer_context({}, INTEREST, **OLD)),
    ("state-volatile", consumer_context({"durable": False, "memory_storage": True})),
    (
        "max-ack-pending-high",
        consumer_context({"max_ack_pending": 1000}, history={"peak_ack_pending": 1}),
    ),
    (
        "max-ack-pending-high",
        consumer_context({"max_ack_pending": 2000}, history={"peak_ack_pending": 0}),
    ),
    (
        "max-ack-pending-low",
        consumer_context({"max_ack_pending": 9}, history={"p95_ack_pending": 9}),
    ),
    ("recreate-hazard", recreated(3, "last_per_subject")),
    ("filter-unmatched", consumer_context({"filters": ("bills",)}, {"mirror": "M"})),
    ("filter-unmatched", consumer_context({"filters": ("bills",)}, {"subjects": ()})),
    ("pause-long", consumer_context(paused=False, pause_remaining_seconds=30 * DAY)),
    ("delivered-below-first", consumer_context(stream_is=INTEREST, **UNSEEN)),
    ("delivered-below-first", consumer_context(stream_is={"kind": "kv"}, **UNSEEN)),
    ("delivered-below-first", consumer_context({"deliver_policy": "last_per_subject"}, **UNSEEN)),
    ("delivered-below-first", consumer_context(**{**UNSEEN, "delivered_consumer_seq": 0})),
    ("consumer-inactive", consumer_context({"durable": False}, **OLD)),
    ("consumer-drained", consumer_context({"durable": False}, OLD, **OLD)),
    ("consumer-drained", consumer_context({}, OLD, num_ack_pending=1, **OLD)),
    ("consumer-drained", consumer_context({}, OLD, created=at(NOW - 30 * DAY))),
    ("interest-held", consumer_context({"durable": False}, INTEREST, **HELD)),
    ("interest-held", consumer_context({}, {"retention": "limits"}, **HELD)),
    ("interest-held", consumer_context({}, INTEREST, **{**HELD, "num_pending": 0})),
    ("interest-held", consumer_context({}, INTEREST, push_bound=True, **HELD)),
    ("interest-held", consumer_context({}, INTEREST, paused=True, **HELD)),
    ("interest-held", consumer_context({}, INTEREST, **{**HELD, "created": at(NOW - 7 * DAY)})),
    ("horizon-over-retention", consumer_context({}, {"max_age_seconds": 1.0})),
    ("ack-wait-over-retention", consumer_context({"max_deliver": 3}, {"max_age_seconds": 1.0})),
)

STREAMS: Final[tuple[tuple[str, AuditContext], ...]] = (
    ("dupe-window-short", stream_context(**window(1.0, kind="kv"))),
    ("dupe-window-clipped", stream_context(**window(60.0, max_age_seconds=60.0, mirror="M"))),
    ("dupe-window-clipped", stream_context(**window(60.0, max_age_seconds=60.0, kind="object"))),
    ("dupe-window-clipped", stream_context(**window(120.0, max_age_seconds=120.0))),
    ("dupe-window-off", stream_context(sourced=False)),
    ("dupe-window-off", stream_context(sourced=True, mirror="M")),
    ("dupe-window-costly", grown(6000, **window(3600.0, mirror="M"))),
    ("dupe-not-restart-safe", stream_context(**window(120.0, retention="workqueue", kind="kv"))),
    ("dupe-not-restart-safe", stream_context(**window(120.0, retention="workqueue", mirror="M"))),
    ("dupe-not-restart-safe", full(messages=8)),
    ("dupe-not-restart-safe", full(discard="new")),
    ("dupe-not-restart-safe", full(first_time=None)),
    ("dupe-not-restart-safe", full(last_time=None)),
    ("dupe-not-restart-safe", full(max_messages=None, max_bytes=100, bytes=89)),
    ("ids-missing", sampled(0, 1, mirror="M")),
    ("ids-missing", stream_context(sample={("APP", "ORDERS"): MessageSample(0, 0)}, **window(600.0))),
    ("retention-vs-lag", stream_context(consumer(), max_messages=100, history={"worst_backlog": 50.0})),
    ("dead-letter-body-gone", read_by({"max_deliver": 5, "ack_policy": "none"}, max_age_seconds=9.0)),
    ("interest-orphan", grown(6, retention="interest", mirror="M")),
    ("workqueue-drops", stream_context(retention="interest", max_messages=5)),
    ("kv-grows", stream_context(kind="stream", deleted=200_000)),
    ("kv-expiry-silent", stream_context(kind="stream", max_age_seconds=DAY)),
    ("large-uncompressed", stream_context(kind="object", bytes=2 * GIB)),
    ("large-uncompressed", stream_context(storage="memory", bytes=2 * GIB)),
    ("deletes-many", stream_context(first_seq=1, last_seq=99_999, deleted=90_000)),
    ("deletes-many", stream_context(kind="kv", first_seq=1, last_seq=200_000, deleted=190_000)),
    (
        "deletes-many",
        stream_context(max_messages_per_subject=1, first_seq=1, last_seq=200_000, deleted=190_000),
    ),
    ("messages-large", stream_context(kind="object", messages=1, bytes=9 * MIB)),
    ("subjects-inconsistent", stream_context(state_subjects=3, messages=3)),
    ("direct-get-off", stream_context(replicas=3, mirror="M")),
    ("direct-get-off", stream_context(replicas=1)),
    ("discard-new-unlimited", stream_context(discard="new", kind="kv")),
    ("discard-new-unlimited", stream_context(discard="new", max_messages=5)),
    ("discard-new-unlimited", stream_context(discard="new", max_bytes=5)),
    ("discard-new-unlimited", stream_context(discard="old")),
    ("stream-limit-near", stream_context(discard="new", messages=9, max_messages=9)),
    ("stream-limit-near", stream_context(discard="new", bytes=89, max_bytes=100)),
    ("inactive", stream_context(kind="kv", **LONG_AGO)),
    ("inactive", stream_context(mirror="M", **LONG_AGO)),
    ("inactive", stream_context(sealed=True, **LONG_AGO)),
    ("over-replicated-inactive", stream_context(replicas=3, kind="object", **LONG_AGO)),
    ("over-replicated-inactive", stream_context(replicas=3, mirror="M", **LONG_AGO)),
    ("over-replicated-inactive", stream_context(replicas=3, sealed=True, **LONG_AGO)),
    (
        "over-replicated-inactive",
        stream_context(replicas=3, last_seq=4, last_time=THIRTY_DAYS_AGO),
    ),
    ("unread", grown(6, kind="kv")),
    ("unread", grown(6, republish=True)),
    ("unread", grown(6, subjects=("$JS.EVENT.ADVISORY.>",))),
    ("raft-peers", stream_context(**peers(1, replicas=1))),
    ("workqueue-unread-subject", queue_of(subjects=("orders.a",))),
    (
        "workqueue-unread-subject",
        stream_context(
            consumer(config=consumer_config(filters=("orders.a",))),
            retention="workqueue", consumers=2, subjects=("orders.a", "orders.b"),
        ),
    ),
    (
        "workqueue-unread-subject",
        stream_context(
            consumer(config=consumer_config(filters=("orders.a",))),
            retention="workqueue", consumers=1, subjects=("orders.a", "orders.b"), transformed=True,
        ),
    ),
    (
        "workqueue-unread-subject",
        stream_context(
            consumer("a", config=consumer_config(filters=("orders.a",))),
            consumer("b"),
            retention="workqueue", consumers=2, subjects=("orders.a", "orders.b"),
        ),
    ),
)  # fmt: skip

SERVERS: Final[tuple[tuple[str, AuditContext], ...]] = (
    ("replicas-one", stream_context(replicas=1)),
    ("account-overcommitted", reserving(85, 1, 100)),
    ("account-streams-near-limit", account_context(streams=9)),
    ("account-consumers-near-limit", account_context(consumers=9)),
    ("api-errors", api_requests((1000, 0), (900, 900))),
    ("api-errors", api_requests((0, 900), (1000, 0))),
    ("replicas-skewed", copies_on(15, 8, 7)),
    ("storage-skewed", audit_context(*cluster("storage_used", GIB - 1, 0, 0))),
    ("storage-full-uneven", audit_context(*cluster("storage_used", 89, 0, storage_max=100))),
    ("storage-full-uneven", audit_context(server("n1", storage_used=95, storage_max=100))),
    ("storage-limit-uneven", audit_context(*cluster("storage_max", 100, None))),
    ("version-mixed", audit_context(*cluster("version", "2.15.1", "2.14.6", up=False))),
    ("version-known-bad", audit_context(server(version="2.9.10", up=False))),
    ("server-unnamed", audit_context(server("N1", id="N1", up=False))),
    ("clock", clocks(0.5, -0.5)),
    ("meta-disagree", naming("n1", "n2")),
    ("meta-disagree", polled_twice(naming("n1", "n2"), naming("n1", "n1"))),
    ("meta-shrunk", polled_twice(meta(5), meta(5))),
    ("meta-shrunk", polled_twice(meta(5), audit_context(meta=MetaGroup(leader="", size=3)))),
    ("meta-even", audit_context(meta=MetaGroup(leader="n1"))),
)

CASES: Final = (*CONSUMERS, *STREAMS, *SERVERS)
