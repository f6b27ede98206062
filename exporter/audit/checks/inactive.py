"""Nothing was stored for a month."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.facts.idle_time import stored_nothing_for
from exporter.audit.findings import of_stream
from exporter.audit.units import DAY, span

LONG_SECONDS = 30 * DAY


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.streams:
        if config.kind != "stream" or config.mirror or config.sealed:
            continue
        idle = stored_nothing_for(row, scene.now)
        if idle is not None and idle > LONG_SECONDS:
            ever = "nothing stored" if row.last_seq else "nothing ever stored"
            yield of_stream(row, f"{ever} for {span(idle)}")


CHECK = Check(
    code="inactive",
    severity=Severity.INFO,
    subject=Subject.STREAM,
    title="Nothing was stored for a month",
    meaning="Nothing has been stored in this stream for 30 days.",
    condition=(
        "The last message is older than 30 days, or the stream never had one and is older than "
        "that; buckets, object stores, mirrors and sealed streams are left out."
    ),
    why=(
        "It may belong to something that is gone, or its publishers may be broken without "
        "anybody noticing."
    ),
    remedy=(
        "Ask its owner; remove it when nobody needs it, with a backup if in doubt. Removing "
        "cannot be undone."
    ),
    commands=(
        "nats stream info STREAM",
        "nats stream backup STREAM DIRECTORY",
    ),
    find=find,
)
