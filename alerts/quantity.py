"""Thresholds and how their values are written: 15m, 0.8, 512MiB. Standard library only."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import Enum

from streamgauge.promql.literals import number

_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_NUMBER = re.compile(r"[0-9]{1,15}(\.[0-9]{1,9})?")
_SECONDS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
# Largest unit first and each at most once, so that 1m30s has one spelling.
_DURATION = re.compile("".join(rf"(?:([0-9]{{1,9}}(?:\.[0-9]{{1,3}})?){u})?" for u in _SECONDS))
_BYTES = {"TiB": 1 << 40, "GiB": 1 << 30, "MiB": 1 << 20, "KiB": 1 << 10, "B": 1}
_SIZE = re.compile(rf"([0-9]{{1,15}}(?:\.[0-9]{{1,6}})?)({'|'.join(_BYTES)})")


class Unit(Enum):
    """The value of a member is how to write one, for error texts."""

    DURATION = "a duration like 30s, 15m or 1h30m"
    DIFFERENCE = "a difference of times like 1s or 1.5s"  # nothing lasts: no speed shortens it
    RATIO = "a ratio above 0 and up to 1, like 0.8"
    COUNT = "a whole number like 1000"
    BYTES = "a size like 512MiB or 240B"
    FACTOR = "a factor above 0, like 5 or 0.5"


class ThresholdError(ValueError):
    """One line that names the threshold and the reason."""


@dataclass(frozen=True, slots=True)
class Threshold:
    name: str
    value: float  # seconds, bytes, 0..1, or a plain number, by its unit
    unit: Unit
    meaning: str  # half a sentence: what is bad beyond it
    alerts: tuple[str, ...]  # the names of the alerts that use it, without their prefix

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ThresholdError(f"{self.name}: is not snake_case")
        if not _fits(self.value, self.unit):
            raise ThresholdError(f"{self.name}: {self.value:g} is not {self.unit.value}")

    @property
    def text(self) -> str:
        """The value as people write it; `with_text` parses it."""
        if self.unit in (Unit.DURATION, Unit.DIFFERENCE):
            return format_duration(self.value)
        if self.unit is Unit.BYTES:
            return _format_size(self.value)
        return number(self.value)

    @property
    def prose(self) -> str:
        """The value for a sentence."""
        return f"{self.value * 100:g} %" if self.unit is Unit.RATIO else self.text

    def with_text(self, written: str) -> Threshold:
        """The same threshold with another value, which must have its unit."""
        try:
            value = _READERS[self.unit](written)
        except ValueError:
            raise ThresholdError(f"{self.name}={written}: is not {self.unit.value}") from None
        if not _fits(value, self.unit):
            raise ThresholdError(f"{self.name}={written}: is not {self.unit.value}")
        return replace(self, value=value)


def _fits(value: float, unit: Unit) -> bool:
    if unit is Unit.RATIO:
        return 0 < value <= 1
    if unit is Unit.COUNT:
        return value >= 0 and value == int(value)
    return value > 0


def parse_duration(written: str) -> float:
    match = _DURATION.fullmatch(written)
    if match is None or not written:
        raise ValueError("not a duration")
    parts = zip(match.groups(), _SECONDS.values(), strict=True)
    return sum(float(part or 0) * unit for part, unit in parts)


def format_duration(seconds: float) -> str:
    """The shortest spelling, in units that PromQL accepts too."""
    left, parts = round(seconds * 1000), []
    for unit, size in _SECONDS.items():
        count, left = divmod(left, size * 1000)
        if count:
            parts.append(f"{count}{unit}")
    if left:
        parts.append(f"{left}ms")
    return "".join(parts) or "0s"


def _parse_number(written: str) -> float:
    if not _NUMBER.fullmatch(written):
        raise ValueError("not a number")
    return float(written)


def _parse_size(written: str) -> float:
    match = _SIZE.fullmatch(written)
    if match is None:
        raise ValueError("not a size")
    return float(match[1]) * _BYTES[match[2]]


def _format_size(size: float) -> str:
    unit, count = next((unit, count) for unit, count in _BYTES.items() if size % count == 0)
    return f"{number(size / count)}{unit}"


_READERS = {
    Unit.DURATION: parse_duration,
    Unit.DIFFERENCE: parse_duration,
    Unit.RATIO: _parse_number,
    Unit.COUNT: _parse_number,
    Unit.BYTES: _parse_size,
    Unit.FACTOR: _parse_number,
}
