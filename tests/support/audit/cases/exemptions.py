"""What checks leave alone on purpose: exemptions, exact borders, and what is not known."""

from dataclasses import replace
from typing import Any, Final

from support.audit.cases.consumer_lifecycle import recreated
from support.audit.cases.deliveries import DAY, HOUR, KEY, heard
from support.audit.cases.servers import asked, clocks, cluster, copies_on, meta, naming, reserving
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
from support.audit.contexts import looked_twice, of_account, of_consumer, of_stream, scene
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
    """Nobody keeps the advisory, but somebody hears it."""
    told = PublishSignals({}, {KEY: ConsumerReplies(dead_letter_captured=1)})
    return replace(of_consumer({"max_deliver": 5}), publishes=told)


def unknown_stream() -> AuditContext:
    """A stream that was not read may be the one that keeps the advisories."""
    worker = consumer(config=consumer_config(max_deliver=5))
    return scene(stream(), stream("OTHER", config=None), worker)


def full(**changes: Any) -> AuditContext:
    """Full of messages that are younger than the window, but for what the test changes."""
    plain = {"messages": 10, "max_messages": 10, "first_time": at(NOW - 5), "last_time": at(NOW)}
    return of_stream(**window(120.0, **{**plain, **changes}))


CONSUMERS: Final[tuple[tuple[str, AuditContext], ...]] = (
    ("no-dead-letter", subscribed()),
    ("no-dead-letter", unknown_stream()),
    ("no-dead-letter", of_consumer({"max_deliver": 5, "ack_policy": "none"})),
    ("ack-wait-short", of_consumer({"backoff_seconds": (1.0,)}, history={"p99_time_to_ack": 50.0})),
    ("ack-wait-short", heard({"ack_wait_seconds": 1.0}, Histogram((1.0,), (0, 99), 99.0))),
    ("ack-wait-long", of_consumer({"ack_wait_seconds": HOUR, "backoff_seconds": (1.0,)})),
    (
        "ack-wait-long",
        of_consumer({"ack_wait_seconds": 130.0}, history={"p99_time_to_ack": 13.0}),
    ),
    ("durable-expires", of_consumer({"durable": False, "inactive_threshold_seconds": HOUR})),
    ("ephemeral-lingers", of_consumer({"inactive_threshold_seconds": 2 * DAY})),
    ("ephemeral-worker", of_consumer({}, INTEREST, **OLD)),
    ("state-volatile", of_consumer({"durable": False, "memory_storage": True})),
    (
        "max-ack-pending-high",
        of_consumer({"max_ack_pending": 1000}, history={"peak_ack_pending": 1}),
    ),
    (
        "max-ack-pending-high",
        of_consumer({"max_ack_pending": 2000}, history={"peak_ack_pending": 0}),
    ),
    ("max-ack-pending-low", of_consumer({"max_ack_pending": 9}, history={"p95_ack_pending": 9})),
    ("recreate-hazard", recreated(3, "last_per_subject")),
    ("filter-unmatched", of_consumer({"filters": ("bills",)}, {"mirror": "M"})),
    ("filter-unmatched", of_consumer({"filters": ("bills",)}, {"subjects": ()})),
    ("pause-long", of_consumer(paused=False, pause_remaining_seconds=30 * DAY)),
    ("delivered-below-first", of_consumer(stream_is=INTEREST, **UNSEEN)),
    ("delivered-below-first", of_consumer(stream_is={"kind": "kv"}, **UNSEEN)),
    ("delivered-below-first", of_consumer({"deliver_policy": "last_per_subject"}, **UNSEEN)),
    ("delivered-below-first", of_consumer(**{**UNSEEN, "delivered_consumer_seq": 0})),
    ("consumer-inactive", of_consumer({"durable": False}, **OLD)),
    ("consumer-drained", of_consumer({"durable": False}, OLD, **OLD)),
    ("consumer-drained", of_consumer({}, OLD, num_ack_pending=1, **OLD)),
    ("consumer-drained", of_consumer({}, OLD, created=at(NOW - 30 * DAY))),
    ("interest-held", of_consumer({"durable": False}, INTEREST, **HELD)),
    ("interest-held", of_consumer({}, {"retention": "limits"}, **HELD)),
    ("interest-held", of_consumer({}, INTEREST, **{**HELD, "num_pending": 0})),
    ("interest-held", of_consumer({}, INTEREST, push_bound=True, **HELD)),
    ("interest-held", of_consumer({}, INTEREST, paused=True, **HELD)),
    ("interest-held", of_consumer({}, INTEREST, **{**HELD, "created": at(NOW - 7 * DAY)})),
    ("horizon-over-retention", of_consumer({}, {"max_age_seconds": 1.0})),
    ("ack-wait-over-retention", of_consumer({"max_deliver": 3}, {"max_age_seconds": 1.0})),
)

