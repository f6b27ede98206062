"""Waiting pull requests are near max_waiting."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import consumer_finding
from exporter.audit.severity import Severity

NEAR = 0.9


def find(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.consumers:
        most = config.max_waiting
        if most is not None and row.num_waiting >= NEAR * most:
            yield consumer_finding(
                row, f"{row.num_waiting:,} waiting pull requests, max_waiting {most:,}"
            )


CHECK = Check(
    code="max-waiting-near",
    severity=Severity.INFO,
    subject=Subject.CONSUMER,
    title="Waiting pull requests are near max_waiting",
    meaning="So many pull requests wait that the server soon rejects more.",
    condition="The number of waiting pull requests is at least 90 % of max_waiting.",
    why=(
        "Above the limit, clients get an error instead of messages. Immediate retries make it "
        "worse."
    ),
    remedy=(
        "Use fewer waiting clients, or set an expiry on their pull requests. max_waiting cannot "
        "be changed, so a new consumer has to replace this one. A copy starts at its deliver "
        "policy: start it after the last acknowledged sequence. A workqueue allows no second "
        "consumer: there, delete the old one first and use deliver policy all."
    ),
    commands=(
        "nats consumer info STREAM CONSUMER",
        "nats consumer copy STREAM CONSUMER NEW_CONSUMER --max-waiting HIGHER --deliver SEQUENCE",
    ),
    find=find,
)
