"""Owners' notes: io.streamgauge.* in stream and consumer metadata."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from exporter.idle_schedule import IdleSchedule, parse_cron
from exporter.model import NO_NOTES, OwnerNotes
from exporter.sources.decoding.owner_thresholds import duration_seconds

PREFIX = "io.streamgauge."
_SEVERITIES = ("critical", "warning", "info", "none")
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}
_BETWEEN_CODES = re.compile(r"[,\s]+")
_ALERT = re.compile(r"JetStream[A-Za-z]+")
_CODE = re.compile(r"[a-z0-9-]+")
_MAX_TEXT = 128  # any user who may create a stream writes a label value here
_MAX_IGNORED = 1024


def stream_notes(metadata: Mapping[str, str]) -> OwnerNotes:
    return _notes(metadata, _STREAM)


def consumer_notes(metadata: Mapping[str, str]) -> OwnerNotes:
    return _notes(metadata, _CONSUMER)


def _notes(metadata: Mapping[str, str], parsers: Mapping[str, Callable[[str], Any]]) -> OwnerNotes:
    """All readable notes, and the keys of those that are unknown or unreadable."""
    if not metadata:
        return NO_NOTES
    written = {
        key.removeprefix(PREFIX): text.strip()
        for key, text in sorted(metadata.items())
        if key.startswith(PREFIX)
    }
    if not written:
        return NO_NOTES
    values = {name: parsers[name](text) for name, text in written.items() if name in parsers}
    fields = {name.replace("-", "_"): value for name, value in values.items() if value is not None}
    return OwnerNotes(
        **fields,
        unreadable=tuple(name for name, value in values.items() if value is None),
        unknown=tuple(name for name in written if name not in parsers),
    )


def _text(text: str) -> str | None:
    return text if 0 < len(text) <= _MAX_TEXT and text.isprintable() else None


def _severity(text: str) -> str | None:
    return text.lower() if text.lower() in _SEVERITIES else None


def _ignored(text: str) -> tuple[str, ...] | None:
    """Codes of checks and names of alerts. Only codes have one case."""
    words = (word for word in _BETWEEN_CODES.split(text) if word)
    found = sorted({word if _ALERT.fullmatch(word) else word.lower() for word in words})
    valid = all(_ALERT.fullmatch(word) or _CODE.fullmatch(word) for word in found)
    return tuple(found) if valid and len(",".join(found)) <= _MAX_IGNORED else None


def _seconds(text: str) -> float | None:
    found = duration_seconds(text)
    return found if found is not None and 0 < found < math.inf else None


def _schedule(text: str) -> IdleSchedule | None:
    pause = _seconds(text)
    return parse_cron(text) if pause is None else IdleSchedule(pause_seconds=pause)


def _boolean(text: str) -> bool | None:
    return _BOOLEANS.get(text.lower())


_ANY = {"owner": _text, "team": _text, "severity": _severity, "ignore": _ignored}
_STREAM: Mapping[str, Callable[[str], Any]] = {
    **_ANY,
    "back-pressure": _boolean,
    "idempotent-writers": _boolean,
    "publish-retry-horizon": _seconds,
}
_CONSUMER: Mapping[str, Callable[[str], Any]] = {
    **_ANY,
    "long-jobs": _seconds,
    "idle-schedule": _schedule,
}
