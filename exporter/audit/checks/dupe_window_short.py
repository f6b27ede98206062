"""The duplicate window is shorter than the retries of publishers."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext, stream_key
from exporter.audit.facts import dedupe
from exporter.audit.findings import stream_finding
from exporter.audit.severity import Severity
from exporter.audit.units import duration
from exporter.model import StreamConfig


def find(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.streams:
        window = config.duplicate_window_seconds
        if window is None or config.mirror or config.kind != "stream":
            continue
        if _is_clipped(config, window) and config.notes.publish_retry_horizon is None:
            continue
        sample = (context.messages or {}).get(stream_key(row))
        if sample is not None and sample.repeated:
            again = f"{sample.repeated:,} of the last {sample.read:,} messages have an id again"
            yield stream_finding(row, f"window {duration(window)}, {again}", Severity.WARN)
            continue
        horizon = context.publish_retry_horizon(config)
        if window < horizon:
            yield stream_finding(
                row,
                f"window {duration(window)}, publishers retry for {duration(horizon)}",
                dedupe.severity(context, row, config),
            )


def _is_clipped(config: StreamConfig, window: float) -> bool:
    return config.max_age_seconds is not None and window >= config.max_age_seconds


CHECK = Check(
    code="dupe-window-short",
    severity=Severity.INFO,
    subject=Subject.STREAM,
    title="The duplicate window is shorter than the retries of publishers",
    meaning="A publisher may retry a message after the stream has dropped its id.",
    condition=(
        "The stream is not a mirror, bucket or object store, and its duplicate window is below "
        "the retry horizon of publishers (metadata io.streamgauge.publish-retry-horizon, default "
        "120 s). If max_age limits the window, only a horizon in the metadata counts. Warn where "
        "deduplication is used. Also warn if sampled messages have the same id: they were stored "
        "although they are duplicates."
    ),
    why="After an outage, retries are stored a second time, although they carry an id.",
    remedy=(
        "Set a window that is longer than the longest retry, or set the real retry horizon in the "
        "metadata. Give all keys again: --metadata replaces them."
    ),
    commands=(
        "nats stream info STREAM",
        "nats stream edit STREAM --dupe-window LONGER",
        "nats stream edit STREAM --metadata io.streamgauge.publish-retry-horizon=TIME --metadata OTHER_KEY=VALUE",
    ),
    find=find,
)
