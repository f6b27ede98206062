"""Durations in settings: 500ms, 15s, 1m30s, 1h, 2d."""

from __future__ import annotations

import re
from typing import Annotated

from streamgauge.serving.settings.value_format import ValueFormat

_SECONDS = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
_NUMBER = r"([0-9]{1,12}(?:\.[0-9]{1,9})?)"
# Largest unit first, each at most once: 30s1m is a typo.
_DURATION = re.compile("".join(f"(?:{_NUMBER}{unit})?" for unit in (*_SECONDS, "ms")))


def parse_duration(written: object) -> float:
    """Seconds. A number without a unit is an error, because it is ambiguous."""
    match = _DURATION.fullmatch(written) if isinstance(written, str) else None
    if match is None or not match[0]:
        raise ValueError("not a duration")
    *whole, milliseconds = (float(part or 0) for part in match.groups())
    seconds = sum(part * unit for part, unit in zip(whole, _SECONDS.values(), strict=True))
    return seconds + milliseconds / 1000


def format_duration(seconds: float) -> str:
    """The shortest text that `parse_duration` accepts."""
    milliseconds = round(seconds * 1000)
    if milliseconds == 0:
        return "0s"
    parts = []
    for unit, size in _SECONDS.items():
        count, milliseconds = divmod(milliseconds, size * 1000)
        if count:
            parts.append(f"{count}{unit}")
    if milliseconds:
        parts.append(f"{milliseconds}ms")
    return "".join(parts)


Duration = Annotated[
    float, ValueFormat("duration", "write it like 15s or 1m30s", parse_duration, format_duration)
]
