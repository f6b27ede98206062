"""Cases of checks on duplicates, losses and the life cycle of streams."""

from dataclasses import replace
from typing import Any, Final

from support.audit.contexts import Case, audit_context, polled_twice, stream_context, stream_row
from support.exporter.models import NOW, at, consumer, consumer_config

from exporter.audit.context import AuditContext, MessageSample
from exporter.model import OwnerNotes, StreamOrigin, Thresholds
from exporter.signals.publishes.engine import PublishSignals, StreamPublishes
from exporter.signals.results import Signals, StreamSignals

DAY: Final = 86400.0
GIB: Final = 1 << 30
MIB: Final = 1 << 20
KEY: Final = ("APP", "ORDERS")
MONTH_AGO: Final = at(NOW - 31 * DAY)
THIRTY_DAYS_AGO: Final = at(NOW - 30 * DAY)


def pair(code: str, evidence: str, bad: dict[str, Any], good: dict[str, Any]) -> Case:
    return Case(code, stream_context(**bad), stream_context(**good), evidence)


def window(seconds: float, **more: Any) -> dict[str, Any]:
    return {"duplicate_window_seconds": seconds, **more}


def with_ids(ids: int) -> AuditContext:
    signals = StreamSignals(
        recreated=0,
        regressions=0,
        leader_changes=0,
        purged=0,
        consumers_removed=0,
        divergence=(),
        dedupe_window_messages=ids,
    )
    return replace(stream_context(**window(120.0)), signals=Signals(streams={KEY: signals}))


def grown(by: int, *others: Any, **config: Any) -> AuditContext:
    """A stream whose last sequence rose between two polls."""
    return polled_twice(
        stream_context(*others, last_seq=10, **config),
        stream_context(*others, last_seq=10 + by, **config),
    )


def sampled(with_id: int, duplicates: int = 0, **config: Any) -> AuditContext:
    signals = StreamPublishes(received=100, unstored=0, dedupe_hits=duplicates, dedupe_exact=1)
    seen = stream_context(sample={KEY: MessageSample(100, with_id)}, **config)
    return replace(seen, publishes=PublishSignals({KEY: signals}, {}))


def read_by(config: dict[str, Any], /, **stream: Any) -> AuditContext:
    return stream_context(consumer(config=consumer_config(**config)), **stream)


def owner(name: str, value: float) -> dict[str, Any]:
    return {"thresholds": Thresholds(((name, value),))}


def queue_of(*filters: str, subjects: tuple[str, ...]) -> AuditContext:
    workers = [
        consumer(f"w{number}", config=consumer_config(filters=(each,)))
        for number, each in enumerate(filters)
    ]
    return stream_context(
        *workers, retention="workqueue", subjects=subjects, consumers=len(workers)
    )


MIRROR_OF_IT: Final = stream_row(
    name="COPY", mirror="ORDERS", origins=(StreamOrigin("ORDERS", 0, 0.1, ""),)
)
LIMITED: Final = {"max_messages": 100}

