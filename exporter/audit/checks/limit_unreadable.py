"""The owner wrote a limit that nobody can read."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.facts.owner_limits import (
    STREAM_LIMITS,
    UNREADABLE_CONDITION,
    UNREADABLE_MEANING,
    UNREADABLE_REMEDY,
    UNREADABLE_WHY,
    unreadable_limits,
)
from exporter.audit.findings import of_stream
from exporter.audit.units import listed


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.streams:
        if keys := unreadable_limits(config, STREAM_LIMITS):
            yield of_stream(row, f"cannot be read: {listed(keys)}")


CHECK = Check(
    code="limit-unreadable",
    severity=Severity.WARN,
    subject=Subject.STREAM,
    title="A limit in the stream's metadata cannot be read",
    meaning=UNREADABLE_MEANING,
    condition=UNREADABLE_CONDITION,
    why=UNREADABLE_WHY,
    remedy=UNREADABLE_REMEDY,
    commands=(
        "nats stream info STREAM",
        "nats stream edit STREAM --metadata KEY=VALUE --metadata OTHER_KEY=VALUE",
    ),
    since="2.10",
    find=find,
)
