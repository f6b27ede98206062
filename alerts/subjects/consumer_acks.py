"""Consumers whose messages are delivered but not acknowledged: late, nak, redelivered."""

from __future__ import annotations

from alerts import thresholds
from alerts.annotations import (
    CONSUMER,
    COUNT,
    DURATION,
    PERCENT,
    READ_NUMBER,
    STREAM,
    THE_CONSUMER,
    judged_by,
    own,
    own_increase,
    query_value,
)
from alerts.open_alerts import until_it_ends
from alerts.quantity import Threshold
from alerts.queries import (
    MISSED_SCRAPES,
    condition_age,
    earlier,
    event_count,
    judged,
    lasting,
    latest,
    new_events,
    newest,
    quantile,
)
from alerts.rule import Alert, Board, Group, Severity
from alerts.subjects.populations import in_service
from exporter import catalog
from streamgauge.promql.expression import Expression
from streamgauge.promql.selectors import Regex

_START = catalog.CONSUMER_CONDITION_START_TIMESTAMP_SECONDS
_unconfirmed = latest(catalog.CONSUMER_EXHAUSTED_UNCONFIRMED)
_REDELIVERED = query_value(
    catalog.CONSUMER_REDELIVERY_RATIO, "{{ . | first | value | humanizePercentage }}", "Many"
)


def _condition(word: str, at_least: Threshold) -> Expression:
    return in_service(lasting(_START, word, at_least))


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
            lasting(_START, "nothing_finished", thresholds.REDELIVERY_LOOP),
            condition_age(_START, "nothing_finished"),
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
    condition="Most deliveries have been redeliveries for <redelivery_loop>, and less than "
    "<loop_finished_ratio> of the deliveries of five minutes finish a message (condition "
    "nothing_finished). One message that loops while others are finished does not count.",
    board=Board.CONSUMER,
)

REDELIVERY_HIGH = Alert(
    name="ConsumerRedeliveryHigh",
    severity=Severity.WARNING,
    when=_condition("redelivery_high", thresholds.REDELIVERIES),
    for_="0s",
    keep_firing_for=MISSED_SCRAPES,
    summary="Many deliveries of a consumer are redeliveries.",
    description=f"{_REDELIVERED} of the deliveries to {THE_CONSUMER} are redeliveries, for "
    f"{DURATION} now: work is done twice, or not at all.",
    condition="For <redeliveries>, more than <redelivery_ratio> of at least <deliveries_least> "
    "deliveries in five minutes are redeliveries (condition redelivery_high). Not where acks are "
    "late: that is JetStreamConsumerAckWaitTooShort. Nor where naks with a delay are part of the "
    "work: naks explain the redeliveries, messages are finished as new ones come, and the backlog "
    "does not grow.",
    board=Board.CONSUMER,
)

NAK_LOOP = Alert(
    name="ConsumerNakLoop",
    severity=Severity.WARNING,
    when=_condition("nak_loop", thresholds.REDELIVERIES),
    for_="0s",
    keep_firing_for=MISSED_SCRAPES,
    summary="Clients send a nak for most messages of a consumer.",
    description=f"For {DURATION}, clients have sent a nak for most deliveries to {THE_CONSUMER}. "
    f"{_REDELIVERED} of the deliveries are redeliveries. After a plain nak the server redelivers "
    "at once: backoff does not apply.",
    condition="For <redeliveries>, more than <nak_ratio> of at least <deliveries_least> deliveries "
    "in five minutes got a nak (condition nak_loop). Needs advisories. Not where naks with a delay "
    "are part of the work: each message comes again at most every 30 seconds, messages are finished "
    "as new ones come, and the backlog does not grow.",
    board=Board.CONSUMER,
)

ACK_WAIT_TOO_SHORT = Alert(
    name="ConsumerAckWaitTooShort",
    severity=Severity.WARNING,
    when=_condition("acks_late", thresholds.ACKS_LATE).or_(
        in_service(
            (
                quantile(0.99, catalog.CONSUMER_ACK_SECONDS, "30m")
                / latest(catalog.CONSUMER_ACK_WAIT_SECONDS)
                > judged(thresholds.ACK_WAIT_RATIO)
            ).where(latest(catalog.CONSUMER_REDELIVERY_RATIO) > 0)
        )
    ),
    for_="0s",
    keep_firing_for=MISSED_SCRAPES,
    summary="Acknowledgements are so late that messages are redelivered.",
    description=f"{CONSUMER} takes more than {judged_by(thresholds.ACK_WAIT_RATIO)} of its ack_wait to "
    f"acknowledge a message, and {_REDELIVERED} of its deliveries are redeliveries. Slow work is then done twice.",
    condition="The mean time to ack has been above <ack_wait_ratio> of ack_wait for <acks_late> "
    "while messages are redelivered and none is refused (condition acks_late). Or the 99th "
    "percentile of 30 minutes of ack samples is; the samples need sample_freq on the consumer and "
    "the full level of detail.",
    board=Board.CONSUMER,
)

