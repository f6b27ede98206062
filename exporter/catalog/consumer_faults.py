"""Consumers: verdict, conditions, redeliveries, exhausted and lost messages."""

from __future__ import annotations

from functools import partial

from exporter.catalog.definition import define, last_event_of
from exporter.catalog.labels import CONSUMER
from exporter.metric import Level, Origin, Subject

_FULL = Level.FULL
_DERIVED = Origin.DERIVED
_EVENT = Origin.EVENT

_consumer = partial(define, subject=Subject.CONSUMER, labels=CONSUMER)

# An entry is a name, its help text and one line of facts; the formatter would spread the facts.
# fmt: off

CONSUMER_VERDICT = _consumer("consumer_verdict",
    "The first that holds of: 9 no leader, 2 paused, 8 losing messages, 5 ack-pending full, "
    "10 stalled, 6 redelivery loop, 7 ack floor stuck, 4 no worker pulls or not bound, 3 falling behind, "
    "11 busy with long jobs, 1 idle, 0 ok. Absent before two polls. The numbers are identifiers, "
    "not a scale.",
    origin=_DERIVED)
CONSUMER_CONDITION_START_TIMESTAMP_SECONDS = _consumer(
    "consumer_condition_start_timestamp_seconds",
    "Time since when a condition of the consumer holds, on the exporter's clock. Present only "
    "while it holds. Conditions are judged one by one: several may hold at once.",
    labels=(*CONSUMER, "condition"), origin=_DERIVED)
CONSUMER_STALLED_SECONDS = _consumer("consumer_stalled_seconds",
    "Time with messages pending and without any delivery. 0 when paused or caught up. "
    "At the exporter's start it counts from the server's own times, else from the first poll.",
    origin=_DERIVED)
CONSUMER_REDELIVERIES = _consumer("consumer_redeliveries_total",
    "Deliveries that were not the first of their message, since the exporter started. "
    "A lower bound where consumer_redelivery_exact is 0.",
    origin=_DERIVED)
CONSUMER_REDELIVERY_RATIO = _consumer("consumer_redelivery_ratio",
    "Share of redeliveries among the deliveries of the last five minutes. "
    "Absent without deliveries. For dashboards; rules use the counters over a longer time.",
    origin=_DERIVED)
CONSUMER_REDELIVERY_EXACT = _consumer("consumer_redelivery_exact",
    "1 when the count of redeliveries is exact, 0 when it is a lower bound because the consumer "
    "is filtered or the stream has gaps.",
    level=_FULL, origin=_DERIVED)
CONSUMER_REDELIVERY_CAUSE = _consumer("consumer_redelivery_cause",
    "Why messages are redelivered: 1 acknowledged too late, 2 nak, 3 not acknowledged, "
    "4 a few messages in a loop. Absent without acknowledgement counts and advisories.",
    level=_FULL, origin=_DERIVED)
CONSUMER_EXHAUSTED_MESSAGES = _consumer("consumer_exhausted_messages",
    "Messages that reached max_deliver and are still in the stream: they are not delivered "
    "again. A lower bound, exact when nothing is unacked. Absent when max_deliver is unlimited "
    "or 1. Servers before 2.12.9 and 2.14.1 also count deleted messages.",
    source="consumer info: num_redelivered, num_ack_pending, config.max_deliver")
CONSUMER_EXHAUSTED = _consumer("consumer_exhausted_total",
    "Messages given up after max_deliver deliveries, from advisories. The series appears with "
    "the first event. For a pull consumer the server sends the advisory at the next pull.",
    origin=_EVENT)
CONSUMER_EXHAUSTED_LAST_EVENT_TIMESTAMP_SECONDS = last_event_of(CONSUMER_EXHAUSTED)
CONSUMER_EXHAUSTED_UNCONFIRMED = _consumer("consumer_exhausted_unconfirmed",
    "1 when advisories report messages given up after max_deliver deliveries, and the consumer's state "
    "shows none: a client invented them, or they are acknowledged or removed since. Otherwise absent.",
    origin=_DERIVED)
