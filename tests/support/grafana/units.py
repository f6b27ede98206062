"""Numbers as a person reads them in the pictures: near to how Grafana writes its units."""

from __future__ import annotations

import math
import time
from typing import Final

_SUFFIXED: Final = {"mps": " msg/s", "cps": " c/s", "reqps": " req/s"}
_TIMES: Final = (("w", 604800.0), ("d", 86400.0), ("h", 3600.0), ("min", 60.0), ("s", 1.0))


def shown(value: float, unit: str, decimals: int | None = None) -> str:
    if math.isnan(value):
        return "NaN"
    if unit == "s":
        return _time(value)
    if unit == "dateTimeFromNow":
        return f"{_time(time.time() - value / 1000)} ago"
    if unit == "percentunit":
        return f"{_digits(value * 100)}%"
    if unit in ("bytes", "Bps"):
        return _scaled(value, 1024, ("B", "KiB", "MiB", "GiB", "TiB")) + (
            "/s" if unit == "Bps" else ""
        )
    if unit == "none" or decimals == 0:
        return f"{value:.0f}" if value == int(value) or decimals == 0 else _digits(value)
    return _scaled(value, 1000, ("", "K", "Mil", "Bil")) + _SUFFIXED.get(unit, "")


def _time(seconds: float) -> str:
    size = abs(seconds)
    if size == 0:
        return "0 s"
    for word, length in _TIMES:
        if size >= length:
            return f"{_digits(seconds / length)} {word}"
    for word, length in (("ms", 1e-3), ("µs", 1e-6)):
        if size >= length:
            return f"{_digits(seconds / length)} {word}"
    return f"{_digits(seconds * 1e9)} ns"


def _scaled(value: float, base: int, words: tuple[str, ...]) -> str:
    place = 0
    while abs(value) >= base and place < len(words) - 1:
        value, place = value / base, place + 1
    return f"{_digits(value)} {words[place]}".strip()


def _digits(value: float) -> str:
    """Three figures that count, no zeros at the end."""
    size = abs(value)
    if 0 < size < 0.01:
        return f"{value:.1g}"
    text = f"{value:.0f}" if size >= 100 else f"{value:.1f}" if size >= 10 else f"{value:.2f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Round numbers between the two ends."""
    if high <= low:
        return [low]
    raw = (high - low) / most
    size = 10 ** math.floor(math.log10(raw))
    step = next(size * factor for factor in (1, 2, 5, 10) if size * factor >= raw)
    first = math.ceil(low / step)
    return [n * step for n in range(first, math.floor(high / step + 1e-9) + 1)]


def unit_ticks(low: float, high: float, unit: str) -> list[float]:
    """Round in the unit that is written beside them: hours, mebibytes."""
    scale = 1.0
    if unit in ("bytes", "Bps"):
        scale = next((s for s in (1024.0**3, 1024.0**2, 1024.0) if high >= s), 1.0)
    elif unit == "s":
        scale = next((length for _, length in _TIMES if high >= 2 * length), 1.0)
    return [tick * scale for tick in ticks(low / scale, high / scale, 4)]
