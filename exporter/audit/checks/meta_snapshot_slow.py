"""Snapshots of the meta group are slow."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Need, Subject
from exporter.audit.context import AuditContext
from exporter.audit.severity import Severity
from exporter.audit.units import duration

SLOW_SECONDS = 5.0


def find(context: AuditContext) -> Iterator[Finding]:
    meta = context.snapshot.meta
    taken = meta.snapshot_seconds if meta is not None else None
    if taken is not None and taken >= SLOW_SECONDS:
        yield Finding(evidence=f"the last snapshot took {duration(taken)}")


CHECK = Check(
    code="meta-snapshot-slow",
    severity=Severity.WARN,
    subject=Subject.META,
    title="Snapshots of the meta group are slow",
    meaning="The meta leader needs 5 s or longer to encode a snapshot of its state.",
    condition=(
        "The last snapshot of the meta group took 5 s or longer. The server does not count the "
        "time of disk writes."
    ),
    why=(
        "The time grows with the number of streams and consumers, and their changes may wait for "
        "it."
    ),
    remedy=(
        "Check whether the server gets enough CPU time. Otherwise use fewer streams and "
        "consumers, or less metadata."
    ),
    commands=("nats server report jetstream",),
    needs=frozenset({Need.SERVERS}),
    since="2.11",
    find=find,
)
