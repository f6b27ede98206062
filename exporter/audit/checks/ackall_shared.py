"""One member acknowledges for all others."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_consumer


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.consumers:
        if config.ack_policy == "all" and config.deliver_group:
            yield of_consumer(row, f"ack policy all, deliver group {config.deliver_group}")


CHECK = Check(
    code="ackall-shared",
    severity=Severity.WARN,
    subject=Subject.CONSUMER,
    title="Members of a group acknowledge for each other",
    meaning=(
        "With ack policy all an acknowledgement covers every earlier message, also those that "
        "another member of the group still works on."
    ),
    condition="The ack policy is all and there is a deliver group.",
    why=(
        "When one member is faster than another, the work of the slower one counts as done, and "
        "is lost if it fails."
    ),
    remedy=(
        "Use explicit acknowledgements for a group; the policy of an existing consumer cannot "
        "be changed, so make another one."
    ),
    commands=(
        "nats consumer add STREAM NEW_CONSUMER --ack explicit --target DELIVER_SUBJECT --deliver-group GROUP --deliver SEQUENCE --defaults",
    ),
    find=find,
)
