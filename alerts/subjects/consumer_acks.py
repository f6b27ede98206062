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
    own_increase,
    query_value,
)
from alerts.open_alerts import firing, until_it_ends
from alerts.queries import (
    MISSED_SCRAPES,
    by_replica,
    condition_age,
    earlier,
    increase,
    increase_by_replica,
    lasting,
    latest,
    new_events,
    quantile,
)
from alerts.rule import Alert, Board, Group, Severity
from alerts.subjects.consumer_recordings import time_to_ack
from alerts.subjects.populations import in_service
from exporter import catalog
from exporter.metric import Metric
from streamgauge.promql.expression import Expression

_START = catalog.CONSUMER_CONDITION_START_TIMESTAMP_SECONDS
_EXHAUSTED = by_replica(catalog.CONSUMER_ACK_FLOOR_EXHAUSTED).equals(1)
_exhausted_messages = latest(catalog.CONSUMER_EXHAUSTED_MESSAGES)
_unconfirmed = latest(catalog.CONSUMER_EXHAUSTED_UNCONFIRMED)
_ack_pending = by_replica(catalog.CONSUMER_NUM_ACK_PENDING)
_window = by_replica(catalog.CONSUMER_MAX_ACK_PENDING)
_gap = by_replica(catalog.CONSUMER_ACK_FLOOR_GAP_DELIVERIES)
_ack_wait = latest(catalog.CONSUMER_ACK_WAIT_SECONDS)


_late_acks = time_to_ack / _ack_wait > thresholds.ACK_WAIT_RATIO


def _share_of_deliveries(counter: Metric) -> Expression:
    deliveries = increase_by_replica(catalog.CONSUMER_DELIVERIES, "15m")
    share = increase_by_replica(counter, "15m") / (deliveries > thresholds.DELIVERIES_LEAST)
    return share.folded()


def _nothing_is_finished() -> Expression:
    """Hardly a delivery is of a new message: the same ones go round. For each finished message a new
    one would be delivered."""
    return 1 - by_replica(catalog.CONSUMER_REDELIVERY_RATIO) < thresholds.LOOP_FINISHED_RATIO


ACK_PENDING_FULL = Alert(
    name="ConsumerAckPendingFull",
    severity=Severity.CRITICAL,
    when=in_service(
        until_it_ends(
            "ConsumerAckPendingFull",
            lasting(_START, "ack_pending_full", thresholds.ACK_PENDING_FULL),
            condition_age(_START, "ack_pending_full"),
        )
    ),
    for_="0s",
    keep_firing_for=MISSED_SCRAPES,
    summary="A consumer is blocked: too many messages are unacknowledged.",
    description=f"{CONSUMER} has "
    + query_value(catalog.CONSUMER_NUM_ACK_PENDING, READ_NUMBER)
    + " unacknowledged messages, its max_ack_pending, and has got no new one for "
    + f"{DURATION}. "
    + query_value(catalog.CONSUMER_NUM_PENDING, READ_NUMBER)
    + " messages wait behind them. No in-progress ack shows that work goes on.",
    condition="Unacknowledged messages have filled max_ack_pending for <ack_pending_full> while "
    "messages wait and no new one is delivered (condition ack_pending_full). A consumer that works "
    "at its limit gets a new message for each acknowledged one, and does not count. Nor does one "
    "whose workers send in-progress acks, or whose owner set io.streamgauge.long-jobs.",
    board=Board.CONSUMER,
)

REDELIVERY_LOOP = Alert(
    name="ConsumerRedeliveryLoop",
    severity=Severity.CRITICAL,
    when=in_service(
        until_it_ends(
            "ConsumerRedeliveryLoop",
            lasting(_START, "redelivery_loop", thresholds.REDELIVERY_LOOP).where(
                _nothing_is_finished()
            ),
            condition_age(_START, "redelivery_loop"),
        )
    ),
    for_="0s",
    keep_firing_for=MISSED_SCRAPES,
    summary="A consumer redelivers its messages and finishes none.",
    description=f"{CONSUMER} has redelivered the same messages for {DURATION}, and none is finished "
    "any more. "
    + query_value(catalog.CONSUMER_NUM_ACK_PENDING, READ_NUMBER)
    + " messages are unacknowledged, "
    + query_value(catalog.CONSUMER_NUM_PENDING, READ_NUMBER)
    + " wait. "
    + query_value(
        own_increase(catalog.CONSUMER_NAKS, "15m") > 0,
        f"Clients sent about {READ_NUMBER} naks in 15 minutes: they refuse the work.",
        "No nak was seen: clients fail, or acknowledge too late.",
    ),
    condition="Most deliveries have been redeliveries for <redelivery_loop> (condition "
    "redelivery_loop), and less than <loop_finished_ratio> of the deliveries are of new messages. "
    "One message that loops while others are finished does not count.",
    board=Board.CONSUMER,
)

