"""Consumers whose messages are delivered and not finished: late, refused, in a loop, given up."""

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
    hold="10m",
    summary="A consumer is blocked: too many messages are unacknowledged.",
    description=f"{CONSUMER} has "
    + query_value(catalog.CONSUMER_NUM_ACK_PENDING, READ_NUMBER)
    + " unacknowledged messages, as many as it may have, and gets no new ones. "
    + query_value(catalog.CONSUMER_NUM_PENDING, READ_NUMBER)
    + " messages wait behind them.",
    condition="Unacknowledged messages fill max_ack_pending, messages wait, and for longer than "
    "ack_wait (5 minutes at most) no new one has been delivered (verdict ack-pending full). A "
    "consumer that works at its limit gets a new message for each that it finishes, and does not "
    "count.",
    board=Board.CONSUMER,
)

REDELIVERY_HIGH = Alert(
    name="ConsumerRedeliveryHigh",
    severity=Severity.WARNING,
    when=in_service(
        _share_of_deliveries(catalog.CONSUMER_REDELIVERIES) > thresholds.REDELIVERY_RATIO
    ),
    hold="15m",
    summary="Many deliveries of a consumer are repeated ones.",
    description=f"{PERCENT} of the deliveries to {THE_CONSUMER} in the last 15 "
    "minutes were repeated ones: work is done twice, or not at all.",
    condition="More than <redelivery_ratio> of more than <deliveries_least> deliveries in 15 "
    "minutes were repeated.",
    board=Board.CONSUMER,
)

NAK_LOOP = Alert(
    name="ConsumerNakLoop",
    severity=Severity.WARNING,
    when=in_service(_share_of_deliveries(catalog.CONSUMER_NAKS) > thresholds.NAK_RATIO),
    hold="15m",
    summary="Clients refuse most of what a consumer delivers.",
    description=f"Clients refused (nak) {PERCENT} of the deliveries to "
    f"{THE_CONSUMER} in the last 15 minutes. A plain nak comes back at once: "
    "backoff does not apply to it.",
    condition="More than <nak_ratio> of more than <deliveries_least> deliveries in 15 minutes were "
    "refused. Needs advisories.",
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
    hold="30m",
    summary="Acknowledgements come so late that messages are delivered again.",
    description=f"{CONSUMER} takes {PERCENT} of its ack_wait to finish a message, and messages "
    "come again. Slow work is then done twice.",
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
    hold="5m",
    summary="One message is never finished: the ack floor of a consumer stands still.",
    description=f"The ack floor of {THE_CONSUMER} has not moved for "
    f"{DURATION}, more than <ack_floor_ack_waits> times its ack_wait. The message after the floor "
    "is delivered again and again, or is held by a client that never answers.",
    condition="The ack floor has not moved for more than <ack_floor_ack_waits> times ack_wait "
    "while something is unacknowledged, and it is not held by messages that ran out of "
    "max_deliver.",
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
    hold="30m",
    summary="A consumer works far above its ack floor.",
    description=f"{CONSUMER} has delivered {NUMBER} times above its ack floor: a few old messages "
    "are unfinished while newer ones go through. If it is made anew, all of them come again.",
    condition="More deliveries above the ack floor than <ack_floor_gap_windows> times "
    "max_ack_pending, or than <ack_floor_gap_deliveries>, and not because messages ran out of "
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
    hold="15m",
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
        new_events(catalog.CONSUMER_EXHAUSTED, "10m").or_(
            (lowest(catalog.CONSUMER_EXHAUSTED_MESSAGES, thresholds.EXHAUSTED_LASTING) > 0).where(
                earlier(catalog.CONSUMER_EXHAUSTED_MESSAGES, thresholds.EXHAUSTED_LASTING) > 0
            )
        )
    ),
    hold="0s",
    keep="15m",
    summary="Messages ran out of deliveries: nobody will get them again.",
    description=f"{CONSUMER} has given up about {COUNT} messages after max_deliver deliveries. They "
    "stay in the stream until somebody deals with them, or limits remove them.",
    condition="An advisory told of a message that ran out of max_deliver in the last 10 minutes, "
    "or such messages have lain in the stream for <exhausted_lasting>.",
    board=Board.CONSUMER,
)

RECREATED = Alert(
    name="ConsumerRecreated",
    severity=Severity.WARNING,
    when=in_service(increase(catalog.CONSUMER_RECREATED, "15m") > 0),
    hold="0s",
    keep="15m",
    summary="A consumer was deleted and made again, or its sequence was reset.",
    description=f"{CONSUMER} became another consumer of the same name, or was reset, in the last 15 "
    "minutes. Where it starts now depends on its deliver policy: messages may come again or be "
    "skipped.",
    condition="The creation time of the consumer moved, or its sequence was set back, in the last "
    "15 minutes.",
    board=Board.CONSUMER,
)

REMOVED = Alert(
    name="ConsumerRemoved",
    severity=Severity.WARNING,
    when=increase(catalog.STREAM_CONSUMERS_REMOVED, "15m") > 0,
    hold="0s",
    keep="15m",
    summary="A durable consumer is gone.",
    description=f"{STREAM} has lost about {COUNT} durable consumer(s) in the last 15 minutes. "
    "Their positions are gone with them.",
    condition="A durable consumer of the last complete answer is not in the present one, in the "
    "last 15 minutes.",
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
