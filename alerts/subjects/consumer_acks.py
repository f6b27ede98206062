"""Consumers whose messages are delivered but not acknowledged: late, nak, redelivered."""

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
    THE_CONSUMER,
    query_value,
)
from alerts.queries import earlier, increase, latest, lowest, new_events, quantile
from alerts.rule import Alert, Board, Group, Severity
from alerts.subjects.consumer_recordings import time_to_ack
from alerts.subjects.populations import in_service
from exporter import catalog
from exporter.metric import Metric
from streamgauge.promql.expression import Expression

_ACK_PENDING_FULL = catalog.VERDICTS.index("ack-pending full")
_EXHAUSTED = latest(catalog.CONSUMER_ACK_FLOOR_EXHAUSTED).equals(1)
_ack_pending = latest(catalog.CONSUMER_NUM_ACK_PENDING)
_window = latest(catalog.CONSUMER_MAX_ACK_PENDING)
_ack_wait = latest(catalog.CONSUMER_ACK_WAIT_SECONDS)


def _share_of_deliveries(counter: Metric) -> Expression:
    enough = increase(catalog.CONSUMER_DELIVERIES, "15m") > thresholds.DELIVERIES_LEAST
    return increase(counter, "15m") / enough


ACK_PENDING_FULL = Alert(
    name="ConsumerAckPendingFull",
    severity=Severity.CRITICAL,
    when=in_service(latest(catalog.CONSUMER_VERDICT).equals(_ACK_PENDING_FULL)),
    for_="10m",
    summary="A consumer is blocked: too many messages are unacknowledged.",
    description=f"{CONSUMER} has "
    + query_value(catalog.CONSUMER_NUM_ACK_PENDING, READ_NUMBER)
    + " unacknowledged messages, its max_ack_pending, and gets no new ones. "
    + query_value(catalog.CONSUMER_NUM_PENDING, READ_NUMBER)
    + " messages wait behind them.",
    condition="Unacknowledged messages fill max_ack_pending, messages wait, and for longer than "
    "ack_wait (5 minutes at most) no new one has been delivered (verdict ack-pending full). A "
    "consumer that works at its limit gets a new message for each acknowledged one, and does not "
    "count.",
    board=Board.CONSUMER,
)

REDELIVERY_HIGH = Alert(
    name="ConsumerRedeliveryHigh",
    severity=Severity.WARNING,
    when=in_service(
        _share_of_deliveries(catalog.CONSUMER_REDELIVERIES) > thresholds.REDELIVERY_RATIO
    ),
    for_="15m",
    summary="Many deliveries of a consumer are redeliveries.",
    description=f"{PERCENT} of the deliveries to {THE_CONSUMER} in the last 15 "
    "minutes were redeliveries: work is done twice, or not at all.",
    condition="More than <redelivery_ratio> of more than <deliveries_least> deliveries in 15 "
    "minutes were redeliveries.",
    board=Board.CONSUMER,
)

NAK_LOOP = Alert(
    name="ConsumerNakLoop",
    severity=Severity.WARNING,
    when=in_service(_share_of_deliveries(catalog.CONSUMER_NAKS) > thresholds.NAK_RATIO),
    for_="15m",
    summary="Clients send a nak for most messages of a consumer.",
    description=f"Clients sent a nak for {PERCENT} of the deliveries to "
    f"{THE_CONSUMER} in the last 15 minutes. After a plain nak the server "
    "redelivers at once: backoff does not apply.",
    condition="More than <nak_ratio> of more than <deliveries_least> deliveries in 15 minutes got "
    "a nak. Needs advisories.",
    board=Board.CONSUMER,
)

ACK_WAIT_TOO_SHORT = Alert(
    name="ConsumerAckWaitTooShort",
    severity=Severity.WARNING,
    when=in_service(
        (
            quantile(0.99, catalog.CONSUMER_ACK_SECONDS, "30m") / _ack_wait
            > thresholds.ACK_WAIT_RATIO
        )
        .or_(time_to_ack / _ack_wait > thresholds.ACK_WAIT_RATIO)
        .where(increase(catalog.CONSUMER_REDELIVERIES, "30m") > 0)
    ),
    for_="30m",
    summary="Acknowledgements are so late that messages are redelivered.",
    description=f"{CONSUMER} takes {PERCENT} of its ack_wait to acknowledge a message, and "
    "messages are redelivered. Slow work is then done twice.",
    condition="The 99th percentile of the ack samples, or else the mean time to ack, is above "
    "<ack_wait_ratio> of ack_wait while messages are redelivered. The samples need sample_freq on "
    "the consumer and the full level of detail.",
    board=Board.CONSUMER,
)

ACK_FLOOR_STALLED = Alert(
    name="ConsumerAckFloorStalled",
    severity=Severity.WARNING,
    when=in_service(
        (
            latest(catalog.CONSUMER_ACK_FLOOR_STALLED_SECONDS)
            > _ack_wait * thresholds.ACK_FLOOR_ACK_WAITS
        )
        .where(_ack_pending > 0)
        .unless(_EXHAUSTED)
    ),
    for_="5m",
    summary="The ack floor of a consumer does not move: one message is never acknowledged.",
    description=f"The ack floor of {THE_CONSUMER} has not moved for "
    f"{DURATION}, more than <ack_floor_ack_waits> times its ack_wait. The message after the floor "
    "is redelivered again and again, or is held by a client that never acknowledges it.",
    condition="The ack floor has not moved for more than <ack_floor_ack_waits> times ack_wait "
    "while messages are unacknowledged, and no message that reached max_deliver holds it.",
    board=Board.CONSUMER,
)

