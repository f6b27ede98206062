"""An even number of replicas."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import stream_finding
from exporter.audit.severity import Severity
from exporter.audit.units import plural


def find(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.streams:
        if config.replicas % 2 == 0:
            failures = plural((config.replicas - 1) // 2, "failure")
            yield stream_finding(row, f"{config.replicas} replicas tolerate {failures}")


CHECK = Check(
    code="replicas-even",
    severity=Severity.WARN,
    subject=Subject.STREAM,
    title="An even number of replicas",
    meaning="An even number of replicas tolerates no more failures than one replica less.",
    condition="The number of replicas is even.",
    why=(
        "With two replicas, the loss of either one stops the stream. It fails more often than "
        "with a single replica."
    ),
    remedy=(
        "Use three or five replicas: one more than now, because fewer replicas delete data on the "
        "removed peers."
    ),
    commands=("nats stream edit STREAM --replicas ODD",),
    find=find,
)
