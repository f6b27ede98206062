"""An even number of copies costs more and bears no more."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_stream
from exporter.audit.units import some


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.streams:
        if config.replicas % 2 == 0:
            borne = some((config.replicas - 1) // 2, "failure")
            yield of_stream(row, f"{config.replicas} replicas survive {borne}")


CHECK = Check(
    code="replicas-even",
    severity=Severity.WARN,
    subject=Subject.STREAM,
    title="An even number of replicas",
    meaning="An even number of copies survives no more failures than one less.",
    condition="The number of replicas is even.",
    why=(
        "With two copies the loss of either stops the stream, so it fails more often than a "
        "single one."
    ),
    remedy="Use three replicas, or five: one more than now, for fewer replicas delete copies.",
    commands=("nats stream edit STREAM --replicas ODD",),
    find=find,
)
