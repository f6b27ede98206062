"""Units of conditions, and how evidence formats numbers."""

from __future__ import annotations

MINUTE = 60.0
HOUR = 60 * MINUTE
DAY = 24 * HOUR
MIB = 1 << 20
GIB = 1 << 30

_DURATIONS = ((DAY, "d"), (HOUR, "h"), (MINUTE, "m"))
_SIZES = ((1 << 40, "TiB"), (GIB, "GiB"), (MIB, "MiB"), (1 << 10, "KiB"))


def duration(seconds: float) -> str:
    """In the format of the nats CLI: 90 seconds are 1m30s. Two units at most."""
    if seconds < MINUTE:
        return f"{seconds:.3g}s"
    for index, (size, unit) in enumerate(_DURATIONS):
        if seconds >= size:
            whole, rest = divmod(seconds, size)
            part_size, part = _DURATIONS[index + 1] if index + 1 < len(_DURATIONS) else (1.0, "s")
            parts = int(rest // part_size)
            return f"{int(whole)}{unit}" + (f"{parts}{part}" if parts else "")
    return f"{seconds:.3g}s"


def size(count: float) -> str:
    for factor, unit in _SIZES:
        if count >= factor:
            return f"{amount(count / factor)} {unit}"
    return f"{count:,.0f} B"


def amount(number: float) -> str:
    """Three significant digits, no decimals from 100 on."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def percent(ratio: float) -> str:
    """With one decimal below 10 %."""
    return f"{ratio:.1%}" if ratio < 0.1 else f"{ratio:.0%}"


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def listed(names: list[str] | tuple[str, ...], limit: int = 3) -> str:
    """The first names and the number of the others."""
    named = ", ".join(names[:limit])
    return named if len(names) <= limit else f"{named} and {len(names) - limit:,} more"
