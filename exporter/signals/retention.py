"""Retention headroom: what is left before limits remove an unfinished message."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.model import Stream, StreamConfig
from exporter.signals.lag import StreamTimes

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


def size_ratios(stream: Stream, config: StreamConfig) -> Iterator[tuple[str, float]]:
    """Used share of each limit of size, by its name."""
    if config.max_bytes:
        yield "bytes", stream.bytes / config.max_bytes
    if config.max_messages:
        yield "messages", stream.messages / config.max_messages


def used_share(
    unfinished: int | None, times: StreamTimes, stream: Stream, server_now: float
) -> float:
    """Share of what the stream keeps that lies behind this message: at 1 it is removed."""
    config = stream.config
    if unfinished is None or config is None or stream.messages == 0:
        return 0.0
    shares = [0.0]
    if config.max_age_seconds is not None:
        stored = times.time_of(unfinished, stream, server_now)
        shares.append(0.0 if stored is None else (server_now - stored) / config.max_age_seconds)
    if config.discard == "old":
        behind = stream.last_seq - unfinished + 1
        if config.max_messages is not None:
            shares.append(behind / config.max_messages)
        if config.max_bytes is not None:
            shares.append(behind * stream.bytes / stream.messages / config.max_bytes)
    return min(1.0, max(shares))


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
