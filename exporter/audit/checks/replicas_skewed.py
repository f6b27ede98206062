"""One server holds far more copies than the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.facts.server_balance import overloaded
from exporter.audit.findings import of_server

TIMES = 1.5
LEAST = 10


def find(scene: AuditContext) -> Iterator[Finding]:
    held = Counter(server for row in scene.snapshot.streams for server in row.hosts)
    for found in overloaded(scene, lambda row: held[row.name], times=TIMES, least=LEAST):
        evidence = f"holds {found.load:,.0f} copies, the average is {found.average:,.1f}"
        yield of_server(found.server, evidence)


CHECK = Check(
    code="replicas-skewed",
    severity=Severity.INFO,
    subject=Subject.SERVER,
    title="One server holds most copies",
    meaning="This server holds copies of far more streams than the others of its cluster.",
    condition=(
        "It holds 10 or more copies and more than 1.5 times the average of its cluster, all "
        "servers of which are up."
    ),
    why="It bears more disk and network than the others, and its loss touches more streams.",
    remedy=(
        "Move streams by placement tags: the server copies first and removes afterwards, and from "
        "then on every copy needs a server with that tag. peer-remove is only for streams with 3 "
        "or more replicas; with one replica it deletes all its messages."
    ),
    commands=(
        "nats stream info STREAM",
        "nats stream edit STREAM --tag TAG",
        "nats stream cluster peer-remove STREAM SERVER",
    ),
    find=find,
)
