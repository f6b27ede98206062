"""Nothing was stored for a month."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.facts.idle_time import stream_idle_seconds
from exporter.audit.findings import stream_finding
from exporter.audit.severity import Severity
from exporter.audit.units import DAY, duration

LONG_SECONDS = 30 * DAY


def find(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.streams:
        if config.kind != "stream" or config.mirror or config.sealed:
            continue
        idle = stream_idle_seconds(row, context.now)
        if idle is not None and idle > LONG_SECONDS:
            ever = "nothing stored" if row.last_seq else "nothing ever stored"
            yield stream_finding(row, f"{ever} for {duration(idle)}")


CHECK = Check(
    code="inactive",
    severity=Severity.INFO,
    subject=Subject.STREAM,
    title="Nothing was stored for a month",
    meaning="The stream has stored no message for 30 days.",
    condition=(
        "The last message is older than 30 days, or the stream never had one and is older than 30 "
        "days. Buckets, object stores, mirrors and sealed streams are exempt."
    ),
    why="Its application may no longer exist, or its publishers may fail unnoticed.",
    remedy=(
        "Clarify with the owner. Delete the stream if it is not needed, after a backup if in "
        "doubt. Deleted streams cannot be restored."
    ),
    commands=(
        "nats stream info STREAM",
        "nats stream backup STREAM DIRECTORY",
    ),
    find=find,
)
