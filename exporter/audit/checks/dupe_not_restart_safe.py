"""A restart loses message ids inside the duplicate window."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.facts import dedupe
from exporter.audit.findings import stream_finding
from exporter.audit.severity import Severity
from exporter.audit.units import duration
from exporter.model import Stream, StreamConfig

FULL = 0.9


def find(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.streams:
        window = config.duplicate_window_seconds
        if window is None or config.mirror or config.kind != "stream":
            continue
        reason = _reason(row, config, window)
        if reason:
            yield stream_finding(
                row, f"window {duration(window)}; {reason}", dedupe.severity(context, row, config)
            )


def _reason(row: Stream, config: StreamConfig, window: float) -> str:
    if config.retention != "limits":
        return f"{config.retention} retention removes acknowledged messages"
    if config.storage == "memory" and config.replicas == 1:
        return "in memory on one server"
    if _is_full(row, config) and row.first_time is not None and row.last_time is not None:
        held = (row.last_time - row.first_time).total_seconds()
        if held < window:
            return f"full, holds the messages of {duration(held)}"
    return ""


def _is_full(row: Stream, config: StreamConfig) -> bool:
    if config.discard != "old":
        return False
    messages, size = config.max_messages, config.max_bytes
    by_messages = messages is not None and row.messages >= FULL * messages
    return by_messages or (size is not None and row.bytes >= FULL * size)


CHECK = Check(
    code="dupe-not-restart-safe",
    severity=Severity.INFO,
    subject=Subject.STREAM,
    title="A restart loses message ids inside the duplicate window",
    meaning=(
        "After a restart, the stream no longer knows the ids of messages that were removed inside "
        "the window."
    ),
    condition=(
        "The stream has a duplicate window and is not a mirror, bucket or object store. Its "
        "retention is not limits, or it is in memory with one replica, or it is full and all its "
        "messages are younger than the window. Warn where deduplication is used: a window that is "
        "not the default, message ids or duplicates seen, or metadata of the owner."
    ),
    why=(
        "Servers rebuild the ids from the stored messages. A retry after the restart is stored a "
        "second time."
    ),
    remedy=(
        "Publish into a stream with limits retention that keeps messages longer than the window, "
        "and let other streams source from it. An interest stream can become one, a work queue "
        "cannot. Or make consumers idempotent."
    ),
    commands=(
        "nats stream info STREAM",
        "nats stream edit STREAM --retention limits",
    ),
    find=find,
)
