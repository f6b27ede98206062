"""One server holds most stream replicas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.facts.server_balance import overloaded
from exporter.audit.findings import server_finding
from exporter.audit.severity import Severity

TIMES = 1.5
LEAST = 10


def find(context: AuditContext) -> Iterator[Finding]:
    held = Counter(server for row in context.snapshot.streams for server in row.hosts)
    for found in overloaded(context, lambda row: held[row.name], times=TIMES, least=LEAST):
        evidence = f"holds {found.load:,.0f} replicas, average {found.average:,.1f}"
        yield server_finding(found.server, evidence)


CHECK = Check(
    code="replicas-skewed",
    severity=Severity.INFO,
    subject=Subject.SERVER,
    title="One server holds most stream replicas",
    meaning="This server holds far more stream replicas than the others of its cluster.",
    condition=(
        "All servers of the cluster are up, and this one holds 10 or more replicas and more than "
        "1.5 times the average."
    ),
    why="It needs more disk and network than the others, and its loss affects more streams.",
    remedy=(
        "Move streams with placement tags: the server copies the data first and removes it "
        "afterwards. From then on, every replica needs a server with this tag. Use peer-remove "
        "only for streams with 3 or more replicas: with one replica it deletes all its messages."
    ),
    commands=(
        "nats stream info STREAM",
        "nats stream edit STREAM --tag TAG",
        "nats stream cluster peer-remove STREAM SERVER",
    ),
    find=find,
)
