"""Consumers: what is pending, the position, the ack floor."""

from __future__ import annotations

from functools import partial

from exporter.catalog.definition import define
from exporter.catalog.labels import CONSUMER
from exporter.metric import Level, Origin, Subject

_FULL = Level.FULL
_DERIVED = Origin.DERIVED

_consumer = partial(define, subject=Subject.CONSUMER, labels=CONSUMER)

# An entry is a name, its help text and one line of facts; the formatter would spread the facts.
# fmt: off

CONSUMER_UP = _consumer("consumer_up",
    "1 when the consumer's leader responded in this poll. 0 when the consumer is known but has no "
    "leader, or is listed as missing or offline; it then has no other series than its info. "
    "Absent when its row in the response is malformed.",
    source="consumer info: cluster.leader")

# --- pending messages and lag ---------------------------------------------------------------------

CONSUMER_NUM_PENDING = _consumer("consumer_num_pending",
    "Messages that match the consumer's filter and were not delivered yet. "
    "Messages in flight do not count: see consumer_num_ack_pending.",
    source="consumer info: num_pending")
CONSUMER_NUM_ACK_PENDING = _consumer("consumer_num_ack_pending",
    "Messages that were delivered and are not acknowledged yet. "
    "At consumer_max_ack_pending the server stops delivering.",
    source="consumer info: num_ack_pending")
CONSUMER_NUM_REDELIVERED = _consumer("consumer_num_redelivered",
    "Messages that were delivered more than once and are not acknowledged. Not a counter: an "
    "acknowledgement lowers it, and messages that reached max_deliver stay in it. "
    "Servers from 2.11.4 on report 0 when max_deliver is 1.",
    source="consumer info: num_redelivered",
    purpose="For own rules of users who come from another exporter, and to compare with the nats CLI.")
CONSUMER_NUM_WAITING = _consumer("consumer_num_waiting",
    "Pull requests that wait at the server for messages. A pull consumer that stays at 0 with "
    "messages pending has no worker. Always 0 for push consumers.",
    source="consumer info: num_waiting")
CONSUMER_BACKLOG_MESSAGES = _consumer("consumer_backlog_messages",
    "Messages that this consumer has not finished: pending plus unacknowledged. "
    "It respects the consumer's filter.",
    level=_FULL, source="consumer info: num_pending, num_ack_pending",
    purpose="For autoscalers, which need one number for the work of a consumer.")
CONSUMER_LAG_SECONDS = _consumer("consumer_lag_seconds",
    "Age of the oldest message that this consumer has not finished. Messages that reached "
    "max_deliver do not count. 0 when it is caught up; absent when the age is unknown. A filtered "
    "consumer may be less behind, unless consumer_lag_exact is 1: the first message after its "
    "position may be one that it does not want.",
    origin=_DERIVED)
CONSUMER_LAG_EXACT = _consumer("consumer_lag_exact",
    "1 when consumer_lag_seconds comes from the message itself, 0 when it is interpolated "
    "between the stream's first and last message.",
    level=_FULL, origin=_DERIVED)
CONSUMER_RETENTION_HEADROOM_SECONDS = _consumer("consumer_retention_headroom_seconds",
    "Time until the first unfinished message expires by the stream's max_age: max_age minus lag. "
    "Absent when the stream has no max_age or the consumer is caught up.",
    origin=_DERIVED)
CONSUMER_RETENTION_HEADROOM_RATIO = _consumer("consumer_retention_headroom_ratio",
    "Position of the first unfinished message in a full stream: at 0 it is removed next, at 1 it "
    "is the newest. Only on discard-old streams that are over 90 % full in bytes or "
    "messages; absent otherwise.",
    origin=_DERIVED)

# --- position and ack floor -----------------------------------------------------------------------

CONSUMER_DELIVERIES = _consumer("consumer_deliveries_total",
    "Deliveries by this consumer, redeliveries included. "
    "It restarts at 0 when the consumer is recreated or reset.",
    source="consumer info: delivered.consumer_seq")
