"""The duplicate window is long for a busy stream."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext, stream_key
from exporter.audit.findings import stream_finding
from exporter.audit.severity import Severity
from exporter.audit.units import HOUR, MIB, amount, duration, size
from exporter.model import Stream

LONG_SECONDS = HOUR
BUSY_PER_SECOND = 10.0
ID_BYTES = 240  # memory per id in the server, measured
MUCH_BYTES = 512 * MIB


def find(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.streams:
        window = config.duplicate_window_seconds
        if window is None or config.mirror:
            continue
        signals, rate = context.stream_signals(row), _rate(context, row)
        ids = signals.dedupe_window_messages if signals is not None else None
        if ids is not None and ids * ID_BYTES > MUCH_BYTES:
            taken = size(ids * ID_BYTES)
            yield stream_finding(
                row, f"window {duration(window)}, up to {ids:,} ids: {taken} on each replica"
            )
        elif window >= LONG_SECONDS and rate is not None and rate >= BUSY_PER_SECOND:
            yield stream_finding(row, f"window {duration(window)}, {amount(rate)} messages/s")


def _rate(context: AuditContext, row: Stream) -> float | None:
    """Messages stored per second: over a week from rollups, else between the two polls."""
    usual = context.history.publish_rate(stream_key(row)) if context.history is not None else None
    return usual if usual is not None else context.stored_per_second(row)


CHECK = Check(
    code="dupe-window-costly",
    severity=Severity.INFO,
    subject=Subject.STREAM,
    title="The duplicate window is long for a busy stream",
    meaning="The stream tracks the ids of very many messages.",
    condition=(
        "The window is 1 h or longer and 10 or more messages are stored per second. Or the ids "
        "take more than 512 MiB at 240 bytes each."
    ),
    why=(
        "Each replica keeps every id in memory for the whole window, about 240 bytes each, "
        "without a limit."
    ),
    remedy="Set the window to a few times the longest retry. Later retries are stored twice.",
    commands=("nats stream edit STREAM --dupe-window SHORTER",),
    find=find,
)
