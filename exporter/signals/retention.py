"""How much time or room is left until a stream's limits take a message before it was read."""

from __future__ import annotations

from exporter.model import Stream, StreamConfig

# Below this a discard-old stream removes nothing yet, and a position in it means nothing.
_OVER = 0.9


def headroom_seconds(lag: float | None, config: StreamConfig | None) -> float | None:
    """Until the first unread message expires; None without max_age or when caught up."""
    if not lag or config is None or config.max_age_seconds is None:
        return None
    return config.max_age_seconds - lag


def headroom_ratio(unfinished: int | None, stream: Stream) -> float | None:
    """How far before the end that is being removed the consumer stands; 0 is at that end."""
    if unfinished is None or not drops_the_oldest(stream):
        return None
    span = stream.last_seq - stream.first_seq + 1
    return max(0.0, min(1.0, (unfinished - stream.first_seq) / span))


def drops_the_oldest(stream: Stream) -> bool:
    """Whether a limit takes the oldest messages, or is about to."""
    config = stream.config
    if config is None or config.discard != "old" or stream.messages == 0:
        return False
    in_bytes = config.max_bytes is not None and stream.bytes > _OVER * config.max_bytes
    in_messages = config.max_messages is not None and stream.messages > _OVER * config.max_messages
    return in_bytes or in_messages
