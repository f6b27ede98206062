"""Changes of a stream between two polls: recreated, sequence regressed, purged, new leader."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from exporter.model import Stream, StreamConfig

RECREATED_TOLERANCE_SECONDS = 1.0
# A stream at its byte limit stays below it: the next message would exceed it.
_NEARLY_FULL = 0.9
# The server expires messages by a timer, and its clock offset is an estimate.
_EXPIRY_SLACK_SECONDS = 2.0


class StreamChange(Struct, frozen=True, gc=False):
    recreated: bool = False
    regressed: bool = False
    leader_changed: bool = False
    purged: int = 0


NO_CHANGE = StreamChange()


def stream_change(before: Stream, now: Stream, server_now: float) -> StreamChange:
    """Both rows come from a leader. `server_now`: the leader's clock."""
    recreated = was_recreated(before.created, now.created)
    moved = before.leader != now.leader and bool(before.leader) and bool(now.leader)
    if recreated:
        return StreamChange(recreated=True, leader_changed=moved)
    regressed = now.last_seq < before.last_seq
    purged = 0 if regressed else purged_messages(before, now, server_now)
    if not (regressed or moved or purged):
        return NO_CHANGE
    return StreamChange(False, regressed, moved, purged)


def was_recreated(before: datetime | None, now: datetime | None) -> bool:
    if before is None or now is None or before == now:
        return False
    # Servers before 2.14 shift `created` by a fraction of a millisecond at each restart.
    return abs((now - before).total_seconds()) > RECREATED_TOLERANCE_SECONDS


def is_gapless(stream: Stream) -> bool:
    """Whether no message is missing between the first and the last."""
    return stream.messages == 0 or stream.messages == stream.last_seq - stream.first_seq + 1


def overwrites_by_design(config: StreamConfig | None) -> bool:
    """Whether newer messages or a TTL remove messages by design: that is no loss."""
    return config is not None and (
        config.kind != "stream" or config.max_messages_per_subject is not None or config.message_ttl
    )


def removed_messages(before: Stream, now: Stream) -> int:
    """How many messages were removed, for any reason."""
    return max(0, before.messages + (now.last_seq - before.last_seq) - now.messages)


def purged_messages(before: Stream, now: Stream, server_now: float) -> int:
    """Messages removed although no limit was reached; only for streams with limits retention.

    On work queues and interest streams a purge looks like acks here. There
    consumer_purged_messages_total counts it, from the positions of the consumers.
    """
    config = now.config
    if config is None or config.retention != "limits" or config.mirror:
        return 0
    if config.max_messages_per_subject is not None or config.message_ttl:
        return 0
    if now.first_seq <= before.first_seq or limits_may_remove(before, now, server_now):
        return 0
    return removed_messages(before, now)


def limits_may_remove(before: Stream, now: Stream, server_now: float) -> bool:
    """Whether a limit may have removed messages between the two polls."""
    config = now.config
    if config is None:
        return True
    stored = now.last_seq - before.last_seq
    if config.max_messages is not None and _too_many(before, now, stored, config.max_messages):
        return True
    if config.max_bytes is not None and stored > 0 and _full_of_bytes(now, config.max_bytes):
        return True
    if config.max_age_seconds is None or before.messages == 0:
        return False
    if before.first_time is None:
        return True
    expiry = before.first_time.timestamp() + config.max_age_seconds
    return expiry <= server_now + _EXPIRY_SLACK_SECONDS


def _too_many(before: Stream, now: Stream, stored: int, max_messages: int) -> bool:
    if before.messages + stored <= max_messages:
        return False
    # Where only limits remove messages, a stream that reached the limit is still full.
    acks_remove = now.config is not None and now.config.retention != "limits"
    return acks_remove or now.messages >= max_messages


def _full_of_bytes(stream: Stream, max_bytes: int) -> bool:
    two_messages = 2 * stream.bytes / max(1, stream.messages)
    return stream.bytes >= _NEARLY_FULL * max_bytes or stream.bytes + two_messages > max_bytes


def divergence(stream: Stream) -> tuple[tuple[str, int], ...]:
    """Followers with another message count although the leader reports no lag."""
    if not stream.follower_messages:
        return ()
    current = {r.server for r in stream.replicas if r.lag == 0 and not r.offline}
    return tuple(
        (server, abs(stream.messages - messages))
        for server, messages in stream.follower_messages
        if server in current and messages != stream.messages
    )
