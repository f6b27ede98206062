"""A thousand Raft groups on one server."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Need, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_server

MANY = 1_000


def find(scene: AuditContext) -> Iterator[Finding]:
    for row in scene.servers:
        if row.ha_assets is not None and row.ha_assets >= MANY:
            yield of_server(row, f"{row.ha_assets:,} replicated assets")


CHECK = Check(
    code="ha-assets-many",
    severity=Severity.WARN,
    subject=Subject.SERVER,
    title="Very many replicated assets on one server",
    meaning="This server takes part in a thousand or more Raft groups.",
    condition="1,000 or more replicated streams and consumers on one server.",
    why=(
        "Every group sends heartbeats and keeps its own log: restarts get slow and elections "
        "spread."
    ),
    remedy=(
        "Join small streams into one with more subjects, use ordered consumers for reading "
        "along, remove consumers that nobody uses, or add servers."
    ),
    commands=(
        "nats server report jetstream",
        "nats stream report",
    ),
    needs=frozenset({Need.SERVERS}),
    find=find,
)
