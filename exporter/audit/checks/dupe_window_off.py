"""A stream with sources does not recognise duplicates by default."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_stream
from exporter.audit.units import some


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.streams:
        if config.sourced and not config.mirror and config.duplicate_window_seconds is None:
            yield of_stream(row, f"{some(config.sources, 'source')}, duplicate window 0")


CHECK = Check(
    code="dupe-window-off",
    severity=Severity.INFO,
    subject=Subject.STREAM,
    title="A stream with sources does not recognise duplicates",
    meaning="The stream takes messages from other streams and has no duplicate window.",
    condition="The stream has sources and its duplicate window is 0.",
    why=(
        "Publishers that also write here directly get no protection; servers since 2.14 switch "
        "the window off for streams with sources unless it is set."
    ),
    remedy=(
        "Set a window if anybody publishes here with message ids; else recognise duplicates in "
        "the streams it takes from."
    ),
    commands=("nats stream edit STREAM --dupe-window 2m",),
    find=find,
)
