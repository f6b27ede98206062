"""Streams have reserved nearly all that the server has."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Need, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_server
from exporter.audit.units import size

NEAR = 0.9


def find(scene: AuditContext) -> Iterator[Finding]:
    for row in scene.servers:
        kinds = (
            ("storage", row.storage_reserved, row.storage_max),
            ("memory", row.memory_reserved, row.memory_max),
        )
        for kind, reserved, most in kinds:
            if reserved is not None and most and reserved >= NEAR * most:
                yield of_server(row, f"{size(reserved)} of {size(most)} {kind} is reserved")


CHECK = Check(
    code="reservation-near-max",
    severity=Severity.WARN,
    subject=Subject.SERVER,
    title="Nearly all storage of the server is reserved",
    meaning="The streams on this server may together grow to nearly what it has.",
    condition="What is reserved reaches 90 % of the server's storage or memory limit.",
    why=(
        "The next stream with a max_bytes cannot be placed here, and a cluster of three has no "
        "other place for a third copy."
    ),
    remedy=(
        "Give the server more, or lower max_bytes of the streams that never come near it. A limit "
        "below what a stream holds deletes what exceeds it."
    ),
    commands=(
        "nats server report jetstream",
        "nats stream report --storage",
        "nats stream edit STREAM --max-bytes BYTES",
    ),
    needs=frozenset({Need.SERVERS}),
    find=find,
)
