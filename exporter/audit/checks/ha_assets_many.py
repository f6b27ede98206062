"""Very many replicated assets on one server."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Need, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import server_finding
from exporter.audit.severity import Severity

MANY = 1_000


def find(context: AuditContext) -> Iterator[Finding]:
    for row in context.servers:
        if row.ha_assets is not None and row.ha_assets >= MANY:
            yield server_finding(row, f"{row.ha_assets:,} replicated assets")


CHECK = Check(
    code="ha-assets-many",
    severity=Severity.WARN,
    subject=Subject.SERVER,
    title="Very many replicated assets on one server",
    meaning="This server is a member of 1,000 or more Raft groups.",
    condition="1,000 or more replicated streams and consumers on one server.",
    why=(
        "Every group sends heartbeats and has its own log. Restarts become slow and elections "
        "spread."
    ),
    remedy=(
        "Merge small streams into one with more subjects, use ordered consumers for reading only, "
        "delete unused consumers, or add servers."
    ),
    commands=(
        "nats server report jetstream",
        "nats stream report",
    ),
    needs=frozenset({Need.SERVERS}),
    find=find,
)
