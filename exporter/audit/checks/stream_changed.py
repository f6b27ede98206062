"""Somebody changed the stream just now."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Need, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_stream
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


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.streams:
        before = scene.before(row)
        if before is None or before.config is None or before.config is config:
            continue
        changed = [_change(name, before.config, config) for name in WATCHED]
        if any(changed):
            yield of_stream(row, listed([each for each in changed if each], 4))


def _change(name: str, before: StreamConfig, now: StreamConfig) -> str:
    old, new = getattr(before, name), getattr(now, name)
    return "" if old == new else f"{name} {_written(old)} -> {_written(new)}"


def _written(value: object) -> str:
    if value is None:
        return "none"
    return listed(value) if isinstance(value, tuple) else f"{value}"


CHECK = Check(
    code="stream-changed",
    severity=Severity.INFO,
    subject=Subject.STREAM,
    title="The configuration was changed",
    meaning="Between the two looks somebody changed the configuration of the stream.",
    condition=(
        "Replicas, retention, discard, subjects, a limit, the duplicate window or the "
        "compression differ between the two looks."
    ),
    why="What goes wrong next may have begun here; whoever looks for a cause wants to know.",
    remedy="Nothing, when it was meant.",
    commands=("nats stream info STREAM",),
    needs=frozenset({Need.SECOND_LOOK}),
    find=find,
)
