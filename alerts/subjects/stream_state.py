"""Streams without a leader, with lost data, recreated, or with messages that no consumer gets."""

from __future__ import annotations

from alerts import thresholds
from alerts.annotations import COUNT, DURATION, NUMBER, STREAM
from alerts.queries import (
    LOOKBACK,
    MISSED_SCRAPES,
    by_replica,
    earlier,
    holds,
    increase,
    lasting,
    latest,
    new_events,
    samples,
)
from alerts.rule import Alert, Board, Group, Severity
from alerts.subjects.populations import settled_stream, without_buckets
from exporter import catalog
from exporter.metric import Metric
from streamgauge.promql.expression import Expression
from streamgauge.promql.functions import rename_label, with_label

_START = catalog.STREAM_CONDITION_START_TIMESTAMP_SECONDS
_messages = latest(catalog.STREAM_MESSAGES)
_no_consumer = latest(catalog.STREAM_CONSUMERS).equals(0)
_ahead_now = latest(catalog.CONSUMER_AHEAD_OF_STREAM_MESSAGES).max_without("consumer")
# Half a minute beyond the look-back, so that one sample never counts as two.
_ahead_before = earlier(catalog.CONSUMER_AHEAD_OF_STREAM_MESSAGES, "2m30s").max_without("consumer")
_workqueue = holds(catalog.STREAM_INFO, retention="workqueue")


def _in_workqueues(backlog: Metric) -> Expression:
    return samples(backlog, "last_over_time", LOOKBACK, grouped=True).where(_workqueue)


_unfinished = (
    (
        _in_workqueues(catalog.CONSUMER_NUM_PENDING)
        + _in_workqueues(catalog.CONSUMER_NUM_ACK_PENDING)
    )
    .folded()
    .sum_without("consumer")
)
_silent_consumer = by_replica(catalog.CONSUMER_UP).equals(0).folded().max_without("consumer")
_read_by_mirrors = rename_label(
    latest(catalog.STREAM_SOURCE_ACTIVE_SECONDS, by=("system", "account", "source")),
    "source",
    "stream",
)

NO_LEADER = Alert(
    name="StreamNoLeader",
    severity=Severity.CRITICAL,
    when=settled_stream(lasting(_START, "no_leader", thresholds.STREAM_LEADERLESS)),
    for_="0s",
    keep_firing_for=MISSED_SCRAPES,
    summary="A stream has no leader: it stores and delivers nothing.",
    description=f"{STREAM} has had no leader for {DURATION}, or is listed as missing or offline. "
    "Publishes fail or time out, and its consumers get nothing. It may have lost the quorum of its "
    "replicas.",
    condition="The leader of the stream has not responded for <stream_leaderless>; lost quorum is "
    "one cause.",
    board=Board.STREAM,
)

DATA_LOST = Alert(
    name="StreamDataLost",
    severity=Severity.CRITICAL,
    when=settled_stream(
        with_label(latest(catalog.STREAM_LOST_MESSAGES) > 0, "sign", "damaged store")
        .or_(
            with_label(
                new_events(catalog.STREAM_SEQUENCE_REGRESSIONS),
                "sign",
                "last sequence went back",
            )
        )
        .or_(with_label((_ahead_now > 0).where(_ahead_before), "sign", "consumer ahead of stream"))
    ),
    for_="0s",
    keep_firing_for="15m",
    summary="A stream lost messages that it had acknowledged.",
    description=f"{STREAM} shows a sign of lost data: {{{{ $labels.sign }}}} ({COUNT}). Messages "
    "that it acknowledged to publishers are lost.",
    condition="The server reports lost messages in its store, or the last sequence went back in "
    "the last <recent_event> without a new stream, or a consumer is ahead of the end of the stream "
    "for 2 minutes.",
    board=Board.STREAM,
)

RECREATED = Alert(
    name="StreamRecreated",
    severity=Severity.WARNING,
    when=new_events(catalog.STREAM_RECREATED),
    for_="0s",
    keep_firing_for="15m",
    summary="A stream was deleted and recreated.",
    description=f"{STREAM} was deleted and recreated in the last <recent_event>. Its former "
    "messages and consumers are lost, and publishers that expect a sequence will fail.",
    condition="The creation time of the stream changed in the last <recent_event>.",
    board=Board.STREAM,
)

