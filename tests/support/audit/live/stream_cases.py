"""Streams for checks that a short test can trigger on a real server."""

from typing import Any, Final

from support.audit.live.assets import (
    HOUR,
    MINUTE,
    SECOND,
    Asset,
    Config,
    Row,
    change,
    make_consumer,
)
from support.recordings.scenario import Api

QUEUE: Final = {"retention": "workqueue"}
INTEREST: Final = {"retention": "interest"}
REFUSES: Final = {**QUEUE, "discard": "new", "max_msgs": 100}


def pair(code: str, bad: Config, good: Config, **more: Any) -> Row:
    return Row(code, Asset(bad), Asset(good), **more)


def metadata(key: str, value: str) -> Config:
    return {"metadata": {key: value}}


def monitored(key: str, value: str) -> Config:
    return metadata(f"io.nats.monitor.{key}", value)


async def seal(api: Api, name: str) -> None:
    await change(api, name, sealed=True)


async def delete_six(api: Api, name: str) -> None:
    await _delete(api, name, 6)


async def delete_five(api: Api, name: str) -> None:
    await _delete(api, name, 5)


async def _delete(api: Api, name: str, count: int) -> None:
    for sequence in range(2, 2 + count):
        await api.request(f"STREAM.MSG.DELETE.{name}", {"seq": sequence})


async def overwrite(api: Api, name: str) -> None:
    keys = f"$KV.{name.removeprefix('KV_')}"
    await api.jetstream.publish(f"{keys}.kept", b"x")
    for _ in range(5):
        await api.jetstream.publish(f"{keys}.changed", b"x")


async def two_ephemerals(api: Api, name: str) -> None:
    for who in ("one", "two"):
        await make_consumer(api, name, who, {"ephemeral": True, "inactive_threshold": HOUR})


async def two_durables(api: Api, name: str) -> None:
    for who in ("one", "two"):
        await make_consumer(api, name, who, {})


async def publish_with_ids(api: Api, name: str) -> None:
    for number in range(5):
        headers = {"Nats-Msg-Id": f"{name}-{number}"}
        await api.jetstream.publish(f"{name}.0", b"x", headers=headers)


