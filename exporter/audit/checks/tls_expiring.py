"""The server's TLS certificate expires soon."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Need, Subject, Unknown
from exporter.audit.context import AuditContext
from exporter.audit.findings import server_finding, unknown_settings
from exporter.audit.severity import Severity
from exporter.audit.units import DAY, duration

SOON_SECONDS = 30 * DAY


def find(context: AuditContext) -> Iterator[Finding | Unknown]:
    for row in context.servers:
        if row.settings is None:
            yield from unknown_settings(row)
            continue
        ends = row.settings.tls_expires
        if ends is None:
            continue
        left = ends.timestamp() - context.now
        if left < SOON_SECONDS:
            when = f"in {duration(left)}" if left > 0 else "already"
            yield server_finding(row, f"the certificate expires {when}: {ends:%Y-%m-%d %H:%M} UTC")


CHECK = Check(
    code="tls-expiring",
    severity=Severity.WARN,
    subject=Subject.SERVER,
    title="The server's TLS certificate expires soon",
    meaning="The TLS certificate of this server expires within 30 days.",
    condition="The server reports the expiry of its certificate, and it is less than 30 days away.",
    why="After expiry, clients that verify the certificate cannot connect or reconnect.",
    remedy="Renew the certificate and reload the configuration. Open connections stay.",
    commands=(
        "nats account tls --expire-warn 720h",
        "nats server config reload SERVER_ID",
    ),
    needs=frozenset({Need.SERVERS}),
    since="2.12",
    find=find,
)
