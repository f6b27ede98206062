"""Model values for tests of pure code: an ordinary one of each, changed where the test says so."""

from datetime import UTC, datetime
from typing import Any

from exporter.model import (
    NO_THRESHOLDS,
    ClockEstimate,
    Consumer,
    ConsumerConfig,
    Server,
    Snapshot,
    Stream,
    StreamConfig,
)

NOW = 1_700_000_000.0


def at(moment: float) -> datetime:
    return datetime.fromtimestamp(moment, UTC)


def stream_config(**changes: Any) -> StreamConfig:
    """A stream without any limit."""
    plain: dict[str, Any] = {
        "retention": "limits",
        "discard": "old",
        "storage": "file",
        "compression": "none",
        "kind": "stream",
        "replicas": 1,
        "mirror": "",
        "sourced": False,
        "subjects": ("orders.>",),
        "max_bytes": None,
        "max_messages": None,
        "max_messages_per_subject": None,
        "max_consumers": None,
        "max_age_seconds": None,
        "duplicate_window_seconds": None,
        "thresholds": NO_THRESHOLDS,
    }
    return StreamConfig(**{**plain, **changes})


def consumer_config(**changes: Any) -> ConsumerConfig:
    """A durable pull consumer that acknowledges each message."""
    plain: dict[str, Any] = {
        "durable": True,
        "kind": "pull",
        "ack_policy": "explicit",
        "deliver_policy": "all",
        "replay_policy": "instant",
        "filters": (),
        "priority_policy": "none",
        "flow_control": False,
        "internal": False,
        "replicas": 1,
        "ack_wait_seconds": 30.0,
        "max_deliver": None,
        "max_ack_pending": 1000,
        "max_waiting": 512,
        "backoff_seconds": (),
        "thresholds": NO_THRESHOLDS,
    }
    return ConsumerConfig(**{**plain, **changes})


def stream(name: str = "ORDERS", **changes: Any) -> Stream:
    plain: dict[str, Any] = {
        "account": "APP",
        "up": True,
        "reason": "",
        "leader": "n1",
        "raft_group": "",
        "config": stream_config(),
    }
    return Stream(name=name, **{**plain, **changes})


def consumer(name: str = "worker", **changes: Any) -> Consumer:
    plain: dict[str, Any] = {
        "account": "APP",
        "stream": "ORDERS",
        "up": True,
        "reason": "",
        "leader": "n1",
        "config": consumer_config(),
    }
    return Consumer(name=name, **{**plain, **changes})


def server(name: str = "n1", offset: float | None = 0.0, **changes: Any) -> Server:
    """Its clock is `offset` seconds ahead of the real one; unknown when None."""
    clock = None if offset is None else ClockEstimate(offset, 0.001, 0.002)
    return Server(**{"name": name, "id": name.upper(), "up": True, "clock": clock, **changes})


def snapshot(*rows: Stream | Consumer | Server, **changes: Any) -> Snapshot:
    return Snapshot(
        system="nats",
        taken=NOW,
        streams=tuple(row for row in rows if isinstance(row, Stream)),
        consumers=tuple(row for row in rows if isinstance(row, Consumer)),
        servers=tuple(row for row in rows if isinstance(row, Server)),
        **changes,
    )
