"""JetStream API requests queue up."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Need, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import server_finding
from exporter.audit.severity import Severity

MANY = 1_000


def find(context: AuditContext) -> Iterator[Finding]:
    for row in context.servers:
        if row.api_inflight is not None and row.api_inflight > MANY:
            yield server_finding(row, f"{row.api_inflight:,} API requests in flight")


CHECK = Check(
    code="api-inflight-high",
    severity=Severity.WARN,
    subject=Subject.SERVER,
    title="JetStream API requests queue up",
    meaning="More than 1,000 JetStream API requests wait on this server.",
    condition="More than 1,000 API requests are in flight.",
    why=(
        "At 10,000 requests the server drops all queued requests. Until then, every client waits "
        "longer for its response."
    ),
    remedy=(
        "Find the client that sends so many requests. Common causes are one consumer per message, "
        "and stream or consumer info in a loop."
    ),
    commands=("nats server watch api requests",),
    needs=frozenset({Need.SERVERS}),
    find=find,
)
