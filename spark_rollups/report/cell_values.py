"""Values of table cells: their kind, and their text on the page and in files."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import date
from enum import Enum, IntEnum

from spark_rollups.report import formatting as fmt

Value = str | float | int | date | None


class Kind(Enum):
    """How to format the values of a column."""

    TEXT = "text"
    COUNT = "count"
    BYTES = "bytes"
    SECONDS = "seconds"
    SHARE = "share"
    DAY = "day"


class Measured(float):
    """A number with a kind of its own, for columns of mixed kinds."""

    kind: Kind

    def __new__(cls, value: float, kind: Kind) -> Measured:
        made = super().__new__(cls, value)
        made.kind = kind
        return made


class Level(IntEnum):
    NORMAL = 0
    WARNING = 1
    CRITICAL = 2


_FORMATTERS: dict[Kind, Callable[[float], str]] = {
    Kind.COUNT: fmt.count,
    Kind.BYTES: fmt.bytes_text,
    Kind.SECONDS: fmt.span,
    Kind.SHARE: fmt.share,
}


def is_unknown(value: Value) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def text_of(kind: Kind, value: Value) -> str:
    """Text for people: "unknown" for None and NaN, "no limit" for infinity."""
    if is_unknown(value):
        return fmt.UNKNOWN
    if isinstance(value, date):
        return fmt.day(value)
    if isinstance(value, str):
        return value
    number = float(value or 0)
    if math.isinf(number):
        return fmt.NO_LIMIT
    own = value.kind if isinstance(value, Measured) else kind
    return _FORMATTERS.get(own, fmt.count)(number)


def plain_of(value: Value) -> str | float | int | None:
    """Value for programs: None for unknown, int for whole numbers, "unlimited" for infinity."""
    if is_unknown(value):
        return None
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, str):
        return value
    number = float(value or 0)
    if math.isinf(number):
        return "unlimited"
    return int(number) if number == int(number) and abs(number) < 2**53 else number


def amount(value: float | None, is_bytes: bool) -> float | None:
    """Bytes and messages share a column, so a value in bytes carries its unit."""
    return None if value is None else Measured(value, Kind.BYTES) if is_bytes else value


def amount_text(value: float | None, is_bytes: bool) -> str:
    return text_of(Kind.COUNT, amount(value, is_bytes))
