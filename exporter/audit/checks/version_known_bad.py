"""The server version has a known bug."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.facts.server_versions import version_numbers
from exporter.audit.findings import server_finding
from exporter.audit.severity import Severity

BUGS: dict[tuple[int, ...], str] = {
    (2, 11, 8): "wrong last sequence under load, nats-server issue 7281"
}
SCANS_BEFORE = (2, 9, 15)


def find(context: AuditContext) -> Iterator[Finding]:
    for row in context.servers:
        version = version_numbers(row.version)
        if not row.up or not version:
            continue
        if bug := BUGS.get(version):
            yield server_finding(row, f"version {row.version}: {bug}")
        elif version < SCANS_BEFORE:
            slow = "requests about filtered consumers scan the stream"
            yield server_finding(row, f"version {row.version}: {slow}", Severity.INFO)


CHECK = Check(
    code="version-known-bad",
    severity=Severity.WARN,
    subject=Subject.SERVER,
    title="The server version has a known bug",
    meaning="This version has a bug that is fixed in a later version.",
    condition="The version is 2.11.8, or below 2.9.15 (info).",
    why=(
        "2.11.8 may return wrong results for publishes with an expected sequence under load "
        "(nats-server issue 7281). Below 2.9.15, every request about a filtered consumer scans "
        "the stream."
    ),
    remedy="Update to the newest patch release of the same minor version.",
    commands=("nats server list",),
    find=find,
)
