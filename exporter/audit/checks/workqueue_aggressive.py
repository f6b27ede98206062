"""A workqueue with discard new and few deliveries."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import stream_finding
from exporter.audit.severity import Severity
from exporter.audit.units import listed
from exporter.model import ConsumerConfig

SHORT_SECONDS = 30.0
FEW = 10


def find(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.with_retention("workqueue"):
        limited = config.max_messages is not None or config.max_bytes is not None
        if config.discard != "new" or not limited:
            continue
        early = [
            consumer.name
            for consumer, settings in context.consumers_of(row)
            if _gives_up_early(settings)
        ]
        if early:
            yield stream_finding(
                row, f"discard new; low ack_wait or max_deliver on {listed(early)}"
            )


def _gives_up_early(config: ConsumerConfig) -> bool:
    wait, deliveries = config.ack_wait_seconds, config.max_deliver
    # With unlimited deliveries, a short ack_wait abandons no message.
    return deliveries is not None and (
        deliveries < FEW or (wait is not None and wait < SHORT_SECONDS)
    )


CHECK = Check(
    code="workqueue-aggressive",
    severity=Severity.WARN,
    subject=Subject.STREAM,
    title="A workqueue with discard new and few deliveries",
    meaning=(
        "Messages reach max_deliver early and stay in a workqueue that rejects new messages when "
        "full."
    ),
    condition=(
        "Workqueue retention with discard new and a limit of messages or bytes. A consumer has a "
        "finite max_deliver that is below 10, or its ack_wait is below 30 s."
    ),
    why=(
        "Messages that reach max_deliver are not removed. They fill the stream until publishers "
        "are rejected."
    ),
    remedy=(
        "Allow more deliveries over a longer time, and handle messages that reach max_deliver. A "
        "max_age removes the rest, but it deletes what exceeds it, including work that is not "
        "done yet."
    ),
    commands=(
        "nats consumer edit STREAM CONSUMER --max-deliver MORE --wait LONGER",
        "nats stream edit STREAM --max-age AGE",
    ),
    find=find,
)
