"""Reserved storage is hardly used."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Need, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import server_finding
from exporter.audit.severity import Severity
from exporter.audit.units import GIB, size

LEAST_BYTES = GIB
LITTLE = 0.2


def find(context: AuditContext) -> Iterator[Finding]:
    for row in context.servers:
        kinds = (
            ("storage", row.storage_reserved, row.storage_used),
            ("memory", row.memory_reserved, row.memory_used),
        )
        for kind, reserved, used in kinds:
            if reserved is None or used is None or reserved < LEAST_BYTES:
                continue
            if used < LITTLE * reserved:
                yield server_finding(row, f"{size(used)} of {size(reserved)} reserved {kind} used")


CHECK = Check(
    code="reservation-wasted",
    severity=Severity.INFO,
    subject=Subject.SERVER,
    title="Reserved storage is hardly used",
    meaning="The streams on this server reserve much more than they use.",
    condition="1 GiB or more of storage or memory is reserved, and less than 20 % of it is used.",
    why=(
        "Reserved storage counts as used: the server rejects other streams although the disk is "
        "empty."
    ),
    remedy=(
        "Lower max_bytes of streams that never reach it. A limit below the size of a stream "
        "deletes what exceeds it."
    ),
    commands=(
        "nats stream report --storage",
        "nats stream edit STREAM --max-bytes BYTES",
    ),
    needs=frozenset({Need.SERVERS}),
    find=find,
)