DUPLICATES: Final = (
    pair("dupe-window-short", "window 1m, publishers retry for 2m", window(60.0), window(120.0)),
    pair("dupe-window-short", "1m59s", window(119.0), window(119.0, mirror="M")),
    pair(
        "dupe-window-short",
        "publishers retry for 10m",
        window(300.0, notes=OwnerNotes(publish_retry_horizon=600.0)),
        window(600.0, notes=OwnerNotes(publish_retry_horizon=600.0)),
    ),
    pair(
        "dupe-window-short",
        "retry for 1m30s",
        window(60.0, max_age_seconds=60.0, notes=OwnerNotes(publish_retry_horizon=90.0)),
        window(60.0, max_age_seconds=60.0),
    ),
    pair(
        "dupe-window-clipped",
        "window 1m = max_age 1m",
        window(60.0, max_age_seconds=60.0),
        window(60.0, max_age_seconds=61.0),
    ),
    pair(
        "dupe-window-off",
        "2 sources, duplicate window 0",
        {"sourced": True, "sources": 2},
        window(120.0, sourced=True, sources=2),
    ),
    pair(
        "dupe-not-restart-safe",
        "workqueue retention",
        window(120.0, retention="workqueue"),
        window(120.0, retention="limits"),
    ),
    pair(
        "dupe-not-restart-safe",
        "in memory on one server",
        window(120.0, storage="memory"),
        window(120.0, storage="memory", replicas=3),
    ),
    pair(
        "dupe-not-restart-safe",
        "holds the messages of 1m59s",
        window(120.0, max_messages=10, messages=10, first_time=at(NOW - 119), last_time=at(NOW)),
        window(120.0, max_messages=10, messages=10, first_time=at(NOW - 120), last_time=at(NOW)),
    ),
    Case(
        "dupe-window-costly",
        grown(600, **window(3600.0)),
        grown(599, **window(3600.0)),
        "window 1h, 10 messages/s",
    ),
    Case(
        "dupe-window-costly",
        stream_context(history={"publish_rate": 10.0}, **window(3600.0)),
        stream_context(history={"publish_rate": 10.0}, **window(3599.0)),
        "10 messages",
    ),
    Case(
        "dupe-window-costly",
        with_ids(2_236_963),
        with_ids(2_236_962),
        "512 MiB on each replica",
    ),
    Case(
        "ids-unstable",
        stream_context(sample={KEY: MessageSample(20, 20, renamed=2)}),
        stream_context(sample={KEY: MessageSample(20, 20, renamed=1)}),
        "2 of the last 20 messages repeat another one with another id",
    ),
    Case(
        "dupe-window-short",
        stream_context(sample={KEY: MessageSample(20, 20, repeated=1)}, **window(120.0)),
        stream_context(sample={KEY: MessageSample(20, 20)}, **window(120.0)),
        "1 of the last 20 messages have an id again",
    ),
    Case("ids-missing", sampled(98, 1), sampled(99, 1), "98 of the last 100"),
    Case("ids-missing", sampled(0, **window(121.0)), sampled(0, **window(120.0)), "0 of the last"),
)

