"""Numbers, times and lists as words."""

from __future__ import annotations

from collections.abc import Sequence

UNKNOWN = "–"
_MAX_NAMED = 3  # a sentence names this many items, then counts the others
_SIZES = ("KiB", "MiB", "GiB", "TiB", "PiB")


def span(seconds: float | None) -> str:
    """A duration in at most two units: "850 ms", "3 s", "2 h 5 min"."""
    if seconds is None:
        return UNKNOWN
    if seconds < 1:
        return f"{max(0.0, seconds) * 1000:.0f} ms"
    whole = int(seconds)
    for size, unit, part_size, part in ((86400, "d", 3600, "h"), (3600, "h", 60, "min")):
        if whole >= size:
            rest = whole % size // part_size
            return f"{whole // size} {unit}" + (f" {rest} {part}" if rest else "")
    return f"{whole // 60} min" if whole >= 60 else f"{whole} s"


def ago(seconds: float | None) -> str:
    if seconds is None:
        return "never"
    return "just now" if seconds < 1 else f"{span(seconds)} ago"


def count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def listed(names: Sequence[str]) -> str:
    if len(names) <= 1:
        return "".join(names)
    if len(names) <= _MAX_NAMED:
        return f"{', '.join(names[:-1])} and {names[-1]}"
    return f"{', '.join(names[:_MAX_NAMED])} and {len(names) - _MAX_NAMED:,} more"


def number(value: float | None) -> str:
    if value is None:
        return UNKNOWN
    return f"{value:,.0f}" if value == int(value) or abs(value) >= 100 else f"{value:,.2g}"


def percent(ratio: float | None) -> str:
    """Whole percents, and 100% only when nothing is left."""
    if ratio is None:
        return UNKNOWN
    return "99%" if 0.99 < ratio < 1 else f"{ratio:.0%}"


def size(octets: float | None) -> str:
    if octets is None:
        return UNKNOWN
    if abs(octets) < 1024:
        return f"{octets:,.0f} B"
    for unit in _SIZES:
        octets /= 1024
        if abs(octets) < 1024 or unit == _SIZES[-1]:
            break
    return f"{octets:,.3g} {unit}" if abs(octets) < 1000 else f"{octets:,.0f} {unit}"


def signed(seconds: float | None) -> str:
    """An offset: "+7.2 s", "-340 ms"."""
    if seconds is None:
        return UNKNOWN
    sign = "-" if seconds < 0 else "+"
    value = abs(seconds)
    return f"{sign}{value * 1000:.0f} ms" if value < 1 else f"{sign}{value:,.1f} s"
