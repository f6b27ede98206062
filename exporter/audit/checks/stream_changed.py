"""The configuration was changed."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Need, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import stream_finding
from exporter.audit.severity import Severity
from exporter.audit.units import listed
from exporter.model import StreamConfig

WATCHED = (
    "replicas",
    "retention",
    "discard",
    "subjects",
    "max_messages",
    "max_bytes",
    "max_age_seconds",
    "max_messages_per_subject",
    "duplicate_window_seconds",
    "compression",
)


def find(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.streams:
        before = context.earlier_stream(row)
        if before is None or before.config is None or before.config is config:
            continue
        changed = [_change(name, before.config, config) for name in WATCHED]
        if any(changed):
            yield stream_finding(row, listed([each for each in changed if each], 4))


def _change(name: str, before: StreamConfig, now: StreamConfig) -> str:
    old, new = getattr(before, name), getattr(now, name)
    return "" if old == new else f"{name} {_formatted(old)} -> {_formatted(new)}"


def _formatted(value: object) -> str:
    if value is None:
        return "none"
    return listed(value) if isinstance(value, tuple) else f"{value}"


CHECK = Check(
    code="stream-changed",
    severity=Severity.INFO,
    subject=Subject.STREAM,
    title="The configuration was changed",
    meaning="The configuration of the stream changed between the two polls.",
    condition=(
        "Replicas, retention, discard, subjects, a limit, the duplicate window or the compression "
        "differ between the two polls."
    ),
    why="The change may be the cause of later problems.",
    remedy="Nothing, if the change was intended.",
    commands=("nats stream info STREAM",),
    needs=frozenset({Need.SECOND_POLL}),
    find=find,
)
