"""A stream with sources has no deduplication."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.facts import dedupe
from exporter.audit.findings import stream_finding
from exporter.audit.severity import Severity
from exporter.audit.units import plural


def find(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.streams:
        if config.sourced and not config.mirror and config.duplicate_window_seconds is None:
            evidence = f"{plural(config.sources, 'source')}, duplicate window 0"
            yield stream_finding(row, evidence, dedupe.severity(context, row, config))


CHECK = Check(
    code="dupe-window-off",
    severity=Severity.INFO,
    subject=Subject.STREAM,
    title="A stream with sources has no deduplication",
    meaning="The stream sources messages from other streams and has no duplicate window.",
    condition=(
        "The stream has sources and its duplicate window is 0. Warn where message ids or "
        "duplicates were seen, or the owner's metadata says that publishers retry."
    ),
    why=(
        "Messages that are published directly are not deduplicated. Servers since 2.14 disable "
        "the window for streams with sources unless it is set."
    ),
    remedy=(
        "Set a window if clients publish here with message ids. Otherwise deduplicate in the "
        "origin streams."
    ),
    commands=("nats stream edit STREAM --dupe-window 2m",),
    find=find,
)
