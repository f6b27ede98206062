"""A filter that no message of the stream can pass."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.facts.subject_overlap import overlap
from exporter.audit.findings import of_consumer
from exporter.audit.units import listed
from exporter.model import StreamConfig


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.consumers:
        found = scene.stream_of(row)
        if found is None or not config.filters or not _takes_only_its_subjects(found[1]):
            continue
        subjects = found[1].subjects
        dead = [each for each in config.filters if not any(overlap(each, s) for s in subjects)]
        if dead:
            evidence = f"filter {listed(dead)}; the stream takes {listed(subjects)}"
            yield of_consumer(row, evidence)


def _takes_only_its_subjects(stream: StreamConfig) -> bool:
    other_ways = stream.mirror or stream.sourced or stream.transformed
    return bool(stream.subjects) and not other_ways


CHECK = Check(
    code="filter-unmatched",
    severity=Severity.WARN,
    subject=Subject.CONSUMER,
    title="A filter matches none of the stream's subjects",
    meaning="A filter of the consumer can match nothing that the stream takes.",
    condition=(
        "The stream is no mirror, has no sources and transforms no subjects, and a filter of "
        "the consumer overlaps with none of the stream's subjects."
    ),
    why=(
        "The consumer gets nothing new for this filter, without any error; mostly the stream's "
        "subjects were changed after it was made."
    ),
    remedy=(
        "Correct the filter or give the stream the subject back. --subjects replaces the whole "
        "list: name every subject that is to stay."
    ),
    commands=(
        "nats consumer edit STREAM CONSUMER --filter SUBJECT",
        "nats stream edit STREAM --subjects SUBJECT,OTHER_SUBJECT",
    ),
    find=find,
)
