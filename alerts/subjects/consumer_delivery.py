"""Consumers without deliveries, and consumers that lose messages before delivery."""

from __future__ import annotations

from alerts import thresholds
from alerts.annotations import (
    CONSUMER,
    COUNT,
    DURATION,
    NUMBER,
    PERCENT,
    READ_NUMBER,
    STREAM,
    own,
    query_value,
)
from alerts.queries import earlier, highest, latest, lowest, new_events, slope
from alerts.rule import Alert, Board, Group, Severity
from alerts.subjects.consumer_recordings import busy_share
from alerts.subjects.populations import in_service, settled_consumer, without_buckets
from exporter import catalog

_pending = latest(catalog.CONSUMER_NUM_PENDING)
_verdict = latest(catalog.CONSUMER_VERDICT)
_FALLING_BEHIND = catalog.VERDICTS.index("falling behind")
_NO_WORKER_PULLS = catalog.VERDICTS.index("no worker pulls / not bound")
_WAITING = query_value(catalog.CONSUMER_NUM_PENDING, READ_NUMBER)
_workers_wait = (highest(catalog.CONSUMER_NUM_WAITING, "5m") > 0).or_(
    latest(catalog.CONSUMER_PUSH_BOUND).equals(1)
)
# A pull request waits while the other workers hold max_ack_pending messages. Long work in order is
# no stall, and work that never ends is JetStreamConsumerAckPendingFull.
_ack_pending_full = latest(catalog.CONSUMER_NUM_ACK_PENDING) >= latest(
    catalog.CONSUMER_MAX_ACK_PENDING
)

NO_LEADER = Alert(
    name="ConsumerNoLeader",
    severity=Severity.CRITICAL,
    when=settled_consumer(
        in_service(latest(catalog.CONSUMER_UP).equals(0)).where(latest(catalog.STREAM_UP).equals(1))
    ),
    for_="2m",
    summary="A consumer has no leader: it delivers nothing.",
    description=f"{CONSUMER} has no leader, or is listed as missing or offline, while its stream "
    "has one. It delivers no messages and accepts no acknowledgements.",
    condition="The leader of the consumer does not respond while the leader of the stream does.",
    board=Board.CONSUMER,
)

STALLED = Alert(
    name="ConsumerStalled",
    severity=Severity.CRITICAL,
    when=in_service(
        (latest(catalog.CONSUMER_STALLED_SECONDS) > thresholds.CONSUMER_STALLED)
        .where(_pending > 0)
        .where(
            _workers_wait.unless(_ack_pending_full).or_(busy_share > thresholds.CONSUMER_BUSY_RATIO)
        )
    ),
    for_="5m",
    summary="A consumer gets no messages although some wait for it.",
    description=f"{CONSUMER} has had no delivery for {DURATION} while {_WAITING} messages wait. "
    + query_value(
        own(catalog.CONSUMER_PUSH_BOUND).equals(1),
        "A subscriber is bound to it.",
        query_value(
            own(catalog.CONSUMER_NUM_WAITING, "max_over_time", "5m") > 0,
            f"Workers pull: up to {READ_NUMBER} pull requests wait at the server.",
            "No worker pulls any more, although the consumer was busy in the day before.",
        ),
    ),
    condition="No delivery for more than <consumer_stalled> although messages wait. Besides, "
    "pull requests wait or a push subscriber is bound while max_ack_pending is not used up, or the "
    "consumer had deliveries in more than <consumer_busy_ratio> of the half hours of the day before. "
    "A nightly batch job meets none of these.",
    board=Board.CONSUMER,
)

MESSAGES_LOST = Alert(
    name="ConsumerMessagesLost",
    severity=Severity.CRITICAL,
    when=settled_consumer(without_buckets(in_service(new_events(catalog.CONSUMER_LOST_MESSAGES)))),
    for_="0s",
    keep_firing_for="15m",
    summary="Messages were removed from a stream before delivery to a consumer.",
    description=f"{CONSUMER} has missed about {COUNT} messages in the last <recent_event>: limits "
    "or retention removed them before delivery. They are lost.",
    condition="Limits or retention removed messages before delivery to the consumer, in the last "
    "<recent_event>. Purges and overwrites by design do not count.",
    board=Board.CONSUMER,
)

BACKLOG_GROWING = Alert(
    name="ConsumerBacklogGrowing",
    severity=Severity.WARNING,
    when=in_service(
        _verdict.equals(_FALLING_BEHIND).where(slope(catalog.CONSUMER_LAG_SECONDS, "30m") > 0)
    ),
    for_="30m",
    summary="A consumer falls further and further behind.",
    description=f"{CONSUMER} has fallen behind for 30 minutes: {_WAITING} messages wait, the "
    "oldest unacknowledged one is "
    + query_value(catalog.CONSUMER_LAG_SECONDS, "{{ . | first | value | humanizeDuration }}")
    + " old, and its age grows.",
    condition="The backlog grows (verdict falling behind) and the age of the oldest unacknowledged "
    "message has risen over 30 minutes.",
    board=Board.CONSUMER,
)

