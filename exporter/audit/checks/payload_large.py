"""The server takes very large messages."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Need, Severity, Subject, Unknown
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_server, untold_settings
from exporter.audit.units import MIB, size

LARGE_BYTES = 8 * MIB


def find(scene: AuditContext) -> Iterator[Finding | Unknown]:
    for row in scene.servers:
        if row.settings is None:
            yield from untold_settings(row)
            continue
        most = row.settings.max_payload
        if most is not None and most > LARGE_BYTES:
            yield of_server(row, f"max_payload {size(most)}")


CHECK = Check(
    code="payload-large",
    severity=Severity.INFO,
    subject=Subject.SERVER,
    title="Very large messages are allowed",
    meaning="This server accepts messages larger than 8 MiB.",
    condition="max_payload is above 8 MiB.",
    why=(
        "One such message fills buffers on its way and makes all others on the same connection "
        "wait; the servers themselves discourage it."
    ),
    remedy=(
        "Lower max_payload and keep large things in an object store, which cuts them into pieces."
    ),
    commands=("nats object put BUCKET FILE",),
    needs=frozenset({Need.SERVERS}),
    find=find,
)
