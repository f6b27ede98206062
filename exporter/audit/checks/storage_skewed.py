"""One server stores far more than the others."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Need, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.facts.server_balance import overloaded
from exporter.audit.findings import of_server
from exporter.audit.units import GIB, size

TIMES = 2.0
LEAST_BYTES = GIB


def find(scene: AuditContext) -> Iterator[Finding]:
    for found in overloaded(scene, lambda row: row.storage_used, times=TIMES, least=LEAST_BYTES):
        evidence = f"stores {size(found.load)}, the average is {size(found.average)}"
        yield of_server(found.server, evidence)


CHECK = Check(
    code="storage-skewed",
    severity=Severity.INFO,
    subject=Subject.SERVER,
    title="One server stores most of the data",
    meaning="This server stores far more than the others of its cluster.",
    condition=(
        "It uses more than 1 GiB and more than twice the average of its cluster, all servers of "
        "which are up."
    ),
    why="Its disk is full first, and then every stream with a copy there is in trouble.",
    remedy=(
        "Move large streams by placement tags: the server copies first and removes afterwards, "
        "and from then on every copy needs a server with that tag. peer-remove is only for "
        "streams with 3 or more replicas; with one replica it deletes all its messages."
    ),
    commands=(
        "nats stream report --storage",
        "nats stream edit STREAM --tag TAG",
        "nats stream cluster peer-remove STREAM SERVER",
    ),
    needs=frozenset({Need.SERVERS}),
    find=find,
)
