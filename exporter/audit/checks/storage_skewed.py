"""One server stores most of the data."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Need, Subject
from exporter.audit.context import AuditContext
from exporter.audit.facts.server_balance import overloaded
from exporter.audit.findings import server_finding
from exporter.audit.severity import Severity
from exporter.audit.units import GIB, size

TIMES = 2.0
LEAST_BYTES = GIB


def find(context: AuditContext) -> Iterator[Finding]:
    for found in overloaded(context, lambda row: row.storage_used, times=TIMES, least=LEAST_BYTES):
        evidence = f"stores {size(found.load)}, average {size(found.average)}"
        yield server_finding(found.server, evidence)


CHECK = Check(
    code="storage-skewed",
    severity=Severity.INFO,
    subject=Subject.SERVER,
    title="One server stores most of the data",
    meaning="This server stores far more than the others of its cluster.",
    condition=(
        "All servers of the cluster are up, and this one uses more than 1 GiB and more than twice "
        "the average."
    ),
    why="Its disk fills up first. Then all streams with a replica there are affected.",
    remedy=(
        "Move large streams with placement tags: the server copies the data first and removes it "
        "afterwards. From then on, every replica needs a server with this tag. Use peer-remove "
        "only for streams with 3 or more replicas: with one replica it deletes all its messages."
    ),
    commands=(
        "nats stream report --storage",
        "nats stream edit STREAM --tag TAG",
        "nats stream cluster peer-remove STREAM SERVER",
    ),
    needs=frozenset({Need.SERVERS}),
    find=find,
)
