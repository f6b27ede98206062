"""Whether the users of a stream rely on deduplication."""

from __future__ import annotations

from exporter.audit.context import AuditContext, stream_key
from exporter.audit.severity import Severity
from exporter.model import Stream, StreamConfig

DEFAULT_WINDOW_SECONDS = 120.0


def severity(context: AuditContext, row: Stream, config: StreamConfig) -> Severity:
    """A weak spot of deduplication matters only where it is used."""
    return Severity.WARN if is_meant(context, row, config) else Severity.INFO


def is_meant(context: AuditContext, row: Stream, config: StreamConfig) -> bool:
    """A window set away from the default, ids or duplicates seen, or notes of the owner."""
    sample = (context.messages or {}).get(stream_key(row))
    notes = config.notes
    return (
        has_own_window(config)
        or (sample is not None and sample.with_id > 0)
        or notes.idempotent_writers
        or notes.publish_retry_horizon is not None
        or has_duplicates(context, row)
    )


def has_own_window(config: StreamConfig) -> bool:
    """Not the default, which max_age may shorten and which streams with sources do not have."""
    window = config.duplicate_window_seconds
    if window is None:
        return False
    default = min(DEFAULT_WINDOW_SECONDS, config.max_age_seconds or DEFAULT_WINDOW_SECONDS)
    return window != default


def has_duplicates(context: AuditContext, row: Stream) -> bool:
    """Only duplicates that servers reported: unstored publishes may be rejections."""
    publishes = context.publishes.streams.get(stream_key(row))
    hits = publishes.dedupe_hits if publishes is not None and publishes.dedupe_exact else None
    history = context.history
    return bool(hits or (history is not None and history.duplicates(stream_key(row))))
