"""The server has no name."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import server_finding
from exporter.audit.severity import Severity


def find(context: AuditContext) -> Iterator[Finding]:
    for row in context.servers:
        if row.up and row.name and row.name == row.id:
            yield server_finding(row, f"name and id are both {row.id[:12]}...")


CHECK = Check(
    code="server-unnamed",
    severity=Severity.INFO,
    subject=Subject.SERVER,
    title="The server has no name",
    meaning="The server has a random name that changes with each start.",
    condition="The name of the server is its id.",
    why=(
        "After a restart it appears as a new server: series start again, and alerts report the "
        "old name as down."
    ),
    remedy="Set server_name in its configuration.",
    commands=("nats server list",),
    default=True,
    find=find,
)
