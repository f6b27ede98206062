"""The conditions of a consumer, and why one of any asset cannot be judged."""

from __future__ import annotations

from enum import StrEnum


class Condition(StrEnum):
    """From the gravest to the least grave."""

    NO_LEADER = "no_leader"
    LOSING_MESSAGES = "losing_messages"
    ACK_PENDING_FULL = "ack_pending_full"
    STALLED = "stalled"
    NOTHING_FINISHED = "nothing_finished"
    REDELIVERY_LOOP = "redelivery_loop"
    ACK_FLOOR_STUCK = "ack_floor_stuck"
    WORKERS_GONE = "workers_gone"  # no worker, and busy before
    NO_WORKER_PULLS = "no_worker_pulls"
    NOT_BOUND = "not_bound"
    FALLING_BEHIND = "falling_behind"
    HEADROOM_LOW = "headroom_low"
    MESSAGES_ABANDONED = "messages_abandoned"
    ACKS_LATE = "acks_late"
    NAK_LOOP = "nak_loop"
    REDELIVERY_HIGH = "redelivery_high"
    ACK_PENDING_HIGH = "ack_pending_high"
    ACK_FLOOR_GAP_HIGH = "ack_floor_gap_high"
    PAUSED_BACKLOG = "paused_backlog"
    LONG_JOBS = "long_jobs"


# Those that stand on a share. They warn before work stops: the verdict does not follow them.
RATIOS = frozenset(
    {
        Condition.HEADROOM_LOW,
        Condition.MESSAGES_ABANDONED,
        Condition.ACKS_LATE,
        Condition.NAK_LOOP,
        Condition.REDELIVERY_HIGH,
        Condition.ACK_PENDING_HIGH,
        Condition.ACK_FLOOR_GAP_HIGH,
        Condition.PAUSED_BACKLOG,
    }
)


class Reason(StrEnum):
    """Why a condition is neither true nor false."""

    ONE_POLL = "fewer than two polls"
    TOO_YOUNG = "watched too briefly"
    NO_CONFIG = "no configuration"
    NO_LEADER = "no leader"
    NO_STREAM = "its stream has no leader"
    MALFORMED = "its row is malformed"
    NO_RESPONSE = "the server does not respond"
    NO_VALUE = "no value reported"
    HIDDEN = "in-progress acks not visible: other deliveries, no ack counts"


Unjudged = tuple[tuple[str, str], ...]  # conditions that cannot be judged, and why


def unjudged(reason: Reason, *but: str) -> Unjudged:
    """All conditions but the leader, which every poll shows, and those in `but`."""
    known = (Condition.NO_LEADER, *but)
    return tuple((each, reason) for each in Condition if each not in known)
