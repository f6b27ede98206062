"""Many deliveries without a backoff."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import consumer_finding
from exporter.audit.severity import Severity
from exporter.audit.units import duration

MANY = 10


def find(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.acking_consumers:
        limit = config.max_deliver
        if limit is not None and limit > MANY and not config.backoff_seconds:
            wait = duration(config.ack_wait_seconds or 0)
            yield consumer_finding(row, f"max_deliver {limit:,}, every {wait}")


CHECK = Check(
    code="max-deliver-high",
    severity=Severity.INFO,
    subject=Subject.CONSUMER,
    title="Many deliveries without a backoff",
    meaning="A failing message is delivered many times at a fixed interval.",
    condition="The consumer requires acks, max_deliver is above 10 and there is no backoff.",
    why=(
        "During an outage of a downstream service, every message is retried as fast as ack_wait "
        "allows. Workers spend their time on failures."
    ),
    remedy=(
        "Set a backoff with increasing steps, so that the same number of deliveries lasts longer. "
        "FIRST replaces ack_wait, so it must not be shorter than the processing time. STEPS must "
        "be below max_deliver."
    ),
    commands=(
        "nats consumer edit STREAM CONSUMER --backoff linear --backoff-steps STEPS --backoff-min FIRST --backoff-max LAST",
    ),
    find=find,
)
