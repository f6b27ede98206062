"""Rows for checks of what consumers are and what became of them, and the nearest that is fine."""

from typing import Final

from support.audit.cases.deliveries import DAY, HOUR, KEY, pair
from support.audit.contexts import Case, looked_twice, of_consumer, scene, stream_of
from support.exporter.models import NOW, at, consumer, consumer_config

from exporter.audit.context import AuditContext
from exporter.model import OwnerNotes, Replica, Thresholds
from exporter.signals.results import ConsumerSignals, Signals


def recreated(times: int, policy: str = "new") -> AuditContext:
    told = ConsumerSignals(
        redeliveries=0, recreated=times, leader_changes=0, verdict=0, verdict_since=NOW
    )
    row = consumer(config=consumer_config(deliver_policy=policy))
    return scene(stream_of(), row, signals=Signals(consumers={KEY: told}))


def lagging(lag: int, *, offline: bool = False) -> AuditContext:
    peers = (Replica("n2", lag, offline, 0.1), Replica("n3", 0, False, 0.1))
    return of_consumer(replicas=peers)


CASES: Final = (
    pair(
        "durable-expires",
        "deleted after 23h",
        {"inactive_threshold_seconds": 23 * HOUR},
        {"inactive_threshold_seconds": 24 * HOUR},
    ),
    Case(
        "ephemeral-worker",
        of_consumer({"durable": False}, {"retention": "interest"}, created=at(NOW - HOUR - 1)),
        of_consumer({"durable": False}, {"retention": "interest"}, created=at(NOW - HOUR)),
        "ephemeral for 1h on a stream with interest retention",
    ),
    Case(
        "ephemeral-worker",
        of_consumer({"durable": False}, {"retention": "workqueue"}, created=at(NOW - DAY)),
        of_consumer({"durable": False}, {"retention": "limits"}, created=at(NOW - DAY)),
        "workqueue",
    ),
    Case(
        "state-volatile",
        of_consumer({"memory_storage": True, "replicas": 0}),
        of_consumer({"memory_storage": True, "replicas": 0}, {"replicas": 3}),
        "state in memory on one server",
    ),
    Case(
        "state-volatile",
        of_consumer({"replicas": 1}, {"replicas": 3}),
        of_consumer({"replicas": 3}, {"replicas": 3}),
        "1 of the 3 servers",
    ),
    Case("recreate-hazard", recreated(2), recreated(0), "made again 2 times"),
    Case(
        "recreate-hazard",
        recreated(1, "all"),
        recreated(1, "by_start_sequence"),
        "everything again",
    ),
    Case(
        "recreate-hazard",
        of_consumer({"deliver_policy": "last"}, history={"recreated": 1.0}),
        of_consumer({"deliver_policy": "last"}, history={}),
        "made again 1 time;",
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
        of_consumer(history={"redelivery_ratio": 0.011}),
        of_consumer(history={"redelivery_ratio": 0.01}),
        "1.1% of a day's deliveries",
    ),
    Case(
        "blind",
        of_consumer(history={"redelivery_ratio": 0.5}),
        of_consumer({"sample_percent": 10.0}, history={"redelivery_ratio": 0.5}),
        "50%",
    ),
    pair(
        "pinned-mismatch",
        "the policy is overflow",
        {"thresholds": Thresholds((("pinned", 1.0),)), "priority_policy": "overflow"},
        {"thresholds": Thresholds((("pinned", 1.0),)), "priority_policy": "pinned_client"},
    ),
    Case(
        "delivered-below-first",
        of_consumer(delivered_consumer_seq=4, delivered_stream_seq=4, stream_first_seq=11),
        of_consumer(delivered_consumer_seq=4, delivered_stream_seq=10, stream_first_seq=11),
        "6 sequences unseen",
    ),
    Case(
        "delivered-below-first",
        of_consumer(delivered_consumer_seq=4, delivered_stream_seq=4, stream_first_seq=6),
        of_consumer(
            {"filters": ("orders.eu",)},
            delivered_consumer_seq=4,
            delivered_stream_seq=4,
            stream_first_seq=6,
        ),
        "1 sequence unseen",
    ),
    Case(
        "consumer-inactive",
        of_consumer(delivered_consumer_seq=4, last_delivery=at(NOW - 31 * DAY)),
        of_consumer(delivered_consumer_seq=4, last_delivery=at(NOW - 30 * DAY)),
        "nothing delivered for 31d",
    ),
    Case(
        "consumer-inactive",
        of_consumer(created=at(NOW - 31 * DAY)),
        of_consumer(created=at(NOW - 31 * DAY), delivered_consumer_seq=4),
        "nothing ever delivered",
    ),
    Case(
        "consumer-drained",
        of_consumer(created=at(NOW - 40 * DAY), stream_is={"last_time": at(NOW - 31 * DAY)}),
        of_consumer(created=at(NOW - 40 * DAY), stream_is={"last_time": at(NOW - 30 * DAY)}),
        "stored nothing for 31d",
    ),
    Case(
        "consumer-drained",
        of_consumer(created=at(NOW - 40 * DAY), stream_is={"created": at(NOW - 40 * DAY)}),
        of_consumer(
            created=at(NOW - 40 * DAY), num_pending=1, stream_is={"created": at(NOW - 40 * DAY)}
        ),
        "nothing to do",
    ),
    Case(
        "max-waiting-near",
        of_consumer({"max_waiting": 10}, num_waiting=9),
        of_consumer({"max_waiting": 10}, num_waiting=8),
        "9 pull requests wait, max_waiting 10",
    ),
    pair(
        "filter-unmatched",
        "filter bills.eu; the stream takes orders.>",
        {"filters": ("orders.eu", "bills.eu")},
        {"filters": ("orders.eu",)},
    ),
    Case(
        "filter-unmatched",
        of_consumer({"filters": ("bills.*",)}),
        of_consumer({"filters": ("bills.*",)}, {"sourced": True}),
        "filter bills.*",
    ),
    Case(
        "filter-unmatched",
        of_consumer({"filters": ("bills.*",)}),
        of_consumer({"filters": ("bills.*",)}, {"transformed": True}),
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
        "kept for 1d",
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
        "io.streamgauge.publish-retry-horizon",
        {"notes": OwnerNotes(unreadable=("publish-retry-horizon",))},
        {"thresholds": Thresholds(unreadable=("last-akc-critical",))},
    ),
    pair(
        "consumer-limit-unknown",
        "io.nats.monitor.lag-critical",
        {"thresholds": Thresholds((("lag-critical", 60.0),))},
        {"thresholds": Thresholds((("waiting-critical", 60.0),))},
    ),
    Case(
        "ack-wait-over-retention",
        of_consumer(stream_is={"max_age_seconds": 30.0}),
        of_consumer(stream_is={"max_age_seconds": 31.0}),
        "the first retry comes after 30s, max_age 30s",
    ),
    Case(
        "ack-wait-over-retention",
        of_consumer({"backoff_seconds": (60.0,)}, {"max_age_seconds": 40.0}),
        of_consumer({"backoff_seconds": (39.0,)}, {"max_age_seconds": 40.0}),
        "after 1m",
    ),
    Case(
        "consumer-replica-offline",
        lagging(0, offline=True),
        lagging(0),
        "1 of 3 replicas are away: n2",
    ),
    Case(
        "consumer-replica-offline",
        of_consumer(replicas=(Replica("n2", 0, False, 61.0),)),
        of_consumer(replicas=(Replica("n2", 0, False, 60.0), Replica("n3", 0, False, None))),
        "1 of 2 replicas are away: n2",
    ),
    Case(
        "consumer-replica-behind",
        looked_twice(lagging(1001), lagging(2000)),
        looked_twice(lagging(1000), lagging(2000)),
        "n2 is 2,000 operations behind",
    ),
    Case(
        "interest-held",
        of_consumer(stream_is={"retention": "interest"}, num_pending=7, created=at(NOW - 8 * DAY)),
        of_consumer(
            stream_is={"retention": "interest"},
            num_pending=7,
            num_waiting=1,
            created=at(NOW - 8 * DAY),
        ),
        "nothing delivered for 8d, holds back 7 messages",
    ),
    Case(
        "interest-held",
        of_consumer(
            stream_is={"retention": "interest"},
            num_pending=7,
            delivered_consumer_seq=1,
            last_delivery=at(NOW - 8 * DAY),
        ),
        of_consumer(
            stream_is={"retention": "interest"},
            num_pending=7,
            delivered_consumer_seq=1,
            created=at(NOW - 8 * DAY),
        ),
        "8d",
    ),
    Case(
        "pause-long",
        of_consumer(paused=True, pause_remaining_seconds=7 * DAY + 60),
        of_consumer(paused=True, pause_remaining_seconds=7 * DAY),
        "paused for another 7d",
    ),
)
