"""The owner expects one pinned client, the consumer serves any."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_consumer


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.consumers:
        if config.thresholds.limit("pinned") == 1 and config.priority_policy != "pinned_client":
            yield of_consumer(row, f"pinned is asked for, the policy is {config.priority_policy}")


CHECK = Check(
    code="pinned-mismatch",
    severity=Severity.INFO,
    subject=Subject.CONSUMER,
    title="The owner asks for a pinned client",
    meaning=(
        "The owner's metadata say that one client at a time gets the messages, but the consumer "
        "is not set up so."
    ),
    condition=(
        "The metadata key io.nats.monitor.pinned is true and the priority policy is not "
        "pinned_client."
    ),
    why="Several clients work at the same time where order or exclusiveness was meant.",
    remedy=(
        "Make a consumer with a pinned group that starts after the last acknowledged sequence, or "
        "correct the metadata. Give all keys again: --metadata replaces them."
    ),
    commands=(
        "nats consumer info STREAM CONSUMER",
        "nats consumer add STREAM NEW_CONSUMER --pull --pinned-groups GROUP --deliver SEQUENCE --defaults",
        "nats consumer edit STREAM CONSUMER --metadata io.nats.monitor.pinned=false --metadata OTHER_KEY=VALUE",
    ),
    since="2.11",
    find=find,
)
