"""Owners' thresholds: io.nats.monitor.* in stream and consumer metadata."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from exporter.model import NO_THRESHOLDS, Thresholds

PREFIX = "io.nats.monitor."
_GO_DURATION = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h|d|w|M|y)")
_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]+")
_SECONDS = {
    "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0,
    "d": 86400.0, "w": 604800.0, "M": 2592000.0, "y": 31536000.0,
}  # fmt: skip
_BOOLEANS = {"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0, "t": 1.0, "f": 0.0}
_BOOLEAN_KEYS = frozenset({"enabled", "pinned"})
_DURATION_KEYS = frozenset(
    {"seen-critical", "peer-seen-critical", "last-delivery-critical", "last-ack-critical"}
)


def owner_thresholds(metadata: Mapping[str, str]) -> Thresholds:
    """All readable thresholds, and the keys of the unreadable ones."""
    if not metadata:
        return NO_THRESHOLDS
    limits: list[tuple[str, float]] = []
    unreadable: list[str] = []
    for key in sorted(metadata):
        if not key.startswith(PREFIX):
            continue
        name = key.removeprefix(PREFIX)
        value = _value(name, metadata[key])
        # Any user who may create a stream writes here: an infinite number must not break a poll.
        if value is None or not 0 <= value < math.inf:
            unreadable.append(name)
        else:
            limits.append((name, value))
    if not limits and not unreadable:
        return NO_THRESHOLDS
    return Thresholds(tuple(limits), tuple(unreadable))


def _value(name: str, text: str) -> float | None:
    text = text.strip()
    if name in _BOOLEAN_KEYS:
        return _BOOLEANS.get(text.lower())
    if name in _DURATION_KEYS:
        return duration_seconds(text)
    if _WHOLE_NUMBER.fullmatch(text):
        return float(text)
    return duration_seconds(text)


def duration_seconds(text: str) -> float | None:
    """A duration as the nats CLI reads it: 1h30m, 500ms, 2d."""
    total, position = 0.0, 0
    for part in _GO_DURATION.finditer(text):
        if part.start() != position:
            return None
        total += float(part[1]) * _SECONDS[part[2]]
        position = part.end()
    return total if position == len(text) and position > 0 else None
