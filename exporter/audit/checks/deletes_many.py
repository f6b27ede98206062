"""The stream has very many interior deletes."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import stream_finding
from exporter.audit.severity import Severity

MANY = 1_000_000
ENOUGH = 100_000
HALF = 0.5


def find(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.streams:
        spread = row.last_seq - row.first_seq + 1
        # Interior deletes are normal if newer messages replace older ones.
        replaces = config.kind != "stream" or config.max_messages_per_subject is not None
        sparse = not replaces and spread >= ENOUGH and row.deleted > HALF * spread
        if row.deleted > MANY or sparse:
            yield stream_finding(row, f"{row.deleted:,} of {spread:,} sequences are deleted")


CHECK = Check(
    code="deletes-many",
    severity=Severity.WARN,
    subject=Subject.STREAM,
    title="The stream has very many interior deletes",
    meaning="Very many messages between the first and the last sequence are deleted.",
    condition=(
        "More than 1,000,000 interior deletes, or more than half of 100,000 or more sequences. "
        "For buckets, object stores and streams with a limit per subject only the first condition "
        "applies."
    ),
    why=(
        "The server keeps the deleted sequences in memory, sends them with snapshots and skips "
        "them when it reads. Recovery and new consumers become slow."
    ),
    remedy=(
        "Let limits remove the oldest messages instead of deleting single ones. Or purge up to a "
        "sequence below which few messages remain. A purge cannot be undone."
    ),
    commands=(
        "nats stream gaps STREAM",
        "nats stream purge STREAM --seq SEQUENCE",
    ),
    find=find,
)
