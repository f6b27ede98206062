"""A recreated consumer starts at the wrong position."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject, Unknown
from exporter.audit.context import AuditContext, consumer_key
from exporter.audit.findings import consumer_finding
from exporter.audit.severity import Severity
from exporter.audit.units import plural
from exporter.model import Consumer

COSTS = {
    "new": "skips the messages of the gap",
    "last": "skips all but the last message",
    "all": "delivers all messages again",
}


def find(context: AuditContext) -> Iterator[Finding | Unknown]:
    for row, config in context.consumers:
        times = _recreated(context, row)
        if times > 0 and config.deliver_policy in COSTS:
            cost = COSTS[config.deliver_policy]
            count = plural(times, "time")
            yield consumer_finding(
                row, f"recreated {count}; deliver policy {config.deliver_policy} {cost}"
            )
    # A single poll cannot count recreated consumers.
    if context.history is None and context.earlier is None:
        yield Unknown(reason="needs rollups or a second poll")


def _recreated(context: AuditContext, row: Consumer) -> int:
    signals, from_history = context.consumer_signals(row), None
    if context.history is not None:
        from_history = context.history.recreated(consumer_key(row))
    return max(signals.recreated if signals else 0, int(from_history or 0))


CHECK = Check(
    code="recreate-hazard",
    severity=Severity.WARN,
    subject=Subject.CONSUMER,
    title="A recreated consumer starts at the wrong position",
    meaning=(
        "The consumer was deleted and recreated, and its deliver policy does not continue at the "
        "old position."
    ),
    condition=(
        "The consumer was recreated since the exporter started or, according to the rollups, "
        "within 30 days. Its deliver policy is new, last or all."
    ),
    why=(
        "With new and last, the messages of the gap are skipped. With all, every message is "
        "processed again."
    ),
    remedy=(
        "Do not delete and create the consumer at application startup. If you have to recreate "
        "it, start after the last acknowledged sequence."
    ),
    commands=(
        "nats consumer info STREAM CONSUMER --json",
        "nats consumer add STREAM CONSUMER --pull --deliver SEQUENCE --defaults",
    ),
    find=find,
)
