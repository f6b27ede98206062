"""Formats numbers, sizes, durations and dates for people."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date

UNKNOWN = "unknown"
NO_LIMIT = "no limit"
_GLUE = "\u00a0"  # no line break between a number and its unit
_MINUS = "\u2212"
_SIZES = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_BIG = ((1e12, "tn"), (1e9, "bn"), (1e6, "M"))
_SPANS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
_NAMED = 3  # names in a list, before "and N more"


def count(value: float) -> str:
    """1,234 below a million, 1.23 M above."""
    size = abs(value)
    for unit, word in _BIG:
        if size >= unit:
            return _signed(value, f"{_three_digits(size / unit)}{_GLUE}{word}")
    whole = size == int(size) or size >= 100
    return _signed(value, f"{size:,.0f}" if whole else _three_digits(size))


def bytes_text(value: float) -> str:
    size, index = abs(value), 0
    while size >= 1024 and index < len(_SIZES) - 1:
        size, index = size / 1024, index + 1
    number = f"{size:.0f}" if index == 0 else _three_digits(size)
    return _signed(value, f"{number}{_GLUE}{_SIZES[index]}")


def span(seconds: float) -> str:
    """At most two units: 3 d 4 h, 12 min 30 s, 0.35 s."""
    size = abs(seconds)
    if size < 10:
        text = f"{size * 1000:.0f}{_GLUE}ms" if 0 < size < 0.0995 else f"{size:.2g}{_GLUE}s"
        return _signed(seconds, text)
    left, parts = round(size), list[str]()
    for unit, length in _SPANS:
        amount, left = divmod(left, length)
        if amount or parts:
            parts.append(f"{amount}{_GLUE}{unit}" if amount else "")
        if len(parts) == 2:
            break
    return _signed(seconds, " ".join(filter(None, parts)))


def share(ratio: float) -> str:
    percent = abs(ratio) * 100
    if percent == 0:
        return f"0{_GLUE}%"
    if percent < 0.1:
        return f"< 0.1{_GLUE}%"
    if 99 < percent < 100:  # do not round up to 100 %
        return _signed(ratio, f"{min(percent, 99.9):.1f}{_GLUE}%")
    return _signed(ratio, f"{percent:.1f}{_GLUE}%" if percent < 9.95 else f"{percent:.0f}{_GLUE}%")


def day(value: date) -> str:
    return f"{value.day}{_GLUE}{value:%b}{_GLUE}{value.year}"


def day_range(first: date | None, last: date | None) -> str:
    """From the earliest to the latest date; either may be open."""
    if first is not None and last is not None:
        return day(first) if first == last else f"{day(first)} to {day(last)}"
    if first is not None:
        return f"{day(first)} or later"
    return f"until {day(last)}" if last is not None else UNKNOWN


def change(now: float | None, before: float | None) -> str:
    """The relative change; "" if it cannot be computed."""
    if now is None or before is None or before <= 0 or not math.isfinite(now - before):
        return ""
    ratio = now / before - 1
    if abs(ratio) < 0.005:
        return "unchanged"
    if ratio >= 9:
        return f"{now / before:.0f} times as much" if ratio < 999 else "far more"
    return f"{'+' if ratio > 0 else _MINUS}{abs(ratio) * 100:.0f}{_GLUE}%"


def plural(number: float, word: str, several: str = "") -> str:
    number = round(number)
    return f"{number:,} {word if number == 1 else several or word + 's'}"


def listed(names: Sequence[str], shown: int = _NAMED) -> str:
    """a, b and c; or a, b, c and 4 more."""
    head = list(names[:shown])
    if len(names) > shown:
        return f"{', '.join(head)} and {len(names) - shown:,} more"
    return f"{', '.join(head[:-1])} and {head[-1]}" if len(head) > 1 else "".join(head)


def days_listed(days: Sequence[date]) -> str:
    """Spans of days: 3 to 5 Nov, 9 Nov."""
    runs: list[list[date]] = []
    for each in sorted(days):
        if runs and (each - runs[-1][-1]).days == 1:
            runs[-1].append(each)
        else:
            runs.append([each])
    return listed([_run(run) for run in runs], shown=6)


def _run(days: Sequence[date]) -> str:
    last = f"{days[-1].day}{_GLUE}{days[-1]:%b}"
    if len(days) == 1:
        return last
    same = days[0].month == days[-1].month
    return f"{days[0].day}{'' if same else f'{_GLUE}{days[0]:%b}'} to {last}"


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _three_digits(size: float) -> str:
    return f"{size:.0f}" if size >= 99.95 else f"{size:.1f}" if size >= 9.995 else f"{size:.2f}"


def _signed(value: float, text: str) -> str:
    return f"{_MINUS}{text}" if value < 0 else text
