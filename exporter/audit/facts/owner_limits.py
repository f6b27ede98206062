"""Which limits an owner may write into metadata, and what is wrong with those that were written."""

from __future__ import annotations

from collections.abc import Set
from typing import Final

from exporter.model import ConsumerConfig, StreamConfig, Thresholds

STREAM_LIMITS: Final = frozenset(
    {
        "enabled", "lag-critical", "seen-critical", "min-sources", "max-sources", "peer-expect",
        "peer-lag-critical", "peer-seen-critical", "msgs-warn", "msgs-critical", "subjects-warn",
        "subjects-critical",
    }
)  # fmt: skip
CONSUMER_LIMITS: Final = frozenset(
    {
        "enabled", "outstanding-ack-critical", "waiting-critical", "unprocessed-critical",
        "last-delivery-critical", "last-ack-critical", "redelivery-critical", "pinned",
    }
)  # fmt: skip

# What the checks of streams and of consumers say alike.
UNREADABLE_MEANING: Final = (
    "The owner wrote a limit into the metadata whose value is not understood."
)
UNREADABLE_CONDITION: Final = (
    "A known key of io.nats.monitor.* or io.streamgauge.* has a value that is no number, "
    "duration or truth value where it has to be one."
)
UNREADABLE_WHY: Final = "The owner believes to be warned, and nobody looks at it."
UNREADABLE_REMEDY: Final = (
    "Write the value as the nats CLI does, for example 1000, 5m or true. Give all keys again: "
    "--metadata replaces them."
)


def unreadable_limits(config: StreamConfig | ConsumerConfig, known: Set[str]) -> tuple[str, ...]:
    """Keys of ours or of the nats CLI whose value nobody can read."""
    if not config.thresholds.unreadable and not config.notes.unreadable:
        return ()  # nearly all of very many
    limits = [f"io.nats.monitor.{name}" for name in config.thresholds.unreadable if name in known]
    return (*limits, *(f"io.streamgauge.{name}" for name in config.notes.unreadable))


def unknown_limits(thresholds: Thresholds, known: Set[str]) -> tuple[str, ...]:
    """Keys that nobody looks at, whatever their value."""
    if not thresholds.limits and not thresholds.unreadable:
        return ()
    written = [*(name for name, _ in thresholds.limits), *thresholds.unreadable]
    return tuple(f"io.nats.monitor.{name}" for name in sorted(written) if name not in known)
