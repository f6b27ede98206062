"""A filter matches none of the stream's subjects."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.facts.subject_overlap import overlap
from exporter.audit.findings import consumer_finding
from exporter.audit.severity import Severity
from exporter.audit.units import listed
from exporter.model import StreamConfig


def find(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.consumers:
        found = context.stream_of(row)
        if found is None or not config.filters or not _takes_only_its_subjects(found[1]):
            continue
        subjects = found[1].subjects
        unmatched = [each for each in config.filters if not any(overlap(each, s) for s in subjects)]
        if unmatched:
            evidence = f"filter {listed(unmatched)}; stream subjects {listed(subjects)}"
            yield consumer_finding(row, evidence)


def _takes_only_its_subjects(stream: StreamConfig) -> bool:
    other_ways = stream.mirror or stream.sourced or stream.transformed
    return bool(stream.subjects) and not other_ways


CHECK = Check(
    code="filter-unmatched",
    severity=Severity.WARN,
    subject=Subject.CONSUMER,
    title="A filter matches none of the stream's subjects",
    meaning="A filter of the consumer cannot match any subject of the stream.",
    condition=(
        "The stream is not a mirror, has no sources and no subject transform. A filter of the "
        "consumer does not overlap with any subject of the stream."
    ),
    why=(
        "The consumer gets no new messages for this filter, and no error. The stream's subjects "
        "were probably changed later."
    ),
    remedy=(
        "Correct the filter, or add the subject to the stream again. --subjects replaces the "
        "whole list, so name every subject to keep."
    ),
    commands=(
        "nats consumer edit STREAM CONSUMER --filter SUBJECT",
        "nats stream edit STREAM --subjects SUBJECT,OTHER_SUBJECT",
    ),
    find=find,
)
