"""The owner wrote a limit that nobody can read."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.facts.owner_limits import (
    CONSUMER_LIMITS,
    UNREADABLE_CONDITION,
    UNREADABLE_MEANING,
    UNREADABLE_REMEDY,
    UNREADABLE_WHY,
    unreadable_limits,
)
from exporter.audit.findings import of_consumer
from exporter.audit.units import listed


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.consumers:
        if keys := unreadable_limits(config, CONSUMER_LIMITS):
            yield of_consumer(row, f"cannot be read: {listed(keys)}")


CHECK = Check(
    code="consumer-limit-unreadable",
    severity=Severity.WARN,
    subject=Subject.CONSUMER,
    title="A limit in the consumer's metadata cannot be read",
    meaning=UNREADABLE_MEANING,
    condition=UNREADABLE_CONDITION,
    why=UNREADABLE_WHY,
    remedy=UNREADABLE_REMEDY,
    commands=(
        "nats consumer info STREAM CONSUMER",
        "nats consumer edit STREAM CONSUMER --metadata KEY=VALUE --metadata OTHER_KEY=VALUE",
    ),
    since="2.10",
    find=find,
)