LOSSES: Final = (
    pair("no-ack", "no_ack true, subjects orders.>", {"no_ack": True}, {}),
    Case(
        "retention-vs-lag",
        stream_context(consumer(), max_age_seconds=100.0, history={"worst_lag": 51.0}),
        stream_context(consumer(), max_age_seconds=100.0, history={"worst_lag": 50.0}),
        "worker was 51s behind, max_age 1m40s",
    ),
    Case(
        "retention-vs-lag",
        stream_context(consumer(), max_messages=100, history={"worst_backlog": 51.0}),
        stream_context(
            consumer(), max_messages=100, discard="new", history={"worst_backlog": 51.0}
        ),
        "51 messages behind, max_msgs 100",
    ),
    Case(
        "abandoned-kept",
        read_by({"max_deliver": 5}, retention="workqueue"),
        read_by({}, retention="workqueue"),
        "max_deliver is set on worker",
    ),
    Case(
        "abandoned-kept",
        read_by({"max_deliver": 5}, retention="interest"),
        read_by({"max_deliver": 5}, retention="interest", max_age_seconds=DAY),
        "interest, no max_age",
    ),
    Case(
        "dead-letter-body-gone",
        read_by({"max_deliver": 5}, max_age_seconds=DAY - 1),
        read_by({"max_deliver": 5}, max_age_seconds=DAY),
        "max_age 23h59m",
    ),
    Case(
        "workqueue-aggressive",
        read_by({"max_deliver": 9}, retention="workqueue", discard="new", **LIMITED),
        read_by({"max_deliver": 10}, retention="workqueue", discard="new", **LIMITED),
        "max_deliver on worker",
    ),
    Case(
        "workqueue-aggressive",
        read_by(
            {"max_deliver": 10, "ack_wait_seconds": 29.0},
            retention="workqueue",
            discard="new",
            **LIMITED,
        ),
        read_by({"max_deliver": 9}, retention="workqueue", discard="new"),
        "discard new",
    ),
    Case(
        "interest-orphan",
        grown(60, retention="interest"),
        grown(0, retention="interest"),
        "no consumer, publish rate 1/s, nothing is stored",
    ),
    Case(
        "interest-orphan",
        grown(6, retention="interest"),
        grown(6, retention="interest", consumers=1),
        "publish rate 0.1/s",
    ),
    Case(
        "interest-orphan",
        grown(6, retention="interest"),
        grown(6, MIRROR_OF_IT, retention="interest"),
        "publish rate 0.1/s",
    ),
    pair(
        "workqueue-drops",
        "discard old at 100 messages or 1 MiB",
        {"retention": "workqueue", "max_bytes": MIB, **LIMITED},
        {"retention": "workqueue", "max_bytes": MIB, "discard": "new", **LIMITED},
    ),
    pair(
        "workqueue-drops",
        "100 messages",
        {"retention": "workqueue", **LIMITED},
        {"retention": "workqueue", "max_age_seconds": DAY},
    ),
    Case(
        "workqueue-unread-subject",
        queue_of("orders.eu", "orders.us", subjects=("orders.eu", "orders.us", "orders.asia")),
        queue_of("orders.eu", "orders.*", subjects=("orders.eu", "orders.us", "orders.asia")),
        "no filter of 2 consumers matches orders.asia",
    ),
    pair(
        "catches-inboxes",
        "subject > matches replies",
        {"subjects": (">",)},
        {"subjects": ("orders.>",)},
    ),
    pair("catches-inboxes", "*.*", {"subjects": ("*.*",)}, {"subjects": ("*.created",)}),
    pair(
        "catches-inboxes", "_INBOX.x", {"subjects": ("_INBOX.x",)}, {"subjects": ("*", "INBOX.>")}
    ),
)

LIFE: Final = (
    pair(
        "inactive",
        "nothing stored for 31d",
        {"last_seq": 4, "last_time": MONTH_AGO},
        {"last_seq": 4, "last_time": THIRTY_DAYS_AGO},
    ),
    pair(
        "inactive",
        "nothing ever stored",
        {"created": MONTH_AGO},
        {"created": MONTH_AGO, "last_seq": 4},
    ),
    Case("unread", grown(60), grown(60, consumers=1), "no consumer, publish rate 1/s"),
    Case("unread", grown(60), grown(60, MIRROR_OF_IT), "no consumer"),
    pair(
        "sources-range",
        "1 source, min-sources 2",
        {"sources": 1, **owner("min-sources", 2)},
        {"sources": 2, **owner("min-sources", 2)},
    ),
    pair(
        "sources-range",
        "3 sources, max-sources 2",
        {"sources": 3, **owner("max-sources", 2)},
        {"sources": 2, **owner("max-sources", 2)},
    ),
    pair(
        "sealed-listens",
        "sealed, subjects orders.>",
        {"sealed": True},
        {"sealed": True, "subjects": ()},
    ),
    pair(
        "limit-unreadable",
        "io.nats.monitor.lag-critical",
        {"thresholds": Thresholds(unreadable=("lag-critical",))},
        owner("lag-critical", 5),
    ),
    pair(
        "limit-unknown",
        "io.nats.monitor.lag-criticl",
        owner("lag-criticl", 5),
        owner("lag-critical", 5),
    ),
    Case(
        "stream-changed",
        polled_twice(stream_context(max_messages=5), stream_context(max_messages=6)),
        polled_twice(stream_context(max_messages=5), stream_context(max_messages=5)),
        "max_messages 5 -> 6",
    ),
    Case(
        "stream-changed",
        polled_twice(stream_context(), stream_context(max_bytes=5)),
        polled_twice(audit_context(), stream_context(max_bytes=5)),
        "max_bytes none -> 5",
    ),
)

CASES: Final = (*DUPLICATES, *LOSSES, *LIFE)
