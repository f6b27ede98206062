"""Consumers without deliveries, and consumers that lose messages before delivery."""

from __future__ import annotations

from alerts import thresholds
from alerts.annotations import (
    CONSUMER,
    COUNT,
    DURATION,
    READ_NUMBER,
    STREAM,
    judged_by,
    own,
    query_value,
)
from alerts.open_alerts import until_it_ends
from alerts.queries import (
    MISSED_SCRAPES,
    condition_age,
    earlier,
    highest,
    lasting,
    latest,
    lowest,
    new_events,
)
from alerts.rule import Alert, Board, Group, Severity
from alerts.subjects.populations import in_service, settled_consumer, without_buckets
from exporter import catalog
from streamgauge.promql.expression import Expression

_START = catalog.CONSUMER_CONDITION_START_TIMESTAMP_SECONDS
_WAITING = query_value(catalog.CONSUMER_NUM_PENDING, READ_NUMBER)


# The exporter that saw the day before may be gone: what it paged for lasts while there is no worker.
_stalls = lasting(_START, "stalled", thresholds.CONSUMER_STALLED).or_(
    lasting(_START, "workers_gone", thresholds.CONSUMER_STALLED)
)
_goes_on = (
    condition_age(_START, "stalled")
    .or_(condition_age(_START, "no_worker_pulls"))
    .or_(condition_age(_START, "not_bound"))
)


def _without_worker(word: str) -> Expression:
    return lasting(_START, word, thresholds.NO_WORKER).unless(condition_age(_START, "workers_gone"))


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
    when=in_service(until_it_ends("ConsumerStalled", _stalls, _goes_on)),
    for_="0s",
    keep_firing_for=MISSED_SCRAPES,
    summary="A consumer gets no messages although some wait for it.",
    description=f"{CONSUMER} has had no delivery for {DURATION} while {_WAITING} messages wait. "
    + query_value(
        own(catalog.CONSUMER_PUSH_BOUND).equals(1),
        "A subscriber is bound to it.",
        query_value(
            own(catalog.CONSUMER_NUM_WAITING, "max_over_time", "5m") > 0,
            f"Workers pull: up to {READ_NUMBER} pull requests wait at the server.",
            "No worker pulls or is bound any more, although the consumer was busy in the day before.",
        ),
    ),
    condition="No delivery for more than <consumer_stalled> although messages wait. Pull requests "
    "wait or a push subscriber is bound while max_ack_pending is not used up (condition stalled). Or "
    "no worker pulls or is bound, and the consumer had deliveries in more than <consumer_busy_ratio> "
    "of the half hours of the day before (condition workers_gone; an exporter must have watched it "
    "for half a day). A nightly batch job meets none of these.",
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
    when=in_service(lasting(_START, "falling_behind", thresholds.FALLING_BEHIND)),
    for_="0s",
    keep_firing_for=MISSED_SCRAPES,
    summary="A consumer falls further and further behind.",
    description=f"{CONSUMER} has fallen behind for {DURATION} and does not catch up: {_WAITING} "
    "messages wait, the oldest unacknowledged one is "
    + query_value(catalog.CONSUMER_LAG_SECONDS, "{{ . | first | value | humanizeDuration }}")
    + " old.",
    condition="The backlog grew beyond its noise, and for <falling_behind> it has not stopped growing "
    "(condition falling_behind).",
    board=Board.CONSUMER,
)

NO_WORKER_PULLS = Alert(
    name="ConsumerNoWorkerPulls",
    severity=Severity.WARNING,
    when=in_service(_without_worker("no_worker_pulls")),
    for_="0s",
    keep_firing_for=MISSED_SCRAPES,
    summary="Messages wait in a pull consumer and no worker pulls.",
    description=f"{CONSUMER} has had no pull request for {DURATION} while {_WAITING} messages wait"
    + query_value(
        catalog.CONSUMER_NUM_ACK_PENDING,
        f" and {READ_NUMBER} are unacknowledged",
    )
    + ". As far as an exporter has watched it, it was not busy the day before: a job that runs now and "
    "then, a new one whose workers died, or one that was forgotten.",
    condition="Messages have waited for <no_worker> without a pull request, and the exporter has "
    "learned no longer pause between pulls (condition no_worker_pulls). Not where the consumer had deliveries in "
    "more than <consumer_busy_ratio> of the half hours of the day before: that is "
    "JetStreamConsumerStalled.",
    board=Board.CONSUMER,
)

NOT_BOUND = Alert(
    name="ConsumerNotBound",
    severity=Severity.WARNING,
    when=in_service(_without_worker("not_bound")),
    for_="0s",
    keep_firing_for=MISSED_SCRAPES,
    summary="Messages wait in a push consumer without a subscriber.",
    description=f"{CONSUMER} has had no subscriber on its delivery subject for {DURATION}. Messages "
    f"waiting: {_WAITING}.",
    condition="A push consumer has had messages waiting and no subscriber on its delivery subject "
    "for <no_worker> (condition not_bound). Not where it had deliveries in more than "
    "<consumer_busy_ratio> of the half hours of the day before: that is JetStreamConsumerStalled.",
    board=Board.CONSUMER,
)

HEADROOM_LOW = Alert(
    name="ConsumerRetentionHeadroomLow",
    severity=Severity.WARNING,
    when=in_service(lasting(_START, "headroom_low", thresholds.HEADROOM_LASTING)),
    for_="0s",
    keep_firing_for=MISSED_SCRAPES,
    summary="The limits of the stream will soon remove unread messages.",
    description=f"{CONSUMER} has less than {judged_by(thresholds.RETENTION_HEADROOM_RATIO)} of the "
    f"retention left before unread messages are removed, for {DURATION}, and it falls or nothing is left"
    + query_value(
        catalog.CONSUMER_RETENTION_HEADROOM_SECONDS,
        "; the first of them is removed in {{ . | first | value | humanizeDuration }}",
    )
    + ".",
    condition="For <headroom_lasting>, the first unacknowledged message has less than "
    "<retention_headroom_ratio> of the stream's max_age (or of a full stream's length) left, and "
    "that is falling or 0 (condition headroom_low). Not in key-value and object streams.",
    board=Board.CONSUMER,
)

PAUSED_LONG = Alert(
    name="ConsumerPausedLong",
    severity=Severity.INFO,
    when=condition_age(_START, "paused_backlog")
    .where(lowest(catalog.CONSUMER_PAUSED, thresholds.CONSUMER_PAUSED).equals(1))
    .where(earlier(catalog.CONSUMER_PAUSED, thresholds.CONSUMER_PAUSED).equals(1)),
    for_="0s",
    summary="A consumer has been paused for long while messages wait.",
    description=f"{CONSUMER} has been paused for more than <consumer_paused>, and {_WAITING} "
    "messages wait. Retention continues during a pause.",
    condition="Paused for more than <consumer_paused>, and messages wait (condition "
    "paused_backlog).",
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