ACK_FLOOR_GAP_HIGH = Alert(
    name="ConsumerAckFloorGapHigh",
    severity=Severity.WARNING,
    when=in_service(
        (
            latest(catalog.CONSUMER_ACK_FLOOR_GAP_DELIVERIES)
            > _window * thresholds.ACK_FLOOR_GAP_WINDOWS
        )
        .or_(
            latest(catalog.CONSUMER_ACK_FLOOR_GAP_DELIVERIES) > thresholds.ACK_FLOOR_GAP_DELIVERIES
        )
        .unless(_EXHAUSTED)
    ),
    for_="30m",
    summary="A consumer has many deliveries above its ack floor.",
    description=f"{CONSUMER} has delivered {NUMBER} times above its ack floor: a few old messages "
    "are unacknowledged while newer ones are done. If the consumer is recreated, all are redelivered.",
    condition="More deliveries above the ack floor than <ack_floor_gap_windows> times "
    "max_ack_pending, or than <ack_floor_gap_deliveries>, and not because messages reached "
    "max_deliver.",
    board=Board.CONSUMER,
)

ACK_PENDING_HIGH = Alert(
    name="ConsumerAckPendingHigh",
    severity=Severity.WARNING,
    when=in_service(
        (
            _ack_pending / (_window >= thresholds.ACK_PENDING_WINDOW_LEAST)
            >= thresholds.ACK_PENDING_RATIO
        ).unless(
            latest(
                catalog.CONSUMER_THRESHOLD, by=catalog.CONSUMER, limit="outstanding-ack-critical"
            )
        )
    ),
    for_="15m",
    summary="A consumer is close to its limit of unacknowledged messages.",
    description=f"{CONSUMER} has used {PERCENT} of its max_ack_pending for 15 minutes. At 100% it "
    "gets no new messages.",
    condition="Unacknowledged messages fill <ack_pending_ratio> of max_ack_pending. Not where "
    "max_ack_pending is below <ack_pending_window_least> (full by design) or where the owner set "
    "outstanding-ack-critical.",
    board=Board.CONSUMER,
)

MESSAGES_ABANDONED = Alert(
    name="ConsumerMessagesAbandoned",
    severity=Severity.WARNING,
    when=in_service(
        new_events(catalog.CONSUMER_EXHAUSTED).or_(
            (lowest(catalog.CONSUMER_EXHAUSTED_MESSAGES, thresholds.EXHAUSTED_LASTING) > 0).where(
                earlier(catalog.CONSUMER_EXHAUSTED_MESSAGES, thresholds.EXHAUSTED_LASTING) > 0
            )
        )
    ),
    for_="0s",
    keep_firing_for="15m",
    summary="Messages reached max_deliver: the server delivers them no more.",
    description=f"{CONSUMER} has given up about {COUNT} messages after max_deliver deliveries. They "
    "stay in the stream until you handle them, or limits remove them.",
    condition="An advisory reported a message that reached max_deliver in the last "
    "<recent_event>, or such messages have been in the stream for <exhausted_lasting>.",
    board=Board.CONSUMER,
)

RECREATED = Alert(
    name="ConsumerRecreated",
    severity=Severity.WARNING,
    when=in_service(new_events(catalog.CONSUMER_RECREATED)),
    for_="0s",
    keep_firing_for="15m",
    summary="A consumer was deleted and recreated, or its sequence was reset.",
    description=f"{CONSUMER} was recreated or reset in the last <recent_event>. Its deliver policy "
    "decides where it starts now: messages may be redelivered or skipped.",
    condition="The creation time of the consumer changed, or its sequence went back, in the last "
    "<recent_event>.",
    board=Board.CONSUMER,
)

REMOVED = Alert(
    name="ConsumerRemoved",
    severity=Severity.WARNING,
    when=new_events(catalog.STREAM_CONSUMERS_REMOVED),
    for_="0s",
    keep_firing_for="15m",
    summary="A durable consumer was deleted.",
    description=f"{STREAM} has lost about {COUNT} durable consumer(s) in the last <recent_event>. "
    "Their positions are lost.",
    condition="A durable consumer of one complete poll was missing from the next, in the last "
    "<recent_event>.",
    board=Board.STREAM,
)

GROUPS = (
    Group(
        "streamgauge.consumer.acks",
        (
            ACK_PENDING_FULL,
            REDELIVERY_HIGH,
            NAK_LOOP,
            ACK_WAIT_TOO_SHORT,
            ACK_FLOOR_STALLED,
            ACK_FLOOR_GAP_HIGH,
            ACK_PENDING_HIGH,
            MESSAGES_ABANDONED,
            RECREATED,
            REMOVED,
        ),
    ),
)
