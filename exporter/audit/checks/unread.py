"""Messages come in and nobody reads them."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Need, Severity, Subject
from exporter.audit.context import AuditContext, stream_key
from exporter.audit.facts.stream_origins import taken_from
from exporter.audit.findings import of_stream
from exporter.audit.units import amount


def find(scene: AuditContext) -> Iterator[Finding]:
    origins = taken_from(scene)
    for row, config in scene.filtered("limits"):
        if row.consumers or config.kind != "stream" or config.republish:
            continue
        kept_for_later = any(subject.startswith("$") for subject in config.subjects)
        rate = scene.stored_per_second(row)
        if rate and not kept_for_later and stream_key(row) not in origins:
            yield of_stream(row, f"no consumer; messages are stored at {amount(rate)}/s")


CHECK = Check(
    code="unread",
    severity=Severity.INFO,
    subject=Subject.STREAM,
    title="A stream grows and nobody reads it",
    meaning="Messages are stored and no consumer reads them.",
    condition=(
        "Limits retention, no consumer, no other stream takes from it, and its sequence rose "
        "between the two looks; buckets, object stores and streams that keep advisories or "
        "republish are left out."
    ),
    why="Either the consumer is missing and nobody noticed, or the disk is used for nothing.",
    remedy="Make the consumer, or stop storing.",
    commands=("nats consumer add STREAM CONSUMER --pull --deliver all --defaults",),
    needs=frozenset({Need.SECOND_LOOK}),
    find=find,
)
