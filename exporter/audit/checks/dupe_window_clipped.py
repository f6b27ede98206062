"""max_age limits the duplicate window."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import stream_finding
from exporter.audit.severity import Severity
from exporter.audit.units import duration

USUAL_SECONDS = 120.0


def find(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.streams:
        max_age, window = config.max_age_seconds, config.duplicate_window_seconds
        if config.mirror or config.kind != "stream" or max_age is None or window is None:
            continue
        if window >= max_age and max_age < USUAL_SECONDS:
            yield stream_finding(row, f"window {duration(window)} = max_age {duration(max_age)}")


CHECK = Check(
    code="dupe-window-clipped",
    severity=Severity.INFO,
    subject=Subject.STREAM,
    title="max_age limits the duplicate window",
    meaning="The duplicate window is as short as max_age, because it cannot be longer.",
    condition=(
        "The stream is not a mirror, bucket or object store, and the duplicate window is equal to "
        "a max_age below 120 s."
    ),
    why="Later retries of publishers are stored a second time.",
    remedy="Raise max_age and then the window, or make consumers idempotent.",
    commands=("nats stream edit STREAM --max-age 10m --dupe-window 2m",),
    find=find,
)
