"""Consumers for checks that a short test can trigger on a real server."""

from datetime import UTC, datetime, timedelta
from typing import Any, Final

from support.audit.live.assets import HOUR, MINUTE, SECOND, WORKER, Asset, Config, Row, change
from support.recordings.scenario import Api

INTEREST: Final = {"retention": "interest"}
STEPS: Final = {"max_deliver": 5, "backoff": [30 * SECOND, 60 * SECOND]}


def pair(code: str, bad: Config, good: Config, **more: Any) -> Row:
    """Two consumers on streams with the same configuration."""
    stream = more.pop("stream", {})
    return Row(code, Asset(stream, bad), Asset(stream, good), **more)


def paused(days: int) -> Config:
    return {"pause_until": (datetime.now(UTC) + timedelta(days=days)).isoformat()}


def metadata(key: str, value: str) -> Config:
    return {"metadata": {f"io.nats.monitor.{key}": value}}


def keeping_advisories_of(stream: str) -> Config:
    advisory = f"$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.{stream}.*"
    return {"subjects": [f"{stream}.>", advisory]}


async def read_two_then_lose(api: Api, name: str) -> None:
    for message in await api.fetch(name, WORKER, 2):
        await message.ack_sync()
    for _ in range(10):
        await api.jetstream.publish(f"{name}.0", b"x")


async def two_wait(api: Api, name: str) -> None:
    for _ in range(2):
        await api.wait_in_vain(name, WORKER)


async def lose_subject(api: Api, name: str) -> None:
    await change(api, name, subjects=[f"{name}.other"])


PUSH: Final = {"deliver_subject": "somewhere"}
SAFE_PUSH: Final = {**PUSH, "flow_control": True, "idle_heartbeat": 10 * SECOND}

ROWS: Final = (
    pair("max-deliver-unlimited", {}, {"max_deliver": 5}),
    pair("max-deliver-one", {"max_deliver": 1}, {"max_deliver": 2}),
    pair("max-deliver-high", {"max_deliver": 11}, {"max_deliver": 10}),
    Row(
        "no-dead-letter",
        Asset({}, {"max_deliver": 5}),
        Asset(keeping_advisories_of("no-dead-letter-good"), {"max_deliver": 5}),
    ),
    pair("backoff-missing", {"max_deliver": 4}, {"max_deliver": 3}),
    # Servers before 2.10 reject a backoff with unlimited deliveries.
    pair("backoff-endless", {"backoff": [30 * SECOND]}, STEPS, since="2.10.0"),
    pair("backoff-first-short", {**STEPS, "backoff": [9 * SECOND, MINUTE]}, STEPS),
    pair(
        "backoff-decreasing",
        {**STEPS, "backoff": [60 * SECOND, 30 * SECOND]},
        {**STEPS, "backoff": [60 * SECOND, 60 * SECOND]},
    ),
    pair("ack-wait-long", {"ack_wait": 30 * MINUTE}, {"ack_wait": 29 * MINUTE}),
    pair("horizon-short", {"max_deliver": 2}, {"max_deliver": 3}),
    pair(
        "horizon-over-retention",
        {"max_deliver": 5},
        {"max_deliver": 4},
        stream={"max_age": 2 * MINUTE + SECOND},
    ),
    pair("max-ack-pending-unlimited", {"max_ack_pending": -1}, {"max_ack_pending": 1000}),
    pair("max-ack-pending-high", {"max_ack_pending": 10_001}, {"max_ack_pending": 10_000}),
    pair(
        "max-ack-pending-low",
        {"max_ack_pending": 99, "max_batch": 100},
        {"max_ack_pending": 100, "max_batch": 100},
    ),
    pair("durable-expires", {"inactive_threshold": HOUR}, {"inactive_threshold": 24 * HOUR}),
    Row(
        "ephemeral-worker",
        Asset(INTEREST, {"ephemeral": True, "inactive_threshold": HOUR}),
        Asset({}, {"ephemeral": True, "inactive_threshold": HOUR}),
    ),
    pair("state-volatile", {"mem_storage": True}, {}),
    pair("no-ack-durable", {"ack_policy": "none", "ack_wait": 0}, {}),
    pair(
        "ackall-shared",
        {**PUSH, "ack_policy": "all", "deliver_group": "team"},
        {**PUSH, "ack_policy": "all"},
    ),
    pair("push-unprotected", {**PUSH, "idle_heartbeat": 10 * SECOND}, SAFE_PUSH),
    pair("push-unprotected", PUSH, {**PUSH, "deliver_group": "team"}, about="-grouped"),
    pair(
        "pinned-mismatch",
        {**metadata("pinned", "true"), "priority_groups": ["g"], "priority_policy": "overflow"},
        {
            **metadata("pinned", "true"),
            "priority_groups": ["g"],
            "priority_policy": "pinned_client",
            "priority_timeout": 2 * MINUTE,
        },
        since="2.11.0",
    ),
    Row(
        "delivered-below-first",
        Asset({"max_msgs": 5}, {}, messages=3, then=read_two_then_lose),
        Asset({"max_msgs": 50}, {}, messages=3, then=read_two_then_lose),
    ),
    pair("consumer-inactive", {}, {"ephemeral": True, "inactive_threshold": HOUR}),
    Row("consumer-drained", Asset({}, {}), Asset({}, {}, messages=1)),
    Row(
        "max-waiting-near",
        Asset({}, {"max_waiting": 2}, then=two_wait),
        Asset({}, {"max_waiting": 3}, then=two_wait),
    ),
    Row(
        "filter-unmatched",
        Asset({}, {"filter_subject": "filter-unmatched-bad.this"}, then=lose_subject),
        Asset({}, {"filter_subject": "filter-unmatched-good.*"}, then=lose_subject),
    ),
    pair("replay-original", {"replay_policy": "original"}, {"replay_policy": "instant"}),
    pair("rate-limited", {**SAFE_PUSH, "rate_limit_bps": 8000}, SAFE_PUSH),
    pair(
        "ephemeral-lingers",
        {"ephemeral": True, "inactive_threshold": 24 * HOUR},
        {"ephemeral": True, "inactive_threshold": 23 * HOUR},
    ),
    pair(
        "consumer-limit-unreadable",
        metadata("last-ack-critical", "quite long"),
        metadata("last-ack-critical", "5m"),
        since="2.10.0",
    ),
    pair(
        "consumer-limit-unknown",
        metadata("last-akc-critical", "5m"),
        metadata("last-ack-critical", "5m"),
        since="2.10.0",
    ),
    pair(
        "ack-wait-over-retention",
        {"ack_wait": MINUTE},
        {"ack_wait": MINUTE - SECOND},
        stream={"max_age": MINUTE},
    ),
    Row(
        "interest-held",
        Asset(INTEREST, {}, messages=2),
        Asset({}, {}, messages=2),
    ),
    pair("pause-long", paused(8), paused(6), since="2.11.0"),
)
