"""Nearly all storage of the server is reserved."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Need, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import server_finding
from exporter.audit.severity import Severity
from exporter.audit.units import size

NEAR = 0.9


def find(context: AuditContext) -> Iterator[Finding]:
    for row in context.servers:
        kinds = (
            ("storage", row.storage_reserved, row.storage_max),
            ("memory", row.memory_reserved, row.memory_max),
        )
        for kind, reserved, most in kinds:
            if reserved is not None and most and reserved >= NEAR * most:
                yield server_finding(row, f"{size(reserved)} of {size(most)} {kind} reserved")


CHECK = Check(
    code="reservation-near-max",
    severity=Severity.WARN,
    subject=Subject.SERVER,
    title="Nearly all storage of the server is reserved",
    meaning="The streams on this server reserve nearly all its storage.",
    condition="The reserved storage or memory is at least 90 % of the server's limit.",
    why=(
        "The next stream with a max_bytes cannot be placed here. A cluster of three has no other "
        "server for a third replica."
    ),
    remedy=(
        "Raise the limit of the server, or lower max_bytes of streams that never reach it. A "
        "limit below the size of a stream deletes what exceeds it."
    ),
    commands=(
        "nats server report jetstream",
        "nats stream report --storage",
        "nats stream edit STREAM --max-bytes BYTES",
    ),
    needs=frozenset({Need.SERVERS}),
    find=find,
)
