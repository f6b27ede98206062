"""One server leads far more streams than the others."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Need, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.facts.server_balance import overloaded
from exporter.audit.findings import of_server

TIMES = 1.5
LEAST = 10


def find(scene: AuditContext) -> Iterator[Finding]:
    for found in overloaded(scene, lambda row: row.stream_leaders, times=TIMES, least=LEAST):
        evidence = f"leads {found.load:,.0f} streams, the average is {found.average:,.1f}"
        yield of_server(found.server, evidence)


CHECK = Check(
    code="stream-leaders-skewed",
    severity=Severity.INFO,
    subject=Subject.SERVER,
    title="One server leads most streams",
    meaning="This server leads far more streams than the others of its cluster.",
    condition=(
        "It leads 10 or more streams and more than 1.5 times the average of its cluster, all "
        "servers of which are up."
    ),
    why=(
        "Leaders do the work: this server is busy while others rest, and when it fails more "
        "streams need an election."
    ),
    remedy=(
        "Let the cluster spread the leaders; each election takes a moment in which publishers wait."
    ),
    commands=("nats stream cluster balance",),
    needs=frozenset({Need.SERVERS}),
    find=find,
)