ACK_FLOOR_STALLED = Alert(
    name="ConsumerAckFloorStalled",
    severity=Severity.WARNING,
    when=_condition("ack_floor_stuck", thresholds.ACK_FLOOR_STUCK),
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
    when=_condition("ack_floor_gap_high", thresholds.ACK_FLOOR_GAP),
    for_="0s",
    keep_firing_for=MISSED_SCRAPES,
    summary="A consumer has many deliveries above its ack floor.",
    description=f"{CONSUMER} has delivered "
    + query_value(catalog.CONSUMER_ACK_FLOOR_GAP_DELIVERIES, READ_NUMBER)
    + f" times above its ack floor, for {DURATION}. "
    + query_value(catalog.CONSUMER_NUM_ACK_PENDING, READ_NUMBER)
    + " of its messages are unacknowledged now. Either old ones are never finished while newer ones "
    "are, or the same ones are redelivered. A consumer that is recreated gets all above the floor "
    "again.",
    condition="For <ack_floor_gap>, more deliveries above the ack floor than "
    "<ack_floor_gap_windows> times max_ack_pending, or than <ack_floor_gap_deliveries>, and not "
    "because messages reached max_deliver (condition ack_floor_gap_high).",
    board=Board.CONSUMER,
)

ACK_PENDING_HIGH = Alert(
    name="ConsumerAckPendingHigh",
    severity=Severity.WARNING,
    when=_condition("ack_pending_high", thresholds.ACK_PENDING_LASTING),
    for_="0s",
    keep_firing_for=MISSED_SCRAPES,
    summary="A consumer is close to its limit of unacknowledged messages.",
    description=f"{CONSUMER} has "
    + query_value(catalog.CONSUMER_NUM_ACK_PENDING, READ_NUMBER)
    + " unacknowledged messages of "
    + query_value(catalog.CONSUMER_MAX_ACK_PENDING, READ_NUMBER)
    + f" (max_ack_pending), and was close to that limit for {DURATION}. At the limit it gets no new "
    "messages.",
    condition="Unacknowledged messages have filled <ack_pending_ratio> of max_ack_pending for "
    "<ack_pending_lasting> (condition ack_pending_high). Not where max_ack_pending is below "
    "<ack_pending_window_least> (full by design) or where the owner set outstanding-ack-critical.",
    board=Board.CONSUMER,
)

MESSAGES_ABANDONED = Alert(
    name="ConsumerMessagesAbandoned",
    severity=Severity.WARNING,
    when=in_service(
        until_it_ends(
            "ConsumerMessagesAbandoned",
            lasting(_START, "messages_abandoned", thresholds.EXHAUSTED_LASTING),
            condition_age(_START, "messages_abandoned"),
        ).or_(new_events(catalog.CONSUMER_EXHAUSTED).unless(_unconfirmed))
    ),
    for_="0s",
    keep_firing_for="15m",
    summary="Messages reached max_deliver: the server delivers them no more.",
    description=f"{CONSUMER} has given up "
    + query_value(own(catalog.CONSUMER_EXHAUSTED_MESSAGES) > 0, f"at least {READ_NUMBER}", "some")
    + " messages after max_deliver deliveries. They stay in the stream until you handle them, or "
    "limits remove them.",
    condition="An advisory reported a message that reached max_deliver in the last <recent_event> "
    "and the consumer's state confirms it, or such messages have been in the stream for <exhausted_lasting> (condition "
    "messages_abandoned). It then fires as long as any are there.",
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

_durable = latest(catalog.STREAM_CONSUMERS) - latest(catalog.STREAM_EPHEMERAL_CONSUMERS)
# Without a leader, or with consumers that were not listed: nothing tells that they are gone.
_uncounted = latest(catalog.STREAM_UP).unless(_durable)
_durable_before = (
    earlier(catalog.STREAM_CONSUMERS, "1h") - earlier(catalog.STREAM_EPHEMERAL_CONSUMERS, "1h")
).unless(_uncounted)
_not_listed = latest(catalog.REQUEST_SUCCESS, request=Regex("jsz|jsz_config|stream_list")).equals(0)
# With the last stream its series go too: then none is left, if the streams were listed.
_none_left = (0 * newest(catalog.SNAPSHOT_AGE_SECONDS)).unless(_not_listed.max_without("request"))

FEWER = Alert(
    name="ConsumersFewer",
    severity=Severity.WARNING,
    when=(
        1
        - _durable.sum_without("account", "stream").or_(_none_left)
        / (_durable_before.sum_without("account", "stream") >= thresholds.CONSUMER_COUNT_LEAST)
        > thresholds.CONSUMER_COUNT_CHANGE
    ),
    for_="5m",
    summary="Many durable consumers of a system are gone.",
    description=f"System {{{{ $labels.system }}}} has {PERCENT} fewer durable consumers than an hour "
    "ago: deleted one by one, or with their streams. Work queues without a consumer are not worked off.",
    condition="Of at least <consumer_count_least> durable consumers an hour ago, more than "
    "<consumer_count_change> are gone. Streams that have no leader now are left out. Where no stream "
    "is left, the list of streams must be complete.",
    board=Board.FLEET,
)

CHANGED = Alert(
    name="ConfigurationChanged",
    severity=Severity.INFO,
    when=event_count(
        catalog.ADVISORIES, "15m", kind=Regex("stream_updated|stream_deleted")
    ).sum_without("kind")
    > 0,
    for_="0s",
    summary="Streams were updated or deleted.",
    description="In account {{ $labels.account }} (system {{ $labels.system }}) about "
    f"{COUNT} updates or deletions of streams came in the last 15 minutes. If something broke at the "
    "same time, look here first.",
    condition="An advisory reported an updated or deleted stream in the last 15 minutes. Needs "
    "advisories. Servers send one for an update that changes nothing, and none for an updated "
    "consumer. Deleted durable consumers are JetStreamConsumerRemoved.",
    board=Board.FLEET,
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
            FEWER,
            CHANGED,
        ),
    ),
)
