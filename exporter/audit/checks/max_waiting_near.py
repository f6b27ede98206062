"""So many pull requests wait that the next ones are refused."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_consumer

NEAR = 0.9


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.consumers:
        most = config.max_waiting
        if most is not None and row.num_waiting >= NEAR * most:
            yield of_consumer(row, f"{row.num_waiting:,} pull requests wait, max_waiting {most:,}")


CHECK = Check(
    code="max-waiting-near",
    severity=Severity.INFO,
    subject=Subject.CONSUMER,
    title="Nearly as many pull requests wait as may",
    meaning="So many clients wait for messages that the next request is soon refused.",
    condition="90 % or more of max_waiting pull requests wait.",
    why=(
        "Beyond the limit clients get an error instead of messages, and those that retry at "
        "once make it worse."
    ),
    remedy=(
        "Let fewer clients wait or give their requests an end; max_waiting cannot be changed, a "
        "consumer with more has to replace this one. A copy starts where its deliver policy says: "
        "start it after the last acknowledged sequence. A workqueue allows no second one: there "
        "remove the old one first, and deliver all."
    ),
    commands=(
        "nats consumer info STREAM CONSUMER",
        "nats consumer copy STREAM CONSUMER NEW_CONSUMER --max-waiting HIGHER --deliver SEQUENCE",
    ),
    find=find,
)
