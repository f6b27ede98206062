"""ack_wait is long."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext, consumer_key
from exporter.audit.facts.ack_times import p99_ack_time
from exporter.audit.findings import consumer_finding
from exporter.audit.severity import Severity
from exporter.audit.units import MINUTE, duration
from exporter.model import Consumer, ConsumerConfig
from exporter.signals.conditions.words import Condition
from exporter.tempo import scaled

LONG_SECONDS = 30 * MINUTE
# A shorter ack_wait is never reported as long.
MIN_SECONDS = 2 * MINUTE
TIMES = 10
# A client that neither pulls nor acks for this time is probably gone.
GONE_SECONDS = scaled(5 * MINUTE)


def find(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.acking_consumers:
        wait = config.ack_wait_seconds
        if wait is None or config.backoff_seconds:
            continue
        taken = p99_ack_time(context, row) if wait > MIN_SECONDS else None
        slow = taken is not None and wait > TIMES * taken.high
        if wait >= LONG_SECONDS or slow:
            usual = f"; {taken.text}" if taken is not None and slow else ""
            held = _held_seconds(context, row, config)
            gone = f"; {row.num_ack_pending:,} messages held for {duration(held)}, no client pulls"
            evidence = f"ack_wait {duration(wait)}{usual}{gone if held else ''}"
            yield consumer_finding(row, evidence, Severity.WARN if held else None)


def _held_seconds(context: AuditContext, row: Consumer, config: ConsumerConfig) -> float:
    """How long messages are held by a client that is probably gone; 0 if there is none.

    A client that works sends in-progress acks or pulls again.
    """
    signals = context.signals.consumers.get(consumer_key(row))
    if signals is None or not row.num_ack_pending or row.num_waiting or row.push_bound:
        return 0.0
    if any(word == Condition.LONG_JOBS for word, _ in signals.conditions):
        return 0.0
    held = signals.floor_stalled or 0.0
    return held if held > max(GONE_SECONDS, config.notes.long_jobs or 0.0) else 0.0


CHECK = Check(
    code="ack-wait-long",
    severity=Severity.INFO,
    subject=Subject.CONSUMER,
    title="ack_wait is long",
    meaning="If a worker dies, its messages wait long for redelivery.",
    condition=(
        "ack_wait is 30 min or longer, or above 2 min and above ten times the p99 of the time to "
        "ack. Warn while messages are unacked, no client pulls or is bound, and the ack floor does "
        "not move for 5 min: a client is probably gone."
    ),
    why=(
        "After each crash or deployment, messages in flight and the ack floor do not move for "
        "this time."
    ),
    remedy=(
        "Set ack_wait to a few times the slowest normal processing time. Workers with longer jobs "
        "can send in-progress acks. A message that takes longer than ack_wait is processed twice."
    ),
    commands=("nats consumer edit STREAM CONSUMER --wait SHORTER",),
    find=find,
)
