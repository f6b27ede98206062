"""The server requires no authentication."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Need, Subject, Unknown
from exporter.audit.context import AuditContext
from exporter.audit.findings import server_finding, unknown_settings
from exporter.audit.severity import Severity


def find(context: AuditContext) -> Iterator[Finding | Unknown]:
    for row in context.servers:
        settings = row.settings
        if settings is None:
            yield from unknown_settings(row)
        elif not settings.auth_required:
            tls = "required" if settings.tls_required else "not required"
            yield server_finding(row, f"authentication not required, TLS {tls}")


CHECK = Check(
    code="auth-off",
    severity=Severity.INFO,
    subject=Subject.SERVER,
    title="The server requires no authentication",
    meaning="Any client that reaches this server can read, write and delete everything.",
    condition="The server reports that authentication is not required.",
    why="Any client on the network can read, purge and delete streams, also by accident.",
    remedy="Configure accounts with users, then reload the configuration.",
    commands=(
        "nats server config reload SERVER_ID",
        "nats server check server --name SERVER --auth-required",
    ),
    needs=frozenset({Need.SERVERS}),
    default=True,
    find=find,
)
