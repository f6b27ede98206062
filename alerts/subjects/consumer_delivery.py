"""Consumers that do not get their messages, or lose them before they are read."""

from __future__ import annotations

from alerts import thresholds
from alerts.promql.series import highest, increase, latest, lowest, slope, then
from alerts.rule import Alert, Board, Group, Severity
from alerts.subjects.consumer_recordings import busy_share
from alerts.subjects.populations import in_service, settled_consumer, without_buckets
from alerts.wording import CONSUMER, COUNT, DURATION, NUMBER, PERCENT, READ_NUMBER, STREAM, told
from exporter import catalog

_pending = latest(catalog.CONSUMER_NUM_PENDING)
_verdict = latest(catalog.CONSUMER_VERDICT)
_FALLING_BEHIND = catalog.VERDICTS.index("falling behind")
_NO_WORKER_PULLS = catalog.VERDICTS.index("no worker pulls / not bound")
_WAITING = told(catalog.CONSUMER_NUM_PENDING, READ_NUMBER)
_somebody_asks = (highest(catalog.CONSUMER_NUM_WAITING, "5m") > 0).or_(
    latest(catalog.CONSUMER_PUSH_BOUND).equals(1)
)
# A standby asks in vain while the others hold all they may: long work in order is no stall, and
# work that never ends is JetStreamConsumerAckPendingFull.
_has_no_room = latest(catalog.CONSUMER_NUM_ACK_PENDING) >= latest(catalog.CONSUMER_MAX_ACK_PENDING)

NO_LEADER = Alert(
    name="ConsumerNoLeader",
    severity=Severity.CRITICAL,
    when=settled_consumer(
        in_service(latest(catalog.CONSUMER_UP).equals(0)).where(latest(catalog.STREAM_UP).equals(1))
    ),
    hold="2m",
    summary="A consumer has no leader: it delivers nothing.",
    description=f"{CONSUMER} has no leader, or is listed as missing or offline, while its stream "
    "has one. Nobody gets messages from it and acknowledgements are not taken.",
    condition="The consumer's leader does not answer while the stream's leader does.",
    board=Board.CONSUMER,
)

STALLED = Alert(
    name="ConsumerStalled",
    severity=Severity.CRITICAL,
    when=in_service(
        (latest(catalog.CONSUMER_STALLED_SECONDS) > thresholds.CONSUMER_STALLED)
        .where(_pending > 0)
        .where(_somebody_asks.unless(_has_no_room).or_(busy_share > thresholds.CONSUMER_BUSY_RATIO))
    ),
    hold="5m",
    summary="A consumer gets no messages although some wait for it.",
    description=f"{CONSUMER} has had no delivery for {DURATION} while {_WAITING} messages wait. "
    + told(
        catalog.CONSUMER_PUSH_BOUND,
        "A subscriber is bound to it.",
        told(
            catalog.CONSUMER_NUM_WAITING,
            f"Clients are asking: up to {READ_NUMBER} pull requests wait at the server.",
            "Nobody asks for them any more, although it was busy all day before.",
            function="max_over_time",
            window="5m",
            holds=" > 0",
        ),
        holds=" == 1",
    ),
    condition="No delivery for more than <consumer_stalled> although messages wait, and somebody "
    "ought to get them: pull requests wait, or a push subscriber is bound, with max_ack_pending not "
    "used up, or the consumer had deliveries in more than <consumer_busy_ratio> of the half hours of "
    "the day before. A nightly batch job is none of these.",
    board=Board.CONSUMER,
)

MESSAGES_LOST = Alert(
    name="ConsumerMessagesLost",
    severity=Severity.CRITICAL,
    when=settled_consumer(
        without_buckets(in_service(increase(catalog.CONSUMER_LOST_MESSAGES, "15m") > 0))
    ),
    hold="0s",
    keep="15m",
    summary="Messages were removed from a stream before a consumer ever got them.",
    description=f"{CONSUMER} has missed about {COUNT} messages in the last 15 minutes: limits or "
    "retention removed them first. They are gone from the stream.",
    condition="Limits or retention removed messages that the consumer was never sent, in the last "
    "15 minutes. Purges and what is overwritten by design do not count.",
    board=Board.CONSUMER,
)

