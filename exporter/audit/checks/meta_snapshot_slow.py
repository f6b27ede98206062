"""Putting the state of the meta group together takes long."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Need, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.units import span

SLOW_SECONDS = 5.0


def find(scene: AuditContext) -> Iterator[Finding]:
    meta = scene.snapshot.meta
    taken = meta.snapshot_seconds if meta is not None else None
    if taken is not None and taken >= SLOW_SECONDS:
        yield Finding(evidence=f"the last snapshot took {span(taken)}")


CHECK = Check(
    code="meta-snapshot-slow",
    severity=Severity.WARN,
    subject=Subject.META,
    title="Snapshots of the meta group are slow",
    meaning="The meta leader needs 5 s or longer to put its state together for a snapshot.",
    condition=(
        "The last snapshot of the meta group took 5 s or longer; the server does not count the "
        "time of its disk."
    ),
    why=(
        "The more streams and consumers there are the longer it takes, and their changes may "
        "wait for it."
    ),
    remedy=(
        "See whether the server gets all the processor time that it needs; else have fewer "
        "streams and consumers, or less metadata in them."
    ),
    commands=("nats server report jetstream",),
    needs=frozenset({Need.SERVERS}),
    since="2.11",
    find=find,
)
