"""One server leads most streams."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Need, Subject
from exporter.audit.context import AuditContext
from exporter.audit.facts.server_balance import overloaded
from exporter.audit.findings import server_finding
from exporter.audit.severity import Severity

TIMES = 1.5
LEAST = 10


def find(context: AuditContext) -> Iterator[Finding]:
    for found in overloaded(context, lambda row: row.stream_leaders, times=TIMES, least=LEAST):
        evidence = f"leads {found.load:,.0f} streams, average {found.average:,.1f}"
        yield server_finding(found.server, evidence)


CHECK = Check(
    code="stream-leaders-skewed",
    severity=Severity.INFO,
    subject=Subject.SERVER,
    title="One server leads most streams",
    meaning="This server leads far more streams than the others of its cluster.",
    condition=(
        "All servers of the cluster are up, and this one leads 10 or more streams and more than "
        "1.5 times the average."
    ),
    why=(
        "Leaders do most of the work: this server is busy while others are idle. If it fails, "
        "more streams need an election."
    ),
    remedy=(
        "Balance the leaders over the cluster. Publishers wait for a short time during each "
        "election."
    ),
    commands=("nats stream cluster balance",),
    needs=frozenset({Need.SERVERS}),
    find=find,
)
