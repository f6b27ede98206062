"""Owners' notes for the audit: io.streamgauge.* in stream and consumer metadata."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from exporter.model import NO_NOTES, OwnerNotes
from exporter.sources.decoding.owner_thresholds import duration_seconds

PREFIX = "io.streamgauge."
IGNORE = PREFIX + "ignore"
PUBLISH_RETRY_HORIZON = PREFIX + "publish-retry-horizon"
_KNOWN = (IGNORE, PUBLISH_RETRY_HORIZON)
_BETWEEN_CODES = re.compile(r"[,\s]+")


def owner_notes(metadata: Mapping[str, str]) -> OwnerNotes:
    """All readable notes, and the keys of the unreadable ones."""
    if not metadata:
        return NO_NOTES
    written = {key: text for key, text in metadata.items() if key.startswith(PREFIX)}
    if not written:
        return NO_NOTES
    unreadable = [key.removeprefix(PREFIX) for key in sorted(written) if key not in _KNOWN]
    horizon = None
    if (text := written.get(PUBLISH_RETRY_HORIZON)) is not None:
        horizon = duration_seconds(text.strip())
        if horizon is None or not 0 < horizon < math.inf:
            horizon, unreadable = None, [*unreadable, PUBLISH_RETRY_HORIZON.removeprefix(PREFIX)]
    codes = _BETWEEN_CODES.split(written.get(IGNORE, "").strip().lower())
    return OwnerNotes(tuple(sorted({*codes} - {""})), horizon, tuple(unreadable))
