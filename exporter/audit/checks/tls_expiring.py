"""The certificate of the server ends soon."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Need, Severity, Subject, Unknown
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_server, untold_settings
from exporter.audit.units import DAY, span

SOON_SECONDS = 30 * DAY


def find(scene: AuditContext) -> Iterator[Finding | Unknown]:
    for row in scene.servers:
        if row.settings is None:
            yield from untold_settings(row)
            continue
        ends = row.settings.tls_expires
        if ends is None:
            continue
        left = ends.timestamp() - scene.now
        if left < SOON_SECONDS:
            when = f"in {span(left)}" if left > 0 else "already"
            yield of_server(row, f"the certificate expires {when}: {ends:%Y-%m-%d %H:%M} UTC")


CHECK = Check(
    code="tls-expiring",
    severity=Severity.WARN,
    subject=Subject.SERVER,
    title="The server's certificate expires soon",
    meaning="The TLS certificate of this server expires within a month.",
    condition="The server names the end of its certificate, and it is less than 30 days away.",
    why=(
        "From that moment clients that verify the certificate refuse to connect, and reconnects "
        "fail."
    ),
    remedy="Renew the certificate and reload the configuration; connections that are there stay.",
    commands=(
        "nats account tls --expire-warn 720h",
        "nats server config reload SERVER_ID",
    ),
    needs=frozenset({Need.SERVERS}),
    since="2.12",
    find=find,
)