STREAMS: Final[tuple[tuple[str, AuditContext], ...]] = (
    ("dupe-window-short", of_stream(**window(1.0, kind="kv"))),
    ("dupe-window-clipped", of_stream(**window(60.0, max_age_seconds=60.0, mirror="M"))),
    ("dupe-window-clipped", of_stream(**window(60.0, max_age_seconds=60.0, kind="object"))),
    ("dupe-window-clipped", of_stream(**window(120.0, max_age_seconds=120.0))),
    ("dupe-window-off", of_stream(sourced=False)),
    ("dupe-window-off", of_stream(sourced=True, mirror="M")),
    ("dupe-window-costly", grown(6000, **window(3600.0, mirror="M"))),
    ("dupe-not-restart-safe", of_stream(**window(120.0, retention="workqueue", kind="kv"))),
    ("dupe-not-restart-safe", of_stream(**window(120.0, retention="workqueue", mirror="M"))),
    ("dupe-not-restart-safe", full(messages=8)),
    ("dupe-not-restart-safe", full(discard="new")),
    ("dupe-not-restart-safe", full(first_time=None)),
    ("dupe-not-restart-safe", full(last_time=None)),
    ("dupe-not-restart-safe", full(max_messages=None, max_bytes=100, bytes=89)),
    ("ids-missing", sampled(0, 1, mirror="M")),
    ("ids-missing", of_stream(sample={("APP", "ORDERS"): MessageSample(0, 0)}, **window(600.0))),
    ("retention-vs-lag", of_stream(consumer(), max_messages=100, history={"worst_backlog": 50.0})),
    ("dead-letter-body-gone", read_by({"max_deliver": 5, "ack_policy": "none"}, max_age_seconds=9.0)),
    ("interest-orphan", grown(6, retention="interest", mirror="M")),
    ("workqueue-drops", of_stream(retention="interest", max_messages=5)),
    ("kv-grows", of_stream(kind="stream", deleted=200_000)),
    ("kv-expiry-silent", of_stream(kind="stream", max_age_seconds=DAY)),
    ("large-uncompressed", of_stream(kind="object", bytes=2 * GIB)),
    ("large-uncompressed", of_stream(storage="memory", bytes=2 * GIB)),
    ("deletes-many", of_stream(first_seq=1, last_seq=99_999, deleted=90_000)),
    ("deletes-many", of_stream(kind="kv", first_seq=1, last_seq=200_000, deleted=190_000)),
    (
        "deletes-many",
        of_stream(max_messages_per_subject=1, first_seq=1, last_seq=200_000, deleted=190_000),
    ),
    ("messages-large", of_stream(kind="object", messages=1, bytes=9 * MIB)),
    ("subjects-inconsistent", of_stream(state_subjects=3, messages=3)),
    ("direct-get-off", of_stream(replicas=3, mirror="M")),
    ("direct-get-off", of_stream(replicas=1)),
    ("discard-new-unlimited", of_stream(discard="new", kind="kv")),
    ("discard-new-unlimited", of_stream(discard="new", max_messages=5)),
    ("discard-new-unlimited", of_stream(discard="new", max_bytes=5)),
    ("discard-new-unlimited", of_stream(discard="old")),
    ("stream-limit-near", of_stream(discard="new", messages=9, max_messages=9)),
    ("stream-limit-near", of_stream(discard="new", bytes=89, max_bytes=100)),
    ("inactive", of_stream(kind="kv", **LONG_AGO)),
    ("inactive", of_stream(mirror="M", **LONG_AGO)),
    ("inactive", of_stream(sealed=True, **LONG_AGO)),
    ("over-replicated-inactive", of_stream(replicas=3, kind="object", **LONG_AGO)),
    ("over-replicated-inactive", of_stream(replicas=3, mirror="M", **LONG_AGO)),
    ("over-replicated-inactive", of_stream(replicas=3, sealed=True, **LONG_AGO)),
    (
        "over-replicated-inactive",
        of_stream(replicas=3, last_seq=4, last_time=THIRTY_DAYS_AGO),
    ),
    ("unread", grown(6, kind="kv")),
    ("unread", grown(6, republish=True)),
    ("unread", grown(6, subjects=("$JS.EVENT.ADVISORY.>",))),
    ("raft-peers", of_stream(**peers(1, replicas=1))),
    ("workqueue-unread-subject", queue_of(subjects=("orders.a",))),
    (
        "workqueue-unread-subject",
        of_stream(
            consumer(config=consumer_config(filters=("orders.a",))),
            retention="workqueue", consumers=2, subjects=("orders.a", "orders.b"),
        ),
    ),
    (
        "workqueue-unread-subject",
        of_stream(
            consumer(config=consumer_config(filters=("orders.a",))),
            retention="workqueue", consumers=1, subjects=("orders.a", "orders.b"), transformed=True,
        ),
    ),
    (
        "workqueue-unread-subject",
        of_stream(
            consumer("a", config=consumer_config(filters=("orders.a",))),
            consumer("b"),
            retention="workqueue", consumers=2, subjects=("orders.a", "orders.b"),
        ),
    ),
)  # fmt: skip

