"""A version with a fault that others have met."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.facts.server_versions import numbers
from exporter.audit.findings import of_server

FAULTS: dict[tuple[int, ...], str] = {
    (2, 11, 8): "wrong last sequence under load, nats-server issue 7281"
}
SCANS_BEFORE = (2, 9, 15)


def find(scene: AuditContext) -> Iterator[Finding]:
    for row in scene.servers:
        version = numbers(row.version)
        if not row.up or not version:
            continue
        fault = FAULTS.get(version, "")
        if version < SCANS_BEFORE:
            fault = "requests about filtered consumers scan the stream"
        if fault:
            yield of_server(row, f"version {row.version}: {fault}")


CHECK = Check(
    code="version-known-bad",
    severity=Severity.INFO,
    subject=Subject.SERVER,
    title="A server version with a known fault",
    meaning="This version has a fault that is known and fixed in a later one.",
    condition="The version is 2.11.8, or below 2.9.15.",
    why=(
        "2.11.8 may answer publishes with an expected sequence wrongly under load (nats-server "
        "issue 7281); below 2.9.15 every request about a filtered consumer scans the stream."
    ),
    remedy="Update to the newest patch of the same line.",
    commands=("nats server list",),
    find=find,
)
