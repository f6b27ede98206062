"""A long duplicate window on a busy stream."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext, stream_key
from exporter.audit.findings import of_stream
from exporter.audit.units import HOUR, MIB, amount, size, span
from exporter.model import Stream

LONG_SECONDS = HOUR
BUSY_PER_SECOND = 10.0
ID_BYTES = 240  # what one id takes in the server, measured
MUCH_BYTES = 512 * MIB


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.streams:
        window = config.duplicate_window_seconds
        if window is None or config.mirror:
            continue
        told, rate = scene.stream_signals(row), _rate(scene, row)
        ids = told.dedupe_ids if told is not None else None
        if ids is not None and ids * ID_BYTES > MUCH_BYTES:
            taken = size(ids * ID_BYTES)
            yield of_stream(
                row, f"window {span(window)}, up to {ids:,} ids: {taken} on each replica"
            )
        elif window >= LONG_SECONDS and rate is not None and rate >= BUSY_PER_SECOND:
            yield of_stream(row, f"window {span(window)} at {amount(rate)} messages/s")


def _rate(scene: AuditContext, row: Stream) -> float | None:
    """Of a week, where rollups tell it; a single moment may be an unusual one."""
    usual = scene.history.publish_rate(stream_key(row)) if scene.history is not None else None
    return usual if usual is not None else scene.stored_per_second(row)


CHECK = Check(
    code="dupe-window-costly",
    severity=Severity.INFO,
    subject=Subject.STREAM,
    title="The duplicate window is long for a busy stream",
    meaning="The stream remembers the ids of very many messages.",
    condition=(
        "The window is 1 h or longer and 10 or more messages are stored per second, or the ids "
        "take more than 512 MiB at 240 bytes each."
    ),
    why=(
        "Every id is kept in the memory of each replica for the whole window, about 240 bytes "
        "each; there is no limit."
    ),
    remedy=(
        "A window of a few times the longest retry is enough; retries that come later than it are "
        "stored twice."
    ),
    commands=("nats stream edit STREAM --dupe-window SHORTER",),
    find=find,
)
