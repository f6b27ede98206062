"""Changes of a stream between two polls: recreated, sequence regressed, purged, new leader."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from math import inf

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


def stream_change(before: Stream, now: Stream, by_limits: int) -> StreamChange:
    """Both rows come from a leader. `by_limits`: see `removed_by_limits`."""
    recreated = was_recreated(before.created, now.created)
    moved = before.leader != now.leader and bool(before.leader) and bool(now.leader)
    if recreated:
        return StreamChange(recreated=True, leader_changed=moved)
    regressed = now.last_seq < before.last_seq
    purged = 0 if regressed else purged_messages(before, now, by_limits)
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
    """Whether newer messages, a TTL or a schedule remove messages by design: that is no loss."""
    if config is None:
        return False
    per_subject = config.max_messages_per_subject is not None and not (
        config.discard == "new" and config.discard_new_per_subject
    )
    special = config.message_ttl or config.delete_markers or config.schedules
    return config.kind != "stream" or per_subject or special


def limits_remove(config: StreamConfig) -> bool:
    """Whether it has a limit that removes messages: with discard new only their age does."""
    sizes = config.max_messages is not None or config.max_bytes is not None
    return config.max_age_seconds is not None or (sizes and config.discard != "new")


def gaps(stream: Stream) -> int:
    """Sequences without a message between the first and the last."""
    if stream.messages == 0:
        return 0
    return max(0, stream.last_seq - stream.first_seq + 1 - stream.messages)


def new_gaps(before: Stream, now: Stream) -> int:
    """At most so many single messages were deleted between the two polls and are not passed."""
    if now.config is not None and now.config.retention != "limits":
        return 0  # acks leave gaps too
    known, passed = gaps(before), max(0, now.first_seq - before.first_seq)
    return max(0, gaps(now) - max(0, known - passed))


def removed_messages(before: Stream, now: Stream) -> int:
    """How many messages were removed, for any reason."""
    stored = now.last_seq - before.last_seq - unused_seqs(before, now)
    return max(0, before.messages + stored - now.messages)


def unused_seqs(before: Stream, now: Stream) -> int:
    """Sequences that no message has: a purge up to a later sequence moves the last one too."""
    if now.messages or now.last_stored != before.last_stored:
        return 0
    if now.last_stored is None and before.messages:
        return 0  # not known
    return max(0, now.last_seq - before.last_seq)


def purged_messages(before: Stream, now: Stream, by_limits: int) -> int:
    """At least so many were removed beyond what limits may have; for limits retention only.

    On work queues and interest streams a purge looks like acks here. There
    consumer_purged_messages_total counts it, from the positions of the consumers.
    """
    config = now.config
    if config is None or config.retention != "limits" or config.mirror:
        return 0
    if overwrites_by_design(config) or now.first_seq <= before.first_seq:
        return 0
    return max(0, removed_messages(before, now) - by_limits)


class PollTimes(Struct, frozen=True, gc=False):
    """Two polls in the leader's clock."""

    since: float
    now: float
    # A sequence from which on all messages were stored after a time.
    stored_after: Callable[[float], int | None] = lambda _: None


def removed_by_limits(before: Stream, now: Stream, polls: PollTimes) -> int:
    """At most so many messages were removed by limits between the two polls.

    Limits that were changed in between may have had other values meanwhile.
    """
    removed = removed_messages(before, now)
    if removed == 0:
        return 0
    if before.config is not None and _limits(before) != _limits(now):
        return removed
    return min(removed, explained_by_limits(before, now, polls))


def explained_by_limits(before: Stream, now: Stream, polls: PollTimes) -> int:
    """What the limits of now explain: where more was removed, not all went by limits."""
    if now.config is None:
        return before.messages + now.last_seq - before.last_seq
    return _by_limits(now.config, before, now, polls)


def _limits(stream: Stream) -> tuple[object, ...]:
    config = stream.config
    if config is None:
        return ()
    return config.max_messages, config.max_bytes, config.max_age_seconds, config.discard


def _by_limits(config: StreamConfig, before: Stream, now: Stream, polls: PollTimes) -> int:
    stored = now.last_seq - before.last_seq
    most = 0
    # A full stream with discard new rejects messages and removes none.
    if config.discard != "new":
        if config.max_bytes is not None and _full_of_bytes(before, now, stored, config.max_bytes):
            return before.messages + stored
        if config.max_messages is not None:
            most = max(0, before.messages + stored - config.max_messages)
    if config.max_age_seconds is not None:
        most += _by_age(config, before, now, polls)
    return most


def _by_age(config: StreamConfig, before: Stream, now: Stream, polls: PollTimes) -> int:
    # An empty stream may have stored and expired messages since.
    first = polls.since
    if before.messages:
        stored = before.first_time
        first = -inf if stored is None else stored.timestamp()
    kept_since = polls.now + _EXPIRY_SLACK_SECONDS - (config.max_age_seconds or 0.0)
    if first > kept_since:
        return 0
    # Messages of an origin keep its times, which may be in another order.
    young = None if config.mirror or config.sourced else polls.stored_after(kept_since)
    return (now.last_seq + 1 if young is None else young) - before.first_seq


def _full_of_bytes(before: Stream, now: Stream, stored: int, max_bytes: int) -> bool:
    """Whether bytes may have reached the limit in between; sizes of messages are estimated."""
    if before.bytes > max_bytes:
        return True  # the limit was lowered
    if stored <= 0:
        return False
    size = max(before.bytes / max(1, before.messages), now.bytes / max(1, now.messages))
    highest = max(before.bytes + 2 * size * stored, now.bytes + 2 * size)
    return max(before.bytes, now.bytes) >= _NEARLY_FULL * max_bytes or highest > max_bytes


def is_emptier_than_limits_leave_it(now: Stream) -> bool:
    """Limits of size remove no more than they must: a stream far below them was purged."""
    config = now.config
    if config is None or config.max_age_seconds is not None or config.retention != "limits":
        return False
    by_bytes = config.max_bytes is None or not _full_of_bytes(now, now, 1, config.max_bytes)
    return by_bytes and (config.max_messages is None or now.messages < config.max_messages)


def contradicts_limits(stream: Stream) -> bool:
    """Whether a stream holds more than its configuration allows: that is not the current one."""
    config = stream.config
    if config is None:
        return False
    return (config.max_messages is not None and stream.messages > config.max_messages) or (
        config.max_bytes is not None and stream.bytes > config.max_bytes
    )


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
