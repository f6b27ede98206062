"""Members of a deliver group acknowledge for each other."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import consumer_finding
from exporter.audit.severity import Severity


def find(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.consumers:
        if config.ack_policy == "all" and config.deliver_group:
            yield consumer_finding(row, f"ack policy all, deliver group {config.deliver_group}")


CHECK = Check(
    code="ackall-shared",
    severity=Severity.WARN,
    subject=Subject.CONSUMER,
    title="Members of a deliver group acknowledge for each other",
    meaning=(
        "With ack policy all, an ack covers all earlier messages, including those that other "
        "members of the group still process."
    ),
    condition="The ack policy is all and there is a deliver group.",
    why=(
        "If one member is faster than another, the messages of the slower one count as "
        "acknowledged. They are lost if it fails."
    ),
    remedy=(
        "Use ack policy explicit for a group. The policy of a consumer cannot be changed, so "
        "create a new consumer."
    ),
    commands=(
        "nats consumer add STREAM NEW_CONSUMER --ack explicit --target DELIVER_SUBJECT --deliver-group GROUP --deliver SEQUENCE --defaults",
    ),
    find=find,
)