CONSUMER_LAST_EXHAUSTED_STREAM_SEQ = _consumer("consumer_last_exhausted_stream_seq",
    "Stream sequence of the last message that reached max_deliver, from advisories. "
    "Absent before the first event.",
    level=_FULL, origin=_EVENT,
    purpose="For an engineer who copies the abandoned message with nats stream get.")
CONSUMER_DEAD_LETTER_CAPTURED = _consumer("consumer_dead_letter_captured",
    "1 when a stream of the account or a subscriber receives this consumer's MAX_DELIVERIES "
    "advisories, else 0. Only for consumers with a finite max_deliver.",
    level=_FULL, origin=_DERIVED)
CONSUMER_LOST_MESSAGES = _consumer("consumer_lost_messages_total",
    "Messages that limits removed before their first delivery to this consumer, since the exporter "
    "started: at least. Without purges that a poll can see and without messages that are "
    "overwritten by design (messages per subject, message TTL, key-value and object streams). "
    "The series appears with the first loss.",
    origin=_DERIVED)
CONSUMER_LOST_MESSAGES_LAST_EVENT_TIMESTAMP_SECONDS = last_event_of(CONSUMER_LOST_MESSAGES)
CONSUMER_LOST_MESSAGES_UPPER = _consumer("consumer_lost_messages_upper_total",
    "Messages that limits removed before their first delivery to this consumer, since the exporter "
    "started: at most. Equal to consumer_lost_messages_total where the count is exact. The series "
    "appears with the first possible loss.",
    origin=_DERIVED,
    purpose="For an engineer who wants to know how much a filtered consumer may have lost.")
CONSUMER_LOST_MESSAGES_UPPER_LAST_EVENT_TIMESTAMP_SECONDS = last_event_of(
    CONSUMER_LOST_MESSAGES_UPPER,
    purpose="For own rules about messages that were probably lost.")
CONSUMER_LOST_WAITING_MESSAGES = _consumer("consumer_lost_waiting_messages",
    "Messages that were removed from the stream and that this consumer has not skipped "
    "yet: they count as lost when its position moves.",
    level=_FULL, origin=_DERIVED,
    purpose="For an engineer who wants to know how much of the loss is still ahead of the consumer.")
CONSUMER_LOST_EXACT = _consumer("consumer_lost_exact",
    "1 when the count of lost messages is exact over the last five minutes, 0 when the lower and the "
    "upper bound moved differently.",
    level=_FULL, origin=_DERIVED)
CONSUMER_PURGED_MESSAGES = _consumer("consumer_purged_messages_total",
    "Messages that a purge removed before their first delivery to this consumer, since the exporter "
    "started: at least. A purge is deliberate, so it is not a loss.",
    level=_FULL, origin=_DERIVED)
CONSUMER_PURGED_MESSAGES_LAST_EVENT_TIMESTAMP_SECONDS = last_event_of(CONSUMER_PURGED_MESSAGES,
    purpose="For own rules: an event counts even if its counter began with it.")
CONSUMER_AHEAD_OF_STREAM_MESSAGES = _consumer("consumer_ahead_of_stream_messages",
    "How far the consumer's position in the previous poll is beyond the stream's last sequence: "
    "the stream went back, by data loss, rollback or restore. Present only while above 0.",
    origin=_DERIVED)
CONSUMER_RECREATED = _consumer("consumer_recreated_total",
    "Times that the consumer was recreated (its creation time changed by more than a second) "
    "or its sequence was reset, since the exporter started.",
    origin=_DERIVED)
CONSUMER_RECREATED_LAST_EVENT_TIMESTAMP_SECONDS = last_event_of(CONSUMER_RECREATED)
CONSUMER_LEADER_CHANGES = _consumer("consumer_leader_changes_total",
    "Leader changes of this consumer, since the exporter started. "
    "Two elections between two polls count once.",
    level=_FULL, origin=_DERIVED,
    purpose="For who compares the elections of a consumer with those of its stream, or migrates.")
CONSUMER_LEADER_CHANGES_LAST_EVENT_TIMESTAMP_SECONDS = last_event_of(CONSUMER_LEADER_CHANGES,
    purpose="For own rules: an event counts even if its counter began with it.")
