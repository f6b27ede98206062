"""A stream grows without a consumer."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Need, Subject
from exporter.audit.context import AuditContext, stream_key
from exporter.audit.facts.stream_origins import origin_keys
from exporter.audit.findings import stream_finding
from exporter.audit.severity import Severity
from exporter.audit.units import amount


def find(context: AuditContext) -> Iterator[Finding]:
    origins = origin_keys(context)
    for row, config in context.with_retention("limits"):
        if row.consumers or config.kind != "stream" or config.republish:
            continue
        stores_advisories = any(subject.startswith("$") for subject in config.subjects)
        rate = context.stored_per_second(row)
        if rate and not stores_advisories and stream_key(row) not in origins:
            yield stream_finding(row, f"no consumer, publish rate {amount(rate)}/s")


CHECK = Check(
    code="unread",
    severity=Severity.INFO,
    subject=Subject.STREAM,
    title="A stream grows without a consumer",
    meaning="Messages are stored and no consumer reads them.",
    condition=(
        "Limits retention, no consumer, no other stream sources from it, and its last sequence "
        "rose between the two polls. Buckets, object stores and streams that store advisories or "
        "republish are exempt."
    ),
    why="A consumer is missing, or the stream wastes disk space.",
    remedy="Create the consumer, or stop storing the messages.",
    commands=("nats consumer add STREAM CONSUMER --pull --deliver all --defaults",),
    needs=frozenset({Need.SECOND_POLL}),
    find=find,
)
