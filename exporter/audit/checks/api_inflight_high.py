"""Requests to JetStream's own interface pile up."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Need, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_server

MANY = 1_000


def find(scene: AuditContext) -> Iterator[Finding]:
    for row in scene.servers:
        if row.api_inflight is not None and row.api_inflight > MANY:
            yield of_server(row, f"{row.api_inflight:,} API requests in flight")


CHECK = Check(
    code="api-inflight-high",
    severity=Severity.WARN,
    subject=Subject.SERVER,
    title="API requests pile up",
    meaning="More than a thousand requests to the JetStream API wait at this server.",
    condition="More than 1,000 API requests are in flight.",
    why=(
        "At 10,000 the server drops all that wait, of everybody; until then every application "
        "that asks waits as well."
    ),
    remedy=(
        "See who asks so often: consumers that are made for each message, or infos that are "
        "asked in a loop."
    ),
    commands=("nats server watch api requests",),
    needs=frozenset({Need.SERVERS}),
    find=find,
)
