"""Work on a subject that no consumer asks for."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.facts.subject_overlap import overlap
from exporter.audit.findings import of_stream
from exporter.audit.units import listed, some


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.filtered("workqueue"):
        consumers = scene.consumers_of(row)
        if config.transformed or not consumers or len(consumers) != row.consumers:
            continue
        filters = [each for _, its in consumers for each in its.filters]
        if all(its.filters for _, its in consumers):
            unread = [s for s in config.subjects if not any(overlap(s, each) for each in filters)]
            if unread:
                yield of_stream(
                    row, f"no filter of {some(len(consumers), 'consumer')} takes {listed(unread)}"
                )


CHECK = Check(
    code="workqueue-unread-subject",
    severity=Severity.WARN,
    subject=Subject.STREAM,
    title="A queue takes a subject that nobody works on",
    meaning="Messages on a subject of this queue pass the filter of no consumer.",
    condition=(
        "Workqueue retention without transformed subjects, all consumers are known and have "
        "filters, and a subject of the stream overlaps with none of them."
    ),
    why=(
        "What is published there stays in the stream for ever, since only an acknowledgement "
        "removes it."
    ),
    remedy=(
        "Make a consumer for the subject, or take it off the stream. --subjects replaces the "
        "whole list: name every subject that is to stay."
    ),
    commands=(
        "nats consumer add STREAM CONSUMER --pull --filter SUBJECT --deliver all --defaults",
        "nats stream edit STREAM --subjects SUBJECT,OTHER_SUBJECT",
    ),
    find=find,
)
