"""Cases of checks on deliveries and redeliveries."""

from typing import Any, Final

from support.audit.contexts import Case, audit_context, consumer_context, stream_row
from support.exporter.models import consumer, consumer_config

from exporter.audit.context import AuditContext
from exporter.events.counts import ConsumerCounts, EventCounts
from exporter.exposition.histogram import Histogram
from exporter.model import Stream

HOUR: Final = 3600.0
DAY: Final = 24 * HOUR
KEY: Final = ("APP", "ORDERS", "worker")
ADVISORIES: Final = "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.>"


def pair(code: str, evidence: str, bad: dict[str, Any], good: dict[str, Any]) -> Case:
    """Two configurations that differ in one thing."""
    return Case(code, consumer_context(bad), consumer_context(good), evidence)


def storing(subject: str) -> Stream:
    return stream_row(name="DEAD", subjects=(subject,))


def limited(**changes: Any) -> AuditContext:
    return consumer_context({"max_deliver": 5}, **changes)


def sampled_acks(config: dict[str, Any], times: Histogram) -> AuditContext:
    counts = EventCounts(consumers={KEY: ConsumerCounts(ack_times=times)})
    row = consumer(config=consumer_config(**config))
    return audit_context(stream_row(), row, events=counts)


STEPS: Final = (30.0, 60.0)
# 150 acks, all but one below 2 s: the p99 is in the bucket from 1 s to 2 s.
ACKS: Final = Histogram((1.0, 2.0), (100, 49, 1), 200.0)

CASES: Final = (
    pair("max-deliver-unlimited", "max_deliver -1", {}, {"max_deliver": 5}),
    pair("max-deliver-one", "max_deliver 1", {"max_deliver": 1}, {"max_deliver": 2}),
    pair("max-deliver-high", "max_deliver 11", {"max_deliver": 11}, {"max_deliver": 10}),
    pair(
        "max-deliver-high",
        "every 30s",
        {"max_deliver": 11},
        {"max_deliver": 11, "backoff_seconds": STEPS},
    ),
    Case(
        "no-dead-letter",
        limited(),
        audit_context(
            stream_row(), consumer(config=consumer_config(max_deliver=5)), storing(ADVISORIES)
        ),
        "no stream stores its advisory",
    ),
    Case(
        "no-dead-letter",
        audit_context(
            stream_row(),
            consumer(config=consumer_config(max_deliver=5)),
            storing(ADVISORIES.replace(">", "OTHER.*")),
        ),
        consumer_context({}),
        "max_deliver 5",
    ),
    pair("backoff-missing", "no backoff", {"max_deliver": 4}, {"max_deliver": 3}),
    pair("backoff-missing", "max_deliver -1", {}, {"max_deliver": 4, "backoff_seconds": STEPS}),
    pair(
        "backoff-endless",
        "then every 1m without limit",
        {"backoff_seconds": STEPS},
        {"backoff_seconds": STEPS, "max_deliver": 5},
    ),
    pair(
        "backoff-first-short",
        "first backoff step 9s",
        {"backoff_seconds": (9.0, 60.0), "max_deliver": 5},
        {"backoff_seconds": (10.0, 60.0), "max_deliver": 5},
    ),
    Case(
        "backoff-first-short",
        consumer_context({"backoff_seconds": STEPS}, history={"p99_time_to_ack": 60.0}),
        consumer_context({"backoff_seconds": STEPS}, history={"p99_time_to_ack": 30.0}),
        "p99 of the time to ack over a day: 30s to 1m",
    ),
    pair(
        "backoff-decreasing",
        "30s, 1m, 20s",
        {"backoff_seconds": (30.0, 60.0, 20.0)},
        {"backoff_seconds": (30.0, 60.0, 60.0)},
    ),
    Case(
        "ack-wait-short",
        consumer_context(history={"p99_time_to_ack": 60.0}),
        consumer_context(history={"p99_time_to_ack": 30.0}),
        "ack_wait 30s; p99 of the time to ack over a day: 30s to 1m",
    ),
    Case(
        "ack-wait-short",
        consumer_context(history={"mean_time_to_ack": 16.0}),
        consumer_context(history={"mean_time_to_ack": 16.0, "p99_time_to_ack": 14.0}),
        "mean",
    ),
    Case(
        "ack-wait-short",
        sampled_acks({"ack_wait_seconds": 1.9}, ACKS),
        sampled_acks({"ack_wait_seconds": 2.0}, ACKS),
        "p99 of 150 sampled times to ack: 1s to 2s",
    ),
    pair(
        "ack-wait-long",
        "ack_wait 30m",
        {"ack_wait_seconds": 1800.0},
        {"ack_wait_seconds": 1799.0},
    ),
    Case(
        "ack-wait-long",
        consumer_context({"ack_wait_seconds": 121.0}, history={"p99_time_to_ack": 12.0}),
        consumer_context({"ack_wait_seconds": 120.0}, history={"p99_time_to_ack": 11.0}),
        "ack_wait 2m1s; p99 of the time to ack over a day: 10s to 12s",
    ),
    pair(
        "horizon-short",
        "2 deliveries within 59s",
        {"max_deliver": 2, "ack_wait_seconds": 59.0},
        {"max_deliver": 2, "ack_wait_seconds": 60.0},
    ),
    pair(
        "horizon-short",
        "5 deliveries within 40s",
        {"max_deliver": 5, "backoff_seconds": (10.0,)},
        {"max_deliver": 1},
    ),
    Case(
        "horizon-over-retention",
        limited(stream_is={"max_age_seconds": 149.0}),
        limited(stream_is={"max_age_seconds": 150.0}),
        "redeliveries take 2m30s, max_age 2m29s",
    ),
    pair(
        "max-ack-pending-unlimited",
        "max_ack_pending -1",
        {"max_ack_pending": None},
        {"max_ack_pending": 1000},
    ),
    pair(
        "max-ack-pending-unlimited",
        "-1",
        {"max_ack_pending": None, "ack_policy": "all"},
        {"max_ack_pending": None, "ack_policy": "none"},
    ),
    pair(
        "max-ack-pending-high",
        "max_ack_pending 10,001",
        {"max_ack_pending": 10_001},
        {"max_ack_pending": 10_000},
    ),
    Case(
        "max-ack-pending-high",
        consumer_context({"max_ack_pending": 2000}, history={"peak_ack_pending": 199.0}),
        consumer_context({"max_ack_pending": 2000}, history={"peak_ack_pending": 200.0}),
        "peak of the week 199",
    ),
    pair(
        "max-ack-pending-low",
        "max_ack_pending 99, max_batch 100",
        {"max_ack_pending": 99, "max_batch": 100},
        {"max_ack_pending": 100, "max_batch": 100},
    ),
    Case(
        "max-ack-pending-low",
        consumer_context({"max_ack_pending": 100}, history={"p95_ack_pending": 80.0}),
        consumer_context({"max_ack_pending": 100}, history={"p95_ack_pending": 79.0}),
        "p95 of the week 80",
    ),
)
