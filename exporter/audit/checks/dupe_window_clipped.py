"""The duplicate window cannot be longer than max_age."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_stream
from exporter.audit.units import span

USUAL_SECONDS = 120.0


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.streams:
        kept, window = config.max_age_seconds, config.duplicate_window_seconds
        if config.mirror or config.kind != "stream" or kept is None or window is None:
            continue
        if window >= kept and kept < USUAL_SECONDS:
            yield of_stream(row, f"window {span(window)} = max_age {span(kept)}")


CHECK = Check(
    code="dupe-window-clipped",
    severity=Severity.INFO,
    subject=Subject.STREAM,
    title="max_age cuts the duplicate window short",
    meaning="The duplicate window is as short as max_age, because it may not be longer.",
    condition=(
        "The stream is no mirror, bucket or object store, and the duplicate window is equal to "
        "a max_age below 120 s."
    ),
    why="Retries of publishers that come later than that are stored a second time.",
    remedy="Raise max_age and then the window, or let consumers recognise duplicates.",
    commands=("nats stream edit STREAM --max-age 10m --dupe-window 2m",),
    find=find,
)
