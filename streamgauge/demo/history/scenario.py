"""The scenario of the history: servers, streams, consumers, and their incidents.

Rates are messages a second on a weekday afternoon at the end; times are days before the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

SYSTEM: Final = "demo"
APP, OTHER = "APP", "OTHER"
ACCOUNTS: Final = (APP, OTHER)
SERVERS: Final = ("n1", "n2", "n3")
GIB: Final = 1024**3
HOUR: Final = 3600.0
DAY: Final = 86_400.0

Finding = tuple[str, str]  # check and severity

# Days before the end: a rolling upgrade, and a crash of n2 that took 25 minutes.
UPGRADE: Final = {"n1": 45.40, "n2": 45.38, "n3": 45.36}
UPGRADE_MINUTES: Final = 11
CRASH: Final = ("n2", 8.35, 25)
# Since then a client leaks consumers.
LEAKING_DAYS: Final = 60.0
VERSIONS: Final = ("2.14.3", "2.15.1")


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamPlan:
    name: str
    account: str = APP
    rate: float
    size: int  # bytes a message
    leader: int = 0  # place in SERVERS
    growth: float = 0.0  # a day
    weekend: float = 0.5
    night: float = 0.2
    retention: str = "limits"
    discard: str = "old"
    replicas: int = 3
    max_bytes: int | None = None
    max_messages: int | None = None
    raised: tuple[float, int] | None = None  # days before the end, max_messages until then
    max_age: float | None = None
    window: float = 120.0
    per_subject: int | None = None
    subjects: int = 1
    kept_at_end: float | None = None  # messages stored at the end, where nothing expires
    purged: tuple[tuple[float, int], ...] = ()  # days before the end, messages
    copies: float = 0.0  # duplicates for each message
    recreated: float | None = None
    restored: float | None = None
    leak: float = 0.0  # ephemeral consumers more each day
    owner: str = ""
    team: str = ""
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerPlan:
    stream: str
    name: str
    speed: float = 2.0  # as a multiple of the stream's usual rate
    slower: tuple[float, float] | None = None  # since this day, down to this multiple
    away: tuple[float, float] | None = None  # no worker pulled, or was bound
    stuck: float | None = None  # since when it acks nothing
    again: float = 0.001  # share of deliveries that are repeated
    given_up: float = 0.0  # share of messages that run out of max_deliver
    ack_seconds: float = 0.05
    sampled: bool = False
    max_ack_pending: int = 1000
    ack_wait: float = 30.0
    max_deliver: int | None = None
    push: bool = False
    recreated: float | None = None
    removed: float | None = None
    team: str = ""  # if it is not that of the stream
    findings: tuple[Finding, ...] = ()


STREAMS: Final = (
    StreamPlan(
        name="ORDERS", rate=24, size=1400, growth=0.004, max_age=14 * DAY, max_bytes=60 * GIB,
        subjects=12, team="shop",
    ),
    # Rejects when full, in about three weeks.
    StreamPlan(
        name="PAYMENTS", rate=5, size=2100, growth=0.003, weekend=0.35, leader=1,
        discard="new", max_bytes=32 * GIB, kept_at_end=11_900_000, purged=((41.4, 4_000_000),),
        subjects=4, owner="pay-oncall@example.com", team="payments",
        findings=(("dupe-window-short", "warn"),),
    ),
    # A work queue that keeps exhausted messages.
    StreamPlan(
        name="INVOICES", rate=4, size=3200, leader=2, weekend=0.1, retention="workqueue",
        discard="new", max_messages=2_000_000, subjects=2, team="payments",
        findings=(("abandoned-kept", "warn"),),
    ),
    StreamPlan(
        name="SIGNUPS", rate=2, size=600, weekend=0.8, max_age=7 * DAY, copies=2.0, window=300,
        recreated=15.5, team="shop",
    ),
    StreamPlan(
        name="NOTICES", rate=3, size=450, leader=1, weekend=0.7, retention="interest",
        max_age=2 * DAY, restored=27.3, subjects=3,
    ),
    StreamPlan(
        name="KV_settings", rate=0.5, size=220, leader=2, weekend=1.0, night=0.8, per_subject=3,
        subjects=400, findings=(("no-limits", "info"),),
    ),
    # At its limit by design: it drops the oldest, and its time range shrinks.
    StreamPlan(
        name="CLICKS", account=OTHER, rate=85, size=700, growth=0.006, weekend=0.9, leader=2,
        max_bytes=4 * GIB, replicas=1, leak=6.0, subjects=30, team="analytics",
        findings=(("replicas-one", "info"), ("retention-vs-lag", "warn")),
    ),
    # Was full for two days, until its limit was raised.
    StreamPlan(
        name="AUDIT_LOG", account=OTHER, rate=1.6, size=900, leader=0, weekend=0.4, discard="new",
        max_messages=8_000_000, raised=(32.3, 3_000_000), kept_at_end=5_370_000, subjects=6,
    ),
)  # fmt: skip

_UNLIMITED: Final = ("max-deliver-unlimited", "warn")

CONSUMERS: Final = (
    ConsumerPlan(stream="ORDERS", name="healthy", speed=3.0, sampled=True),
    # Becomes slower: at the end it falls behind on weekday afternoons.
    ConsumerPlan(
        stream="ORDERS", name="slow", speed=1.5, slower=(30.0, 0.62), again=0.02, ack_seconds=7.5,
        sampled=True, findings=(("ack-wait-short", "warn"), _UNLIMITED),
    ),
    ConsumerPlan(stream="ORDERS", name="billing", speed=2.0, max_ack_pending=20_000,
                 findings=(("max-ack-pending-high", "info"),)),
    ConsumerPlan(stream="ORDERS", name="shipping", speed=1.6, max_deliver=8),
    ConsumerPlan(stream="ORDERS", name="fraud", speed=1.3, ack_seconds=0.9, max_deliver=5, team="payments",
                 findings=(("no-dead-letter", "warn"),)),
    ConsumerPlan(stream="PAYMENTS", name="stuck", speed=2.5, stuck=4.6, max_ack_pending=20,
                 ack_wait=30.0, findings=(("max-ack-pending-low", "info"), _UNLIMITED)),
    ConsumerPlan(stream="PAYMENTS", name="ledger", speed=1.8, max_deliver=10),
    ConsumerPlan(stream="PAYMENTS", name="reconcile", speed=1.2, ack_seconds=2.2),
    ConsumerPlan(stream="INVOICES", name="poison", speed=2.2, again=0.18, given_up=0.004,
                 ack_seconds=1.4, ack_wait=2.0, max_deliver=5, sampled=True,
                 findings=(("horizon-short", "warn"), ("no-dead-letter", "warn"))),
    ConsumerPlan(stream="SIGNUPS", name="deduplicated", speed=4.0),
    ConsumerPlan(stream="SIGNUPS", name="welcome", speed=2.0, max_deliver=6),
    ConsumerPlan(stream="SIGNUPS", name="crm", speed=1.4, removed=19.4),
    ConsumerPlan(stream="NOTICES", name="push", speed=3.0, push=True),
    ConsumerPlan(stream="NOTICES", name="mobile", speed=2.0, push=True, away=(3.7, 3.4),
                 findings=(("push-unprotected", "warn"),)),
    # Was away for nearly two days, longer than the stream keeps messages.
    ConsumerPlan(stream="CLICKS", name="reports", speed=1.5, away=(13.6, 11.7), again=0.004,
                 max_deliver=4, findings=(("no-dead-letter", "warn"),)),
    ConsumerPlan(stream="CLICKS", name="sessions", speed=2.6, ack_seconds=0.01, sampled=True),
    ConsumerPlan(stream="CLICKS", name="ads", speed=1.4, slower=(20.0, 1.05)),
    ConsumerPlan(stream="AUDIT_LOG", name="siem", speed=5.0),
    ConsumerPlan(stream="AUDIT_LOG", name="indexer", speed=20.0, recreated=29.6,
                 findings=(("recreate-hazard", "warn"),)),
    ConsumerPlan(stream="KV_settings", name="watcher", speed=6.0, push=True),
)  # fmt: skip


def stream_plan(name: str) -> StreamPlan:
    return next(plan for plan in STREAMS if plan.name == name)