SERVERS: Final[tuple[tuple[str, AuditContext], ...]] = (
    ("replicas-one", of_stream(replicas=1)),
    ("account-overcommitted", reserving(85, 1, 100)),
    ("account-streams-near-limit", of_account(streams=9)),
    ("account-consumers-near-limit", of_account(consumers=9)),
    ("api-errors", asked((1000, 0), (900, 900))),
    ("api-errors", asked((0, 900), (1000, 0))),
    ("replicas-skewed", copies_on(15, 8, 7)),
    ("storage-skewed", scene(*cluster("storage_used", GIB - 1, 0, 0))),
    ("storage-full-uneven", scene(*cluster("storage_used", 89, 0, storage_max=100))),
    ("storage-full-uneven", scene(server("n1", storage_used=95, storage_max=100))),
    ("storage-limit-uneven", scene(*cluster("storage_max", 100, None))),
    ("version-mixed", scene(*cluster("version", "2.15.1", "2.14.6", up=False))),
    ("version-known-bad", scene(server(version="2.9.10", up=False))),
    ("server-unnamed", scene(server("N1", id="N1", up=False))),
    ("clock", clocks(0.5, -0.5)),
    ("meta-disagree", naming("n1", "n2")),
    ("meta-disagree", looked_twice(naming("n1", "n2"), naming("n1", "n1"))),
    ("meta-shrunk", looked_twice(meta(5), meta(5))),
    ("meta-shrunk", looked_twice(meta(5), scene(meta=MetaGroup(leader="", size=3)))),
    ("meta-even", scene(meta=MetaGroup(leader="n1"))),
)

CASES: Final = (*CONSUMERS, *STREAMS, *SERVERS)
