"""A server that has another name after each start."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_server


def find(scene: AuditContext) -> Iterator[Finding]:
    for row in scene.servers:
        if row.up and row.name and row.name == row.id:
            yield of_server(row, f"name and id are both {row.id[:12]}...")


CHECK = Check(
    code="server-unnamed",
    severity=Severity.INFO,
    subject=Subject.SERVER,
    title="A server without a name of its own",
    meaning="The server's name is made up at each start.",
    condition="The name of the server is its id.",
    why=(
        "After a restart it is another server to everybody: series begin anew, and alerts say "
        "that the old one is down."
    ),
    remedy="Set server_name in its configuration.",
    commands=("nats server list",),
    find=find,
)