BACKLOG_GROWING = Alert(
    name="ConsumerBacklogGrowing",
    severity=Severity.WARNING,
    when=in_service(
        _verdict.equals(_FALLING_BEHIND).where(slope(catalog.CONSUMER_LAG_SECONDS, "30m") > 0)
    ),
    hold="30m",
    summary="A consumer falls further and further behind.",
    description=f"{CONSUMER} has fallen behind for 30 minutes: {_WAITING} messages wait, the "
    "oldest unfinished one is "
    + told(catalog.CONSUMER_LAG_SECONDS, "{{ . | first | value | humanizeDuration }}")
    + " old, and its age is growing.",
    condition="The backlog has grown and never fallen (verdict falling behind) and the age of the "
    "oldest unfinished message has risen over 30 minutes.",
    board=Board.CONSUMER,
)

NO_WORKER_PULLS = Alert(
    name="ConsumerNobodyPulls",
    severity=Severity.WARNING,
    when=in_service(
        _verdict.equals(_NO_WORKER_PULLS)
        .unless(latest(catalog.CONSUMER_PUSH_BOUND))
        .unless(busy_share > thresholds.CONSUMER_BUSY_RATIO)
    ),
    hold="15m",
    summary="Messages wait in a pull consumer and nobody asks for them.",
    description=f"{CONSUMER} has {_WAITING} messages waiting and not one pull request. It was not "
    "busy before, so it may be a job that runs now and then, or one that was forgotten.",
    condition="Messages wait and no pull request does. Not where the consumer had deliveries in "
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
    hold="15m",
    summary="Messages wait in a push consumer and nobody is subscribed.",
    description=f"{CONSUMER} has nobody on its delivery subject. Messages waiting: {NUMBER}.",
    condition="A push consumer has messages waiting and nobody listens to its delivery subject.",
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
    hold="15m",
    summary="Unread messages will soon be removed by the stream's limits.",
    description=f"{CONSUMER} has only {PERCENT} of the retention left before messages that it has "
    "not read are removed, and it is getting less.",
    condition="The first unfinished message has less than <retention_headroom_ratio> of the "
    "stream's max_age (or of a full stream's length) left, and that is falling.",
    board=Board.CONSUMER,
)

PAUSED_LONG = Alert(
    name="ConsumerPausedLong",
    severity=Severity.INFO,
    when=(
        _pending.where(lowest(catalog.CONSUMER_PAUSED, thresholds.CONSUMER_PAUSED).equals(1))
        .where(then(catalog.CONSUMER_PAUSED, thresholds.CONSUMER_PAUSED).equals(1))
        .where(_pending > then(catalog.CONSUMER_NUM_PENDING, thresholds.CONSUMER_PAUSED))
    ),
    hold="0s",
    summary="A consumer has been paused for long while its backlog grows.",
    description=f"{CONSUMER} has been paused for more than <consumer_paused>, and {NUMBER} messages "
    "wait by now. Retention goes on during a pause.",
    condition="Paused for more than <consumer_paused>, with more messages waiting than then.",
    board=Board.CONSUMER,
)

EPHEMERAL_LEAK = Alert(
    name="ConsumerEphemeralLeak",
    severity=Severity.INFO,
    when=(
        lowest(catalog.STREAM_EPHEMERAL_CONSUMERS, "1h")
        - highest(catalog.STREAM_EPHEMERAL_CONSUMERS, "1h", ago="1d")
        > thresholds.EPHEMERAL_GROWTH
    )
    .where(
        lowest(catalog.STREAM_EPHEMERAL_CONSUMERS, "1h")
        > highest(catalog.STREAM_EPHEMERAL_CONSUMERS, "1h", ago="12h")
    )
    .where(
        lowest(catalog.STREAM_EPHEMERAL_CONSUMERS, "1h", ago="12h")
        > highest(catalog.STREAM_EPHEMERAL_CONSUMERS, "1h", ago="1d")
    ),
    hold="1h",
    summary="Ephemeral consumers of a stream become more and more.",
    description=f"{STREAM} has {COUNT} ephemeral consumers more than a day ago, and the number has "
    "risen all the time: a client probably makes new ones and never closes them.",
    condition="More than <ephemeral_growth> ephemeral consumers more than a day ago, risen in both "
    "halves of the day.",
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
