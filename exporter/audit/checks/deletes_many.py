"""More gaps than messages."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_stream

MANY = 1_000_000
ENOUGH = 100_000
HALF = 0.5


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.streams:
        spread = row.last_seq - row.first_seq + 1
        # Where a newer message replaces an older one, gaps are the normal case.
        replaces = config.kind != "stream" or config.max_messages_per_subject is not None
        sparse = not replaces and spread >= ENOUGH and row.deleted > HALF * spread
        if row.deleted > MANY or sparse:
            yield of_stream(row, f"{row.deleted:,} of {spread:,} sequences are deleted")


CHECK = Check(
    code="deletes-many",
    severity=Severity.WARN,
    subject=Subject.STREAM,
    title="Very many deleted messages inside the stream",
    meaning="Between the first and the last message of the stream very many are deleted.",
    condition=(
        "More than 1,000,000 interior deletes, or of 100,000 sequences and more over half are "
        "deleted; in a bucket, an object store and a stream with a limit per subject only the "
        "first counts."
    ),
    why=(
        "The server keeps the gaps in memory, sends them along with snapshots and steps over "
        "them when it reads: recovery and new consumers get slow."
    ),
    remedy=(
        "Let limits remove the oldest messages instead of single ones, or purge up to the "
        "sequence before which hardly anything is left. Purging cannot be undone."
    ),
    commands=(
        "nats stream gaps STREAM",
        "nats stream purge STREAM --seq SEQUENCE",
    ),
    find=find,
)