async def retry_with_other_ids(api: Api, name: str) -> None:
    for number in range(6):
        headers = {"Nats-Msg-Id": f"attempt-{number}"}
        await api.jetstream.publish(
            f"{name}.0", b"order %d of 3 messages" % (number // 2), headers=headers
        )


def filtered(code: str, last_word: str) -> Config:
    return {"filter_subject": f"{code}.{last_word}"}


MARKED: Final = {
    "max_age": HOUR,
    "allow_msg_ttl": True,
    "subject_delete_marker_ttl": HOUR,
}
SEALED: Final = Asset({}, messages=1, then=seal)
TWO: Final = "workqueue-unread-subject"

ROWS: Final = (
    pair("dupe-window-short", {"duplicate_window": 119 * SECOND}, {"duplicate_window": 2 * MINUTE}),
    pair(
        "dupe-window-short",
        {
            "duplicate_window": 5 * MINUTE,
            **metadata("io.streamgauge.publish-retry-horizon", "10m"),
        },
        {"duplicate_window": 30 * SECOND, **metadata("io.streamgauge.publish-retry-horizon", "30s")},
        since="2.10.0",
        about="-owner",
    ),
    pair(
        "dupe-window-clipped",
        {"max_age": MINUTE},
        {"max_age": MINUTE, "duplicate_window": 59 * SECOND},
    ),
    pair(
        "dupe-window-off",
        {"sources": [{"name": "nowhere"}]},
        {"sources": [{"name": "nowhere"}], "duplicate_window": 2 * MINUTE},
        since="2.14.0",  # older servers set a window on every stream
    ),
    pair("dupe-not-restart-safe", QUEUE, {}),
    Row(
        "dupe-not-restart-safe",
        Asset({"max_msgs": 5}, messages=9),
        Asset({"max_msgs": 50}, messages=9),
        about="-full",
    ),
    Row(
        "dupe-window-costly",
        Asset({"duplicate_window": HOUR}, lives=True),
        Asset({"duplicate_window": HOUR - SECOND}, lives=True),
    ),
    Row(
        "ids-missing",
        Asset({"duplicate_window": 5 * MINUTE}, messages=5),
        Asset({"duplicate_window": 5 * MINUTE}, then=publish_with_ids),
    ),
    Row(
        "ids-unstable",
        Asset({"duplicate_window": 2 * MINUTE}, then=retry_with_other_ids),
        Asset({"duplicate_window": 2 * MINUTE}, then=publish_with_ids),
    ),
    pair("no-ack", {"no_ack": True}, {"no_ack": False}),
    Row("abandoned-kept", Asset(QUEUE, {"max_deliver": 3}), Asset(QUEUE, {})),
    Row(
        "abandoned-kept",
        Asset(INTEREST, {"max_deliver": 3}),
        Asset({**INTEREST, "max_age": HOUR}, {"max_deliver": 3}),
        about="-interest",
    ),
    Row(
        "dead-letter-body-gone",
        Asset({"max_age": 23 * HOUR}, {"max_deliver": 3}),
        Asset({"max_age": 24 * HOUR}, {"max_deliver": 3}),
    ),
    Row(
        "workqueue-aggressive",
        Asset(REFUSES, {"max_deliver": 9}),
        Asset(REFUSES, {"max_deliver": 10}),
    ),
    Row(
        "interest-orphan",
        Asset(INTEREST, lives=True),
        Asset(INTEREST, {}, lives=True),
    ),
    pair("no-limits", {}, {"max_age": 24 * HOUR}),
    pair("replicas-memory-one", {"storage": "memory"}, {"storage": "file"}),
    Row(
        "kv-grows",
        Asset({}, then=overwrite, bucket=True),
        Asset({"max_age": HOUR}, then=overwrite, bucket=True),
    ),
    Row(
        "kv-expiry-silent",
        Asset({"max_age": HOUR}, bucket=True),
        Asset(MARKED, bucket=True),
        since="2.11.0",
    ),
    Row(
        "large-uncompressed",
        Asset({}, messages=3, bytes=20_000),
        Asset({"compression": "s2"}, messages=3, bytes=20_000),
        since="2.10.0",
    ),
    Row(
        "large-in-memory",
        Asset({"storage": "memory"}, messages=3, bytes=20_000),
        Asset({"storage": "file"}, messages=3, bytes=20_000),
    ),
    Row("subjects-many", Asset({}, messages=3), Asset({}, messages=2)),
    Row(
        "deletes-many",
        Asset({}, messages=10, then=delete_six),
        Asset({}, messages=10, then=delete_five),
    ),
    Row("inactive", Asset({}, messages=1), SEALED),
    Row("unread", Asset({}, lives=True), Asset({}, {}, lives=True)),
    pair(
        "sources-range",
        {"sources": [{"name": "nowhere"}], **monitored("min-sources", "2")},
        {"sources": [{"name": "nowhere"}], **monitored("min-sources", "1")},
        since="2.10.0",
    ),
    pair(
        "peers-unexpected", monitored("peer-expect", "3"), monitored("peer-expect", "1"),
        since="2.10.0",
    ),
    Row(
        "consumers-near-limit",
        Asset({"max_consumers": 2}, then=two_durables),
        Asset({"max_consumers": 3}, then=two_durables),
    ),
    Row(
        "stream-limit-near",
        Asset({"discard": "new", "max_msgs": 10}, messages=9),
        Asset({"discard": "new", "max_msgs": 10}, messages=8),
    ),
    Row("sealed-listens", Asset({}, messages=1, then=seal), Asset({}, messages=1)),
    pair(
        "workqueue-drops",
        {**QUEUE, "max_msgs": 100},
        {**QUEUE, "max_msgs": 100, "discard": "new"},
    ),
    Row("messages-large", Asset({}, messages=2, bytes=60_000), Asset({}, messages=2, bytes=40_000)),
    pair("catches-inboxes", {"subjects": ["_INBOX.audit.>"]}, {"subjects": ["INBOX.audit.>"]}),
    pair(
        "discard-new-unlimited",
        {"discard": "new", "max_age": HOUR},
        {"discard": "new", "max_bytes": 1 << 20},
    ),
    pair(
        "limit-unreadable", monitored("lag-critical", "a lot"), monitored("lag-critical", "5"),
        since="2.10.0",
    ),
    pair(
        "limit-unknown", monitored("lag-criticl", "5"), monitored("lag-critical", "5"),
        since="2.10.0",
    ),
    Row("ephemerals-many", Asset({}, then=two_ephemerals), Asset({}, then=two_durables)),
    Row(
        TWO,
        Asset({**QUEUE, "subjects": [f"{TWO}.a", f"{TWO}.b"]}, filtered(TWO, "a")),
        Asset({**QUEUE, "subjects": [f"{TWO}.c", f"{TWO}.d"]}, filtered(TWO, "*")),
    ),
)  # fmt: skip