REDELIVERY_HIGH = Alert(
    name="ConsumerRedeliveryHigh",
    severity=Severity.WARNING,
    when=in_service(
        (_share_of_deliveries(catalog.CONSUMER_REDELIVERIES) > thresholds.REDELIVERY_RATIO).unless(
            _late_acks
        )
    ),
    for_="15m",
    summary="Many deliveries of a consumer are redeliveries.",
    description=f"{PERCENT} of the deliveries to {THE_CONSUMER} in the last 15 "
    "minutes were redeliveries: work is done twice, or not at all.",
    condition="More than <redelivery_ratio> of more than <deliveries_least> deliveries in 15 "
    "minutes were redeliveries. Not where the mean time to ack is above <ack_wait_ratio> of "
    "ack_wait: that is JetStreamConsumerAckWaitTooShort.",
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
        .or_(_late_acks)
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
    when=in_service(lasting(_START, "ack_floor_stuck", thresholds.ACK_FLOOR_STUCK)),
    for_="0s",
    keep_firing_for=MISSED_SCRAPES,
    summary="The ack floor of a consumer does not move: a message is not acknowledged.",
    description=f"The ack floor of {THE_CONSUMER} has not moved for "
    f"{DURATION}, more than ten times its ack_wait. "
    + query_value(catalog.CONSUMER_NUM_ACK_PENDING, READ_NUMBER)
    + " messages are unacknowledged. The first of them is redelivered again and again, waits after "
    "a nak with a delay, or is held by a client that never acknowledges it.",
    condition="The ack floor has not moved for <ack_floor_stuck>, and for more than ten times "
    "ack_wait, while messages are unacknowledged (condition ack_floor_stuck). Not where a message "
    "that reached max_deliver holds it, or in-progress acks show work.",
    board=Board.CONSUMER,
)

ACK_FLOOR_GAP_HIGH = Alert(
    name="ConsumerAckFloorGapHigh",
    severity=Severity.WARNING,
    when=in_service(
        (_gap > _window * thresholds.ACK_FLOOR_GAP_WINDOWS)
        .or_(_gap > thresholds.ACK_FLOOR_GAP_DELIVERIES)
        .folded()
        .unless(_EXHAUSTED)
    ),
    for_="30m",
    summary="A consumer has many deliveries above its ack floor.",
    description=f"{CONSUMER} has delivered {NUMBER} times above its ack floor. "
    + query_value(catalog.CONSUMER_NUM_ACK_PENDING, READ_NUMBER)
    + " of its messages are unacknowledged now. Either old ones are never finished while newer ones "
    "are, or the same ones are redelivered. A consumer that is recreated gets all above the floor "
    "again.",
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
        )
        .folded()
        .unless(
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
        (_exhausted_messages > 0)
        .where(
            firing("ConsumerMessagesAbandoned", catalog.CONSUMER).or_(
                earlier(catalog.CONSUMER_EXHAUSTED_MESSAGES, thresholds.EXHAUSTED_LASTING) > 0
            )
        )
        .or_(new_events(catalog.CONSUMER_EXHAUSTED).unless(_unconfirmed))
    ),
    for_="0s",
    keep_firing_for="15m",
    summary="Messages reached max_deliver: the server delivers them no more.",
    description=f"{CONSUMER} has given up about {COUNT} messages after max_deliver deliveries. They "
    "stay in the stream until you handle them, or limits remove them.",
    condition="An advisory reported a message that reached max_deliver in the last <recent_event> and "
    "the consumer's state confirms it, or such messages are in the stream now and were <exhausted_lasting> ago. It then fires as long "
    "as any are there.",
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
    severity=Severity.INFO,
    when=new_events(catalog.STREAM_CONSUMERS_REMOVED),
    for_="0s",
    keep_firing_for="15m",
    summary="A durable consumer was deleted.",
    description=f"{STREAM} has lost about {COUNT} durable consumer(s) in the last <recent_event>. "
    "Their positions are lost. A deploy that replaces a consumer by another does this on purpose.",
    condition="A durable consumer of one complete poll was missing from the next, in the last "
    "<recent_event>.",
    board=Board.STREAM,
)

GROUPS = (
    Group(
        "streamgauge.consumer.acks",
        (
            ACK_PENDING_FULL,
            REDELIVERY_LOOP,
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
