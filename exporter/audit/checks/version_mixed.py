"""The servers of a cluster differ in version."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.facts.server_versions import numbers
from exporter.audit.findings import of_server


def find(scene: AuditContext) -> Iterator[Finding]:
    for servers in scene.servers_by_cluster.values():
        seen = Counter(row.version for row in servers if row.up and row.version)
        if len(seen) < 2:
            continue
        usual = max(seen, key=lambda version: (seen[version], numbers(version)))
        for row in servers:
            if row.up and row.version and row.version != usual:
                yield of_server(row, f"version {row.version}, its cluster has {usual}")


CHECK = Check(
    code="version-mixed",
    severity=Severity.INFO,
    subject=Subject.SERVER,
    title="Servers of a cluster have different versions",
    meaning="This server has another version than most of its cluster.",
    condition=(
        "The servers of one cluster that are up have several versions; each that differs from "
        "the most frequent one, or else from the newest, is named."
    ),
    why=(
        "New features and fixes work only once all servers have them, and long mixtures are "
        "tested by nobody."
    ),
    remedy="Finish the update.",
    commands=("nats server list",),
    find=find,
)
