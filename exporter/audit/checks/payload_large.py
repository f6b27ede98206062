"""Very large messages are allowed."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Need, Subject, Unknown
from exporter.audit.context import AuditContext
from exporter.audit.findings import server_finding, unknown_settings
from exporter.audit.severity import Severity
from exporter.audit.units import MIB, size

LARGE_BYTES = 8 * MIB


def find(context: AuditContext) -> Iterator[Finding | Unknown]:
    for row in context.servers:
        if row.settings is None:
            yield from unknown_settings(row)
            continue
        most = row.settings.max_payload
        if most is not None and most > LARGE_BYTES:
            yield server_finding(row, f"max_payload {size(most)}")


CHECK = Check(
    code="payload-large",
    severity=Severity.INFO,
    subject=Subject.SERVER,
    title="Very large messages are allowed",
    meaning="This server accepts messages larger than 8 MiB.",
    condition="max_payload is above 8 MiB.",
    why=(
        "One such message fills buffers and delays all others on the same connection. nats-server "
        "logs a warning about such a limit."
    ),
    remedy=(
        "Lower max_payload and store large data in an object store, which splits it into chunks."
    ),
    commands=("nats object put BUCKET FILE",),
    needs=frozenset({Need.SERVERS}),
    find=find,
)
