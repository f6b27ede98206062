"""Streams have reserved far more than they use."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Need, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_server
from exporter.audit.units import GIB, size

LEAST_BYTES = GIB
LITTLE = 0.2


def find(scene: AuditContext) -> Iterator[Finding]:
    for row in scene.servers:
        kinds = (
            ("storage", row.storage_reserved, row.storage_used),
            ("memory", row.memory_reserved, row.memory_used),
        )
        for kind, reserved, used in kinds:
            if reserved is None or used is None or reserved < LEAST_BYTES:
                continue
            if used < LITTLE * reserved:
                yield of_server(row, f"{size(used)} of {size(reserved)} reserved {kind} is used")


CHECK = Check(
    code="reservation-wasted",
    severity=Severity.INFO,
    subject=Subject.SERVER,
    title="Reserved storage is hardly used",
    meaning="The streams on this server have reserved much more than they use.",
    condition="1 GiB or more of storage or memory is reserved, and less than 20 % of that is used.",
    why="What is reserved counts as taken: other streams are refused although the disk is empty.",
    remedy=(
        "Lower max_bytes of the streams that never come near it. A limit below what a stream "
        "holds deletes what exceeds it."
    ),
    commands=(
        "nats stream report --storage",
        "nats stream edit STREAM --max-bytes BYTES",
    ),
    needs=frozenset({Need.SERVERS}),
    find=find,
)
