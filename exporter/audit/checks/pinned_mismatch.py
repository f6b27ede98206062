"""The metadata expects a pinned client."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import consumer_finding
from exporter.audit.severity import Severity


def find(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.consumers:
        if config.thresholds.limit("pinned") == 1 and config.priority_policy != "pinned_client":
            yield consumer_finding(
                row, f"pinned in metadata, priority policy {config.priority_policy}"
            )


CHECK = Check(
    code="pinned-mismatch",
    severity=Severity.INFO,
    subject=Subject.CONSUMER,
    title="The metadata expects a pinned client",
    meaning=(
        "The metadata expects that one client at a time gets the messages, but the consumer is "
        "configured differently."
    ),
    condition=(
        "The metadata key io.nats.monitor.pinned is true and the priority policy is not "
        "pinned_client."
    ),
    why=(
        "Several clients process messages at the same time, although the owner expects order or "
        "exclusive access."
    ),
    remedy=(
        "Create a consumer with priority policy pinned_client that starts after the last "
        "acknowledged sequence, or correct the metadata. Give all keys again: --metadata replaces "
        "them."
    ),
    commands=(
        "nats consumer info STREAM CONSUMER",
        "nats consumer add STREAM NEW_CONSUMER --pull --pinned-groups GROUP --deliver SEQUENCE --defaults",
        "nats consumer edit STREAM CONSUMER --metadata io.nats.monitor.pinned=false --metadata OTHER_KEY=VALUE",
    ),
    since="2.11",
    find=find,
)
