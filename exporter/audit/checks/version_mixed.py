"""Servers of a cluster have different versions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.facts.server_versions import version_numbers
from exporter.audit.findings import server_finding
from exporter.audit.severity import Severity


def find(context: AuditContext) -> Iterator[Finding]:
    for servers in context.servers_by_cluster.values():
        seen = Counter(row.version for row in servers if row.up and row.version)
        if len(seen) < 2:
            continue
        usual = max(seen, key=lambda version: (seen[version], version_numbers(version)))
        for row in servers:
            if row.up and row.version and row.version != usual:
                yield server_finding(row, f"version {row.version}, most of its cluster {usual}")


CHECK = Check(
    code="version-mixed",
    severity=Severity.INFO,
    subject=Subject.SERVER,
    title="Servers of a cluster have different versions",
    meaning="The version of this server differs from most servers of its cluster.",
    condition=(
        "The servers of a cluster that are up have several versions. Each server that differs "
        "from the most frequent version is reported. On a tie, the newest version counts."
    ),
    why=(
        "New features and fixes work only when all servers have them. Mixed versions are meant "
        "for the time of an update."
    ),
    remedy="Finish the update.",
    commands=("nats server list",),
    find=find,
)
