"""Units that conditions are written in, and how evidence writes an amount."""

from __future__ import annotations

MINUTE = 60.0
HOUR = 60 * MINUTE
DAY = 24 * HOUR
MIB = 1 << 20
GIB = 1 << 30

_SPANS = ((DAY, "d"), (HOUR, "h"), (MINUTE, "m"))
_SIZES = ((1 << 40, "TiB"), (GIB, "GiB"), (MIB, "MiB"), (1 << 10, "KiB"))


def span(seconds: float) -> str:
    """As the nats CLI writes and reads it: 90s is 1m30s; beyond a day hours are enough."""
    if seconds < MINUTE:
        return f"{seconds:.3g}s"
    for place, (size, unit) in enumerate(_SPANS):
        if seconds >= size:
            whole, rest = divmod(seconds, size)
            part_size, part = _SPANS[place + 1] if place + 1 < len(_SPANS) else (1.0, "s")
            parts = int(rest // part_size)
            return f"{int(whole)}{unit}" + (f"{parts}{part}" if parts else "")
    return f"{seconds:.3g}s"


def size(count: float) -> str:
    for least, unit in _SIZES:
        if count >= least:
            return f"{amount(count / least)} {unit}"
    return f"{count:,.0f} B"


def amount(number: float) -> str:
    """Three digits tell enough, and what is large has no part behind the point."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def share(ratio: float) -> str:
    """In percent, with a digit more where the percent is small."""
    return f"{ratio:.1%}" if ratio < 0.1 else f"{ratio:.0%}"


def some(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def listed(names: list[str] | tuple[str, ...], most: int = 3) -> str:
    """The first few by name, the rest as a number: evidence is one line."""
    named = ", ".join(names[:most])
    return named if len(names) <= most else f"{named} and {len(names) - most:,} more"
