"""Cases of checks on the configuration and life cycle of consumers."""

from typing import Final

from support.audit.cases.deliveries import DAY, HOUR, KEY, pair
from support.audit.contexts import Case, audit_context, consumer_context, polled_twice, stream_row
from support.exporter.models import NOW, at, consumer, consumer_config

from exporter.audit.context import AuditContext
from exporter.model import OwnerNotes, Replica, Thresholds
from exporter.signals.results import ConsumerSignals, Signals


def recreated(times: int, policy: str = "new") -> AuditContext:
    signals = ConsumerSignals(
        redeliveries=0, recreated=times, leader_changes=0, verdict=0, verdict_since=NOW
    )
    row = consumer(config=consumer_config(deliver_policy=policy))
    return audit_context(stream_row(), row, signals=Signals(consumers={KEY: signals}))


def lagging(lag: int, *, offline: bool = False) -> AuditContext:
    peers = (Replica("n2", lag, offline, 0.1), Replica("n3", 0, False, 0.1))
    return consumer_context(replicas=peers)


CASES: Final = (
    pair(
        "durable-expires",
        "inactive_threshold 23h",
        {"inactive_threshold_seconds": 23 * HOUR},
        {"inactive_threshold_seconds": 24 * HOUR},
    ),
    Case(
        "ephemeral-worker",
        consumer_context({"durable": False}, {"retention": "interest"}, created=at(NOW - HOUR - 1)),
        consumer_context({"durable": False}, {"retention": "interest"}, created=at(NOW - HOUR)),
        "1 ephemeral consumer on interest retention, the oldest is worker, 1h old",
    ),
    Case(
        "ephemeral-worker",
        consumer_context({"durable": False}, {"retention": "workqueue"}, created=at(NOW - DAY)),
        consumer_context({"durable": False}, {"retention": "limits"}, created=at(NOW - DAY)),
        "workqueue",
    ),
    Case(
        "state-volatile",
        consumer_context({"memory_storage": True, "replicas": 0}),
        consumer_context({"memory_storage": True, "replicas": 0}, {"replicas": 3}),
        "state in memory, 1 replica",
    ),
    Case(
        "state-volatile",
        consumer_context({"replicas": 1}, {"replicas": 3}),
        consumer_context({"replicas": 3}, {"replicas": 3}),
        "1 replica, its stream has 3",
    ),
    Case("recreate-hazard", recreated(2), recreated(0), "recreated 2 times"),
    Case(
        "recreate-hazard",
        recreated(1, "all"),
        recreated(1, "by_start_sequence"),
        "delivers all messages again",
    ),
    Case(
        "recreate-hazard",
        consumer_context({"deliver_policy": "last"}, history={"recreated": 1.0}),
        consumer_context({"deliver_policy": "last"}, history={}),
        "recreated 1 time;",
    ),
    pair("no-ack-durable", "ack policy none", {"ack_policy": "none"}, {"ack_policy": "explicit"}),
    pair(
        "no-ack-durable",
        "none",
        {"ack_policy": "none"},
        {"ack_policy": "none", "durable": False},
    ),
    pair(
        "ackall-shared",
        "deliver group team",
        {"ack_policy": "all", "kind": "push", "deliver_group": "team"},
        {"ack_policy": "all", "kind": "push"},
    ),
    pair(
        "push-unprotected",
        "push without idle heartbeat",
        {"kind": "push", "flow_control": True},
        {"kind": "push", "flow_control": True, "idle_heartbeat_seconds": 5.0},
    ),
    pair(
        "push-unprotected",
        "push without flow control and idle heartbeat",
        {"kind": "push"},
        {"kind": "push", "deliver_group": "team"},
    ),
    Case(
        "blind",
        consumer_context(history={"redelivery_ratio": 0.011}),
        consumer_context(history={"redelivery_ratio": 0.01}),
        "1.1% of a day's deliveries",
    ),
    Case(
        "blind",
        consumer_context(history={"redelivery_ratio": 0.5}),
        consumer_context({"sample_percent": 10.0}, history={"redelivery_ratio": 0.5}),
        "50%",
    ),
    pair(
        "pinned-mismatch",
        "pinned in metadata, priority policy overflow",
        {"thresholds": Thresholds((("pinned", 1.0),)), "priority_policy": "overflow"},
        {"thresholds": Thresholds((("pinned", 1.0),)), "priority_policy": "pinned_client"},
    ),
    Case(
        "delivered-below-first",
        consumer_context(delivered_consumer_seq=4, delivered_stream_seq=4, stream_first_seq=11),
        consumer_context(delivered_consumer_seq=4, delivered_stream_seq=10, stream_first_seq=11),
        "6 sequences missed",
    ),
    Case(
        "delivered-below-first",
        consumer_context(delivered_consumer_seq=4, delivered_stream_seq=4, stream_first_seq=6),
        consumer_context(
            {"filters": ("orders.eu",)},
            delivered_consumer_seq=4,
            delivered_stream_seq=4,
            stream_first_seq=6,
        ),
        "1 sequence missed",
    ),
    Case(
        "consumer-inactive",
        consumer_context(delivered_consumer_seq=4, last_delivery=at(NOW - 31 * DAY)),
        consumer_context(delivered_consumer_seq=4, last_delivery=at(NOW - 30 * DAY)),
        "no delivery for 31d, 0 pending",
    ),
    Case(
        "consumer-inactive",
        consumer_context(created=at(NOW - 31 * DAY)),
        consumer_context(created=at(NOW - 31 * DAY), delivered_consumer_seq=4),
        "never delivered in 31d",
    ),
    Case(
        "consumer-drained",
        consumer_context(created=at(NOW - 40 * DAY), stream_is={"last_time": at(NOW - 31 * DAY)}),
        consumer_context(created=at(NOW - 40 * DAY), stream_is={"last_time": at(NOW - 30 * DAY)}),
        "nothing pending, stream idle for 31d",
    ),
    Case(
        "consumer-drained",
        consumer_context(created=at(NOW - 40 * DAY), stream_is={"created": at(NOW - 40 * DAY)}),
        consumer_context(
            created=at(NOW - 40 * DAY), num_pending=1, stream_is={"created": at(NOW - 40 * DAY)}
        ),
        "nothing pending",
    ),
    Case(
        "max-waiting-near",
        consumer_context({"max_waiting": 10}, num_waiting=9),
        consumer_context({"max_waiting": 10}, num_waiting=8),
        "9 waiting pull requests, max_waiting 10",
    ),
    pair(
        "filter-unmatched",
        "filter bills.eu; stream subjects orders.>",
        {"filters": ("orders.eu", "bills.eu")},
        {"filters": ("orders.eu",)},
    ),
    Case(
        "filter-unmatched",
        consumer_context({"filters": ("bills.*",)}),
        consumer_context({"filters": ("bills.*",)}, {"sourced": True}),
        "filter bills.*",
    ),
    Case(
        "filter-unmatched",
        consumer_context({"filters": ("bills.*",)}),
        consumer_context({"filters": ("bills.*",)}, {"transformed": True}),
        "filter bills.*",
    ),
    pair(
        "replay-original",
        "replay policy original",
        {"replay_policy": "original"},
        {"replay_policy": "original", "durable": False},
    ),
    pair(
        "rate-limited",
        "8,000 bits per second",
        {"kind": "push", "rate_limit_bits": 8000},
        {"kind": "push"},
    ),
    pair(
        "ephemeral-lingers",
        "the longest inactive_threshold is 1d, of worker",
        {"durable": False, "inactive_threshold_seconds": DAY},
        {"durable": False, "inactive_threshold_seconds": DAY - 1},
    ),
    pair(
        "consumer-limit-unreadable",
        "io.nats.monitor.last-ack-critical",
        {"thresholds": Thresholds(unreadable=("last-ack-critical",))},
        {"thresholds": Thresholds((("last-ack-critical", 60.0),))},
    ),
    pair(
        "consumer-limit-unreadable",
        "io.streamgauge.long-jobs",
        {"notes": OwnerNotes(unreadable=("long-jobs",))},
        {"thresholds": Thresholds(unreadable=("last-akc-critical",))},
    ),
    pair(
        "consumer-limit-unknown",
        "io.nats.monitor.lag-critical",
        {"thresholds": Thresholds((("lag-critical", 60.0),))},
        {"thresholds": Thresholds((("waiting-critical", 60.0),))},
    ),
    pair(
        "consumer-limit-unknown",
        "io.streamgauge.back-pressure",
        {"notes": OwnerNotes(unknown=("back-pressure",))},
        {"notes": OwnerNotes(unreadable=("long-jobs",))},
    ),
    Case(
        "ack-wait-over-retention",
        consumer_context(stream_is={"max_age_seconds": 30.0}),
        consumer_context(stream_is={"max_age_seconds": 31.0}),
        "first redelivery after 30s, max_age 30s",
    ),
    Case(
        "ack-wait-over-retention",
        consumer_context({"backoff_seconds": (60.0,)}, {"max_age_seconds": 40.0}),
        consumer_context({"backoff_seconds": (39.0,)}, {"max_age_seconds": 40.0}),
        "after 1m",
    ),
    Case(
        "consumer-replica-offline",
        lagging(0, offline=True),
        lagging(0),
        "1 of 3 replicas offline: n2",
    ),
    Case(
        "consumer-replica-offline",
        consumer_context(replicas=(Replica("n2", 0, False, 61.0),)),
        consumer_context(replicas=(Replica("n2", 0, False, 60.0), Replica("n3", 0, False, None))),
        "1 of 2 replicas offline: n2",
    ),
    Case(
        "consumer-replica-behind",
        polled_twice(lagging(1001), lagging(2000)),
        polled_twice(lagging(1000), lagging(2000)),
        "n2 is 2,000 operations behind",
    ),
    Case(
        "interest-held",
        consumer_context(
            stream_is={"retention": "interest"}, num_pending=7, created=at(NOW - 8 * DAY)
        ),
        consumer_context(
            stream_is={"retention": "interest"},
            num_pending=7,
            num_waiting=1,
            created=at(NOW - 8 * DAY),
        ),
        "no delivery for 8d, 7 pending",
    ),
    Case(
        "interest-held",
        consumer_context(
            stream_is={"retention": "interest"},
            num_pending=7,
            delivered_consumer_seq=1,
            last_delivery=at(NOW - 8 * DAY),
        ),
        consumer_context(
            stream_is={"retention": "interest"},
            num_pending=7,
            delivered_consumer_seq=1,
            created=at(NOW - 8 * DAY),
        ),
        "8d",
    ),
    Case(
        "pause-long",
        consumer_context(paused=True, pause_remaining_seconds=7 * DAY + 60),
        consumer_context(paused=True, pause_remaining_seconds=7 * DAY),
        "paused for another 7d",
    ),
)
