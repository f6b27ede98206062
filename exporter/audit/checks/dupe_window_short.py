"""Publishers retry for longer than the stream remembers."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_stream
from exporter.audit.units import span
from exporter.model import StreamConfig


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.streams:
        window = config.duplicate_window_seconds
        if window is None or config.mirror or config.kind != "stream":
            continue
        if _is_clipped(config, window) and config.notes.publish_retry_horizon is None:
            continue
        horizon = scene.publish_retry_horizon(config)
        if window < horizon:
            yield of_stream(row, f"window {span(window)}, publishers retry for {span(horizon)}")


def _is_clipped(config: StreamConfig, window: float) -> bool:
    return config.max_age_seconds is not None and window >= config.max_age_seconds


CHECK = Check(
    code="dupe-window-short",
    severity=Severity.WARN,
    subject=Subject.STREAM,
    title="The duplicate window is shorter than publishers retry",
    meaning="A publisher may send a message again after the stream has forgotten its id.",
    condition=(
        "The stream is no mirror, bucket or object store, a duplicate window is set and is "
        "below the publishers' retry horizon (metadata io.streamgauge.publish-retry-horizon, by "
        "default 120 s); where max_age is what keeps it short only an owner's own horizon "
        "counts."
    ),
    why="After an outage the retries are stored a second time, although each carries its id.",
    remedy=(
        "Set a window that outlasts the longest retry, or write the true horizon of the "
        "publishers into the metadata. Give all keys again: --metadata replaces them."
    ),
    commands=(
        "nats stream info STREAM",
        "nats stream edit STREAM --dupe-window LONGER",
        "nats stream edit STREAM --metadata io.streamgauge.publish-retry-horizon=TIME --metadata OTHER_KEY=VALUE",
    ),
    find=find,
)
