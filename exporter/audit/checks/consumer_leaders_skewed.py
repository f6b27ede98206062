"""One server leads most consumers."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Need, Subject
from exporter.audit.context import AuditContext
from exporter.audit.facts.server_balance import overloaded
from exporter.audit.findings import server_finding
from exporter.audit.severity import Severity

TIMES = 1.5
LEAST = 20


def find(context: AuditContext) -> Iterator[Finding]:
    for found in overloaded(context, lambda row: row.consumer_leaders, times=TIMES, least=LEAST):
        evidence = f"leads {found.load:,.0f} consumers, average {found.average:,.1f}"
        yield server_finding(found.server, evidence)


CHECK = Check(
    code="consumer-leaders-skewed",
    severity=Severity.INFO,
    subject=Subject.SERVER,
    title="One server leads most consumers",
    meaning="This server leads far more consumers than the others of its cluster.",
    condition=(
        "All servers of the cluster are up, and this one leads 20 or more consumers and more than "
        "1.5 times the average."
    ),
    why=(
        "The leader of a consumer delivers all messages and stores the position. This server is "
        "busy while others are idle."
    ),
    remedy="Balance the consumer leaders of the stream over the cluster.",
    commands=("nats consumer cluster balance STREAM",),
    needs=frozenset({Need.SERVERS}),
    find=find,
)
