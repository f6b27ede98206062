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
from alerts.open_alerts import until_it_ends
from alerts.queries import (
    MISSED_SCRAPES,
    by_replica,
    earlier,
    highest,
    lasting,
    latest,
    lowest,
    new_events,
    samples,
)
from alerts.rule import Alert, Board, Group, Severity
from alerts.subjects.consumer_recordings import busy_share
from alerts.subjects.populations import in_service, settled_consumer, without_buckets
from exporter import catalog
from exporter.metric import Metric
from streamgauge.promql.expression import Expression

_pending = latest(catalog.CONSUMER_NUM_PENDING)
_START = catalog.CONSUMER_CONDITION_START_TIMESTAMP_SECONDS
_stalled = latest(catalog.CONSUMER_STALLED_SECONDS)
_WAITING = query_value(catalog.CONSUMER_NUM_PENDING, READ_NUMBER)
_workers_wait = (highest(catalog.CONSUMER_NUM_WAITING, "5m") > 0).or_(
    latest(catalog.CONSUMER_PUSH_BOUND).equals(1)
)
_lag = by_replica(catalog.CONSUMER_LAG_SECONDS)
_headroom = by_replica(catalog.CONSUMER_RETENTION_HEADROOM_SECONDS)
# A pull request waits while the other workers hold max_ack_pending messages. Long work in order is
# no stall, and work that never ends is JetStreamConsumerAckPendingFull.
_ack_pending_full = by_replica(catalog.CONSUMER_NUM_ACK_PENDING) >= by_replica(
    catalog.CONSUMER_MAX_ACK_PENDING
)


def _falls_or_is_gone(headroom: Metric) -> Expression:
    falls = samples(headroom, "deriv", "15m") < 0
    return falls.or_(by_replica(headroom) <= 0)


NO_LEADER = Alert(
    name="ConsumerNoLeader",
    severity=Severity.CRITICAL,
    when=in_service(
        settled_consumer(lasting(_START, "no_leader", thresholds.CONSUMER_LEADERLESS))
    ).where(latest(catalog.STREAM_UP).equals(1)),
    for_="0s",
    keep_firing_for=MISSED_SCRAPES,
    summary="A consumer has no leader: it delivers nothing.",
    description=f"{CONSUMER} has had no leader for {DURATION}, or is listed as missing or offline, "
    "while its stream has one. It delivers no messages and accepts no acknowledgements.",
    condition="The leader of the consumer has not responded for <consumer_leaderless> while the "
    "leader of the stream does.",
    board=Board.CONSUMER,
)

STALLED = Alert(
    name="ConsumerStalled",
    severity=Severity.CRITICAL,
    when=in_service(
        until_it_ends(
            "ConsumerStalled", _stalled > thresholds.CONSUMER_STALLED, _stalled > 0
        ).where(
            _workers_wait.unless(_ack_pending_full).or_(busy_share > thresholds.CONSUMER_BUSY_RATIO)
        )
    ),
    for_="0s",
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
    when=without_buckets(in_service(settled_consumer(new_events(catalog.CONSUMER_LOST_MESSAGES)))),
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
        lasting(_START, "falling_behind", thresholds.FALLING_BEHIND).where(
            _lag > by_replica(catalog.CONSUMER_LAG_SECONDS, thresholds.FALLING_BEHIND)
        )
    ),
    for_="0s",
    keep_firing_for=MISSED_SCRAPES,
    summary="A consumer falls further and further behind.",
    description=f"{CONSUMER} has fallen behind for {DURATION}: {_WAITING} messages wait, the "
    "oldest unacknowledged one is "
    + query_value(catalog.CONSUMER_LAG_SECONDS, "{{ . | first | value | humanizeDuration }}")
    + " old, and its age grows.",
    condition="The backlog has grown for <falling_behind> (condition falling_behind), and the oldest "
    "unacknowledged message is older than the oldest one was then.",
    board=Board.CONSUMER,
)

NO_WORKER_PULLS = Alert(
    name="ConsumerNoWorkerPulls",
    severity=Severity.WARNING,
    when=in_service(
        lasting(_START, "no_worker_pulls", thresholds.NO_WORKER).unless(
            busy_share > thresholds.CONSUMER_BUSY_RATIO
        )
    ),
    for_="0s",
    keep_firing_for=MISSED_SCRAPES,
    summary="Messages wait in a pull consumer and no worker pulls.",
    description=f"{CONSUMER} has had no pull request for {DURATION} while {_WAITING} messages wait"
    + query_value(
        catalog.CONSUMER_NUM_ACK_PENDING,
        f" and {READ_NUMBER} are unacknowledged",
    )
    + ". It was not busy before: a job that runs now and then, a new one whose workers died, or one "
    "that was forgotten.",
    condition="Messages have waited for <no_worker> without a pull request, and the exporter has "
    "learned no longer pause between pulls (condition no_worker_pulls). Not where the consumer had deliveries in "
    "more than <consumer_busy_ratio> of the half hours of the day before: that is "
    "JetStreamConsumerStalled.",
    board=Board.CONSUMER,
)

NOT_BOUND = Alert(
    name="ConsumerNotBound",
    severity=Severity.WARNING,
    when=in_service(lasting(_START, "not_bound", thresholds.NO_WORKER)),
    for_="0s",
    keep_firing_for=MISSED_SCRAPES,
    summary="Messages wait in a push consumer without a subscriber.",
    description=f"{CONSUMER} has had no subscriber on its delivery subject for {DURATION}. Messages "
    f"waiting: {_WAITING}.",
    condition="A push consumer has had messages waiting and no subscriber on its delivery subject "
    "for <no_worker> (condition not_bound).",
    board=Board.CONSUMER,
)

HEADROOM_LOW = Alert(
    name="ConsumerRetentionHeadroomLow",
    severity=Severity.WARNING,
    when=without_buckets(
        in_service(
            (
                (_headroom / by_replica(catalog.STREAM_MAX_AGE_SECONDS))
                < thresholds.RETENTION_HEADROOM_RATIO
            )
            .folded()
            .where(_falls_or_is_gone(catalog.CONSUMER_RETENTION_HEADROOM_SECONDS))
            .or_(
                (
                    by_replica(catalog.CONSUMER_RETENTION_HEADROOM_RATIO)
                    < thresholds.RETENTION_HEADROOM_RATIO
                )
                .folded()
                .where(_falls_or_is_gone(catalog.CONSUMER_RETENTION_HEADROOM_RATIO))
            )
        )
    ),
    for_="15m",
    summary="The limits of the stream will soon remove unread messages.",
    description="{{ if le $value 0.0 }}"
    f"{CONSUMER} has no retention left: the limits of the stream remove messages before delivery."
    "{{ else }}"
    f"{CONSUMER} has {PERCENT} of the retention left before unread messages are removed, and it "
    "falls.{{ end }}",
    condition="The first unacknowledged message has less than <retention_headroom_ratio> of the "
    "stream's max_age (or of a full stream's length) left, and that is falling or 0.",
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