RESTORED = Alert(
    name="StreamRestored",
    severity=Severity.INFO,
    when=new_events(catalog.STREAM_RESTORES),
    for_="0s",
    keep_firing_for="15m",
    summary="A stream was restored from a backup.",
    description=f"{STREAM} was restored from a backup in the last <recent_event>. Messages stored "
    "after that backup are not in it.",
    condition="An advisory reported a completed restore in the last <recent_event>.",
    board=Board.STREAM,
)

INCONSISTENT = Alert(
    name="StreamInconsistent",
    severity=Severity.WARNING,
    when=(latest(catalog.STREAM_SUBJECTS) > _messages).where(_messages > 0),
    for_="10m",
    summary="A stream reports more subjects than messages: its index is damaged.",
    description=f"{STREAM} reports {NUMBER} subjects and fewer messages than that, which is impossible.",
    condition="More subjects than messages in a stream that is not empty.",
    board=Board.STREAM,
)

INTEREST_DISCARDING = Alert(
    name="InterestStreamDiscarding",
    severity=Severity.WARNING,
    when=(increase(catalog.STREAM_STORED_MESSAGES, "5m") > 0)
    .where(_no_consumer)
    .where(holds(catalog.STREAM_INFO, retention="interest"))
    .unless(_read_by_mirrors),
    for_="5m",
    summary="A stream acknowledges messages and keeps none of them.",
    description=f"{STREAM} has interest retention and no consumer: it acknowledged about {COUNT} "
    "messages in the last 5 minutes and kept none.",
    condition="A stream with interest retention has no consumer, and no mirror or source in its "
    "account, while messages are published.",
    board=Board.STREAM,
)

WORKQUEUE_STUCK = Alert(
    name="WorkqueueStuckMessages",
    severity=Severity.WARNING,
    when=(_messages > 0).where(_workqueue).where(_unfinished.equals(0)).unless(_silent_consumer),
    for_="1h",
    summary="A work queue has messages that no consumer will get.",
    description=f"{STREAM} is a work queue with {NUMBER} messages, and none is pending on its "
    "consumers: they reached max_deliver, or match no filter of a consumer.",
    condition="A work queue has messages while none is pending or unacknowledged on any of its "
    "consumers.",
    board=Board.STREAM,
)

UNREAD = Alert(
    name="StreamUnread",
    severity=Severity.INFO,
    when=without_buckets(
        (increase(catalog.STREAM_STORED_MESSAGES, "1h") > 0)
        .where(_no_consumer)
        .unless(holds(catalog.STREAM_INFO, retention="interest"))
        .unless(_read_by_mirrors)
    ),
    for_="24h",
    summary="A stream grows and has had no consumer for a day.",
    description=f"{STREAM} stored about {COUNT} messages in the last hour and has had no consumer for "
    "a day.",
    condition="Messages are stored and there is no consumer and no mirror of the stream in its "
    "account.",
    board=Board.STREAM,
)


def _findings(metric: Metric) -> Expression:
    by = tuple(label for label in metric.labels if label != "severity")
    found = [latest(metric, by=by, severity=severity) > 0 for severity in ("warn", "crit")]
    return found[0].or_(found[1])


_NAMED = (
    "{{ if $labels.stream }}Stream {{ $labels.stream }} (account {{ $labels.account }}, "
    "{{ else if $labels.server }}Server {{ $labels.server }} ("
    "{{ else if $labels.account }}Account {{ $labels.account }} ("
    "{{ else }}The meta group ({{ end }}system {{ $labels.system }})"
)


CONFIG_FINDING = Alert(
    name="ConfigFinding",
    severity=Severity.INFO,
    when=_findings(catalog.STREAM_CONFIG_FINDINGS)
    .or_(_findings(catalog.SERVER_CONFIG_FINDING))
    .or_(_findings(catalog.ACCOUNT_CONFIG_FINDING))
    .or_(_findings(catalog.META_CONFIG_FINDING)),
    for_="1h",
    summary="The audit found a harmful setting.",
    description=f"{_NAMED} fails the check {{{{ $labels.check }}}} of the audit"
    "{{ with $labels.stream }}, with " + NUMBER + " of its assets{{ end }}.",
    condition="A check of the audit with severity warn or crit fails.",
    board=Board.STREAM,
)

GROUPS = (
    Group(
        "streamgauge.stream.state",
        (
            NO_LEADER,
            DATA_LOST,
            RECREATED,
            RESTORED,
            INCONSISTENT,
            INTEREST_DISCARDING,
            WORKQUEUE_STUCK,
            UNREAD,
            CONFIG_FINDING,
        ),
    ),
)