NO_WORKER_PULLS = Alert(
    name="ConsumerNoWorkerPulls",
    severity=Severity.WARNING,
    when=in_service(
        _verdict.equals(_NO_WORKER_PULLS)
        .unless(latest(catalog.CONSUMER_PUSH_BOUND))
        .unless(busy_share > thresholds.CONSUMER_BUSY_RATIO)
    ),
    for_="15m",
    summary="Messages wait in a pull consumer and no worker pulls.",
    description=f"{CONSUMER} has {_WAITING} messages waiting and no pull request. It was not busy "
    "before: it may be a job that runs now and then, or one that was forgotten.",
    condition="Messages wait and no pull request waits. Not where the consumer had deliveries in "
    "more than <consumer_busy_ratio> of the half hours of the day before: that is "
    "JetStreamConsumerStalled.",
    board=Board.CONSUMER,
)

NOT_BOUND = Alert(
    name="ConsumerNotBound",
    severity=Severity.WARNING,
    when=in_service(
        (_pending > 0).where(latest(catalog.CONSUMER_PUSH_BOUND).equals(0)),
    ),
    for_="15m",
    summary="Messages wait in a push consumer without a subscriber.",
    description=f"{CONSUMER} has no subscriber on its delivery subject. Messages waiting: {NUMBER}.",
    condition="A push consumer has messages waiting and no subscriber on its delivery subject.",
    board=Board.CONSUMER,
)

HEADROOM_LOW = Alert(
    name="ConsumerRetentionHeadroomLow",
    severity=Severity.WARNING,
    when=without_buckets(
        in_service(
            (
                latest(catalog.CONSUMER_RETENTION_HEADROOM_SECONDS)
                / latest(catalog.STREAM_MAX_AGE_SECONDS)
                < thresholds.RETENTION_HEADROOM_RATIO
            )
            .where(slope(catalog.CONSUMER_RETENTION_HEADROOM_SECONDS, "15m") < 0)
            .or_(
                (
                    latest(catalog.CONSUMER_RETENTION_HEADROOM_RATIO)
                    < thresholds.RETENTION_HEADROOM_RATIO
                ).where(slope(catalog.CONSUMER_RETENTION_HEADROOM_RATIO, "15m") < 0)
            )
        )
    ),
    for_="15m",
    summary="The limits of the stream will soon remove unread messages.",
    description=f"{CONSUMER} has {PERCENT} of the retention left before unread messages are "
    "removed, and it falls.",
    condition="The first unacknowledged message has less than <retention_headroom_ratio> of the "
    "stream's max_age (or of a full stream's length) left, and that is falling.",
    board=Board.CONSUMER,
)

PAUSED_LONG = Alert(
    name="ConsumerPausedLong",
    severity=Severity.INFO,
    when=(
        _pending.where(lowest(catalog.CONSUMER_PAUSED, thresholds.CONSUMER_PAUSED).equals(1))
        .where(earlier(catalog.CONSUMER_PAUSED, thresholds.CONSUMER_PAUSED).equals(1))
        .where(_pending > earlier(catalog.CONSUMER_NUM_PENDING, thresholds.CONSUMER_PAUSED))
    ),
    for_="0s",
    summary="A consumer has been paused for long while its backlog grows.",
    description=f"{CONSUMER} has been paused for more than <consumer_paused>, and {NUMBER} messages "
    "wait. Retention continues during a pause.",
    condition="Paused for more than <consumer_paused>, with more messages waiting than then.",
    board=Board.CONSUMER,
)

EPHEMERAL_LEAK = Alert(
    name="ConsumerEphemeralLeak",
    severity=Severity.INFO,
    when=(
        lowest(catalog.STREAM_EPHEMERAL_CONSUMERS, "1h")
        - highest(catalog.STREAM_EPHEMERAL_CONSUMERS, "1h", offset="1d")
        > thresholds.EPHEMERAL_GROWTH
    )
    .where(
        lowest(catalog.STREAM_EPHEMERAL_CONSUMERS, "1h")
        > highest(catalog.STREAM_EPHEMERAL_CONSUMERS, "1h", offset="12h")
    )
    .where(
        lowest(catalog.STREAM_EPHEMERAL_CONSUMERS, "1h", offset="12h")
        > highest(catalog.STREAM_EPHEMERAL_CONSUMERS, "1h", offset="1d")
    ),
    for_="1h",
    summary="The number of ephemeral consumers of a stream grows.",
    description=f"{STREAM} has {COUNT} more ephemeral consumers than a day ago, and the number rose "
    "all day: a client probably creates consumers and never deletes them.",
    condition="The number of ephemeral consumers rose by more than <ephemeral_growth> in a day, in "
    "both halves of it.",
    board=Board.STREAM,
)

GROUPS = (
    Group(
        "streamgauge.consumer.delivery",
        (
            NO_LEADER,
            STALLED,
            MESSAGES_LOST,
            BACKLOG_GROWING,
            NO_WORKER_PULLS,
            NOT_BOUND,
            HEADROOM_LOW,
            PAUSED_LONG,
            EPHEMERAL_LEAK,
        ),
    ),
)
