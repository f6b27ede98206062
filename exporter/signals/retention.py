"""Retention headroom: what is left before limits remove an unfinished message."""

from __future__ import annotations

from exporter.model import Stream, StreamConfig

# Below this fill ratio a discard-old stream removes nothing yet.
_NEAR_LIMIT = 0.9


def headroom_seconds(lag: float | None, config: StreamConfig | None) -> float | None:
    """Time until the first unfinished message expires; None without max_age or lag."""
    if not lag or config is None or config.max_age_seconds is None:
        return None
    return config.max_age_seconds - lag


def headroom_ratio(unfinished: int | None, stream: Stream) -> float | None:
    """Position of the consumer in the stream; at 0 its next message is removed next."""
    if unfinished is None or not removes_oldest(stream):
        return None
    span = stream.last_seq - stream.first_seq + 1
    return max(0.0, min(1.0, (unfinished - stream.first_seq) / span))


def removes_oldest(stream: Stream) -> bool:
    """Whether a limit removes the oldest messages, or is about to."""
    config = stream.config
    if config is None or config.discard != "old" or stream.messages == 0:
        return False
    in_bytes = config.max_bytes is not None and stream.bytes > _NEAR_LIMIT * config.max_bytes
    in_messages = (
        config.max_messages is not None and stream.messages > _NEAR_LIMIT * config.max_messages
    )
    return in_bytes or in_messages
