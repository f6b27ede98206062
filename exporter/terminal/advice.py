"""What each condition of a consumer means, the command to run next, and its runbook."""

from __future__ import annotations

from dataclasses import dataclass

from exporter.signals.conditions.words import Condition


@dataclass(frozen=True, slots=True)
class Advice:
    means: str
    command: str  # with {stream} and {consumer}
    runbook: str


_INFO = "nats consumer info {stream} {consumer}"

ADVICE = {
    Condition.NO_LEADER: Advice(
        "Its Raft group has no leader: nothing is delivered until enough replicas are up.",
        "nats server report jetstream",
        "JetStreamConsumerNoLeader",
    ),
    Condition.LOSING_MESSAGES: Advice(
        "Limits of the stream remove messages before they are delivered.",
        "nats stream info {stream}",
        "JetStreamConsumerMessagesLost",
    ),
    Condition.ACK_PENDING_FULL: Advice(
        "As many messages as max_ack_pending allows are unacknowledged: nothing more is delivered.",
        _INFO,
        "JetStreamConsumerAckPendingFull",
    ),
    Condition.STALLED: Advice(
        "Workers wait for messages and messages wait, but the server delivers none.",
        _INFO,
        "JetStreamConsumerStalled",
    ),
    Condition.WORKERS_GONE: Advice(
        "It was busy nearly all day, and now no worker pulls or is bound: all of them are down.",
        _INFO,
        "JetStreamConsumerStalled",
    ),
    Condition.NOTHING_FINISHED: Advice(
        "The same messages are delivered again and again, and none is finished.",
        _INFO,
        "JetStreamConsumerRedeliveryLoop",
    ),
    Condition.REDELIVERY_LOOP: Advice(
        "A few messages are delivered again and again.",
        _INFO,
        "JetStreamConsumerAckFloorStalled",
    ),
    Condition.ACK_FLOOR_STUCK: Advice(
        "A message is delivered and not finished, much longer than ack_wait.",
        _INFO,
        "JetStreamConsumerAckFloorStalled",
    ),
    Condition.NO_WORKER_PULLS: Advice(
        "Messages wait and no worker pulls: the workers are down or connected elsewhere.",
        _INFO,
        "JetStreamConsumerNoWorkerPulls",
    ),
    Condition.NOT_BOUND: Advice(
        "Messages wait and no subscriber is bound to the deliver subject.",
        _INFO,
        "JetStreamConsumerNotBound",
    ),
    Condition.FALLING_BEHIND: Advice(
        "More messages arrive than are finished: the backlog grows.",
        "nats consumer report {stream}",
        "JetStreamConsumerBacklogGrowing",
    ),
    Condition.HEADROOM_LOW: Advice(
        "The limits of the stream will soon remove messages that it has not finished.",
        "nats stream info {stream}",
        "JetStreamConsumerRetentionHeadroomLow",
    ),
    Condition.MESSAGES_ABANDONED: Advice(
        "Messages reached max_deliver: they are stored and never delivered again.",
        _INFO,
        "JetStreamConsumerMessagesAbandoned",
    ),
    Condition.ACKS_LATE: Advice(
        "Acks come so late that ack_wait ends first: work is done twice.",
        _INFO,
        "JetStreamConsumerAckWaitTooShort",
    ),
    Condition.NAK_LOOP: Advice(
        "Workers refuse most deliveries: a nak without a delay comes back at once.",
        _INFO,
        "JetStreamConsumerNakLoop",
    ),
    Condition.REDELIVERY_HIGH: Advice(
        "Many deliveries are redeliveries: acks are lost, or workers fail.",
        _INFO,
        "JetStreamConsumerRedeliveryHigh",
    ),
    Condition.ACK_PENDING_HIGH: Advice(
        "Unacknowledged messages are close to max_ack_pending.",
        _INFO,
        "JetStreamConsumerAckPendingHigh",
    ),
    Condition.ACK_FLOOR_GAP_HIGH: Advice(
        "Many deliveries lie above the ack floor: old messages are never finished.",
        _INFO,
        "JetStreamConsumerAckFloorGapHigh",
    ),
    Condition.PAUSED_BACKLOG: Advice(
        "It is paused and messages wait; retention goes on.",
        "nats consumer resume {stream} {consumer}",
        "JetStreamConsumerPausedLong",
    ),
    Condition.LONG_JOBS: Advice(
        "Workers extend ack_wait by in-progress acks: jobs take long, nothing is stuck.",
        _INFO,
        "JetStreamConsumerAckPendingHigh",
    ),
}
