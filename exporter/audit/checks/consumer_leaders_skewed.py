"""One server leads far more consumers than the others."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Need, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.facts.server_balance import overloaded
from exporter.audit.findings import of_server

TIMES = 1.5
LEAST = 20


def find(scene: AuditContext) -> Iterator[Finding]:
    for found in overloaded(scene, lambda row: row.consumer_leaders, times=TIMES, least=LEAST):
        evidence = f"leads {found.load:,.0f} consumers, the average is {found.average:,.1f}"
        yield of_server(found.server, evidence)


CHECK = Check(
    code="consumer-leaders-skewed",
    severity=Severity.INFO,
    subject=Subject.SERVER,
    title="One server leads most consumers",
    meaning="This server leads far more consumers than the others of its cluster.",
    condition=(
        "It leads 20 or more consumers and more than 1.5 times the average of its cluster, all "
        "servers of which are up."
    ),
    why=(
        "The leader of a consumer sends every message and keeps its position: this server is "
        "busy while others rest."
    ),
    remedy="Let the cluster spread the leaders of the stream's consumers.",
    commands=("nats consumer cluster balance STREAM",),
    needs=frozenset({Need.SERVERS}),
    find=find,
)
