"""A workqueue has a subject without a consumer."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.facts.subject_overlap import overlap
from exporter.audit.findings import stream_finding
from exporter.audit.severity import Severity
from exporter.audit.units import listed, plural


def find(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.with_retention("workqueue"):
        consumers = context.consumers_of(row)
        if config.transformed or not consumers or len(consumers) != row.consumers:
            continue
        filters = [each for _, settings in consumers for each in settings.filters]
        if all(settings.filters for _, settings in consumers):
            unread = [s for s in config.subjects if not any(overlap(s, each) for each in filters)]
            if unread:
                yield stream_finding(
                    row,
                    f"no filter of {plural(len(consumers), 'consumer')} matches {listed(unread)}",
                )


CHECK = Check(
    code="workqueue-unread-subject",
    severity=Severity.WARN,
    subject=Subject.STREAM,
    title="A workqueue has a subject without a consumer",
    meaning="No consumer filter matches a subject of this workqueue.",
    condition=(
        "Workqueue retention without a subject transform, all consumers are known and have "
        "filters, and a subject of the stream overlaps with none of them."
    ),
    why="Messages on this subject stay in the stream, because only an ack removes them.",
    remedy=(
        "Create a consumer for the subject, or remove it from the stream. --subjects replaces the "
        "whole list, so name every subject to keep."
    ),
    commands=(
        "nats consumer add STREAM CONSUMER --pull --filter SUBJECT --deliver all --defaults",
        "nats stream edit STREAM --subjects SUBJECT,OTHER_SUBJECT",
    ),
    find=find,
)
