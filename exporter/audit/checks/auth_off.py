"""Everybody may connect."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Need, Severity, Subject, Unknown
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_server, untold_settings


def find(scene: AuditContext) -> Iterator[Finding | Unknown]:
    for row in scene.servers:
        settings = row.settings
        if settings is None:
            yield from untold_settings(row)
        elif not settings.auth_required:
            tls = "required" if settings.tls_required else "not required"
            yield of_server(row, f"authentication not required, TLS {tls}")


CHECK = Check(
    code="auth-off",
    severity=Severity.WARN,
    subject=Subject.SERVER,
    title="Clients need no credentials",
    meaning="Whoever reaches the port of this server may read, write and delete everything.",
    condition="The server says that no authentication is required.",
    why=(
        "Streams can be read, purged and deleted by anybody on the network, and by mistake as well."
    ),
    remedy="Configure accounts with users, then reload the configuration.",
    commands=(
        "nats server config reload SERVER_ID",
        "nats server check server --name SERVER --auth-required",
    ),
    needs=frozenset({Need.SERVERS}),
    find=find,
)