CONSUMER_DELIVERED_STREAM_SEQ = _consumer("consumer_delivered_stream_seq",
    "Highest stream sequence delivered. A redelivery does not lower it, a purge can raise "
    "it. On a filtered consumer its distance to the last sequence is not the backlog.",
    level=_FULL, source="consumer info: delivered.stream_seq")
CONSUMER_ACK_FLOOR_STREAM_SEQ = _consumer("consumer_ack_floor_stream_seq",
    "Stream sequence up to which everything is acknowledged, as the server reports it. "
    "A message that reached max_deliver holds it.",
    level=_FULL, source="consumer info: ack_floor.stream_seq",
    purpose="For an engineer who reads the message above the floor with nats stream get.")
CONSUMER_ACK_FLOOR_CONSUMER_SEQ = _consumer("consumer_ack_floor_consumer_seq",
    "Delivery number up to which everything is acknowledged, as the server reports it. "
    "A message that reached max_deliver holds it.",
    level=_FULL, source="consumer info: ack_floor.consumer_seq",
    purpose="For an engineer who compares it with the output of nats consumer info.")
CONSUMER_ACK_FLOOR_GAP = _consumer("consumer_ack_floor_gap",
    "Stream sequences between the ack floor and the last delivery; 0 when nothing is unacked. "
    "On a filtered consumer it also counts messages of other subjects. One exhausted message can "
    "keep it open: see consumer_ack_floor_exhausted.",
    source="consumer info: delivered.stream_seq, ack_floor.stream_seq")
CONSUMER_ACK_FLOOR_GAP_DELIVERIES = _consumer("consumer_ack_floor_gap_deliveries",
    "Deliveries between the ack floor and the last delivery; 0 when nothing is unacked. "
    "Use it for filtered consumers.",
    source="consumer info: delivered.consumer_seq, ack_floor.consumer_seq")
CONSUMER_ACK_FLOOR_GAP_RATIO = _consumer("consumer_ack_floor_gap_ratio",
    "Ratio of consumer_ack_floor_gap_deliveries to max_ack_pending; above 1 when later messages "
    "were acknowledged out of order. Absent when max_ack_pending is unlimited.",
    level=_FULL,
    source="consumer info: delivered.consumer_seq, ack_floor.consumer_seq, config.max_ack_pending",
    purpose="For own alert rules over consumers with different max_ack_pending.")
CONSUMER_ACK_FLOOR_STALLED_SECONDS = _consumer("consumer_ack_floor_stalled_seconds",
    "Time since the ack floor last moved while messages are unacknowledged, else 0. "
    "At the exporter's start it counts from the server's own times, else from the first poll.",
    origin=_DERIVED)
CONSUMER_ACK_FLOOR_EXHAUSTED = _consumer("consumer_ack_floor_exhausted",
    "1 when messages that reached max_deliver certainly hold the ack floor: an advisory named the "
    "message above the floor, nothing is unacknowledged, or more messages were redelivered than "
    "are unacknowledged. Else 0; absent without max_deliver. At 1 the gap is not work in progress.",
    origin=_DERIVED)
CONSUMER_BLOCKING_STREAM_SEQ = _consumer("consumer_blocking_stream_seq",
    "Stream sequence of the first message that this consumer has not finished. "
    "Absent unless consumer_lag_exact is 1.",
    level=_FULL, origin=_DERIVED)
CONSUMER_LAST_DELIVERY_TIMESTAMP_SECONDS = _consumer("consumer_last_delivery_timestamp_seconds",
    "Time of the consumer's last delivery, on the exporter's clock; a delayed nak or an in-progress "
    "ack also counts. Absent when the server does not know it, for example after a restart.",
    level=_FULL, source="consumer info: delivered.last_active")
CONSUMER_LAST_ACK_TIMESTAMP_SECONDS = _consumer("consumer_last_ack_timestamp_seconds",
    "Time of the last acknowledgement of any message, on the exporter's clock. It is not the time "
    "when the ack floor last moved. Absent when the server does not know it, for example after a "
    "restart.",
    level=_FULL, source="consumer info: ack_floor.last_active")
