"""Numbers, sizes, durations and dates for people, values of cells, and sentences from templates."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from datetime import date
from enum import Enum, IntEnum
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template, meta

from spark_rollups.report.facts.assets import total

Value = str | float | int | date | None  # of a cell

UNKNOWN = "unknown"
NO_LIMIT = "no limit"
_GLUE = "\u00a0"  # no line break between a number and its unit
_MINUS = "\u2212"
_SIZES = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_BIG = ((1e12, "tn"), (1e9, "bn"), (1e6, "M"))
_SPANS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
_NAMED = 3  # names in a list, before "and N more"
# Control characters, and characters that change the direction of text.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffe\uffff]"
)
_LONE = re.compile("[\ud800-\udfff]")  # half of a surrogate pair cannot be encoded
_REPLACED = "\ufffd"


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


def lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]


def clean(text: str) -> str:
    """Without characters that cannot be seen or encoded."""
    return _LONE.sub(_REPLACED, _INVISIBLE.sub(_REPLACED, text))


def _three_digits(size: float) -> str:
    return f"{size:.0f}" if size >= 99.95 else f"{size:.1f}" if size >= 9.995 else f"{size:.2f}"


def _signed(value: float, text: str) -> str:
    return f"{_MINUS}{text}" if value < 0 else text


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
    Kind.COUNT: count, Kind.BYTES: bytes_text, Kind.SECONDS: span, Kind.SHARE: share,
}  # fmt: skip


def is_unknown(value: Value) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def text_of(kind: Kind, value: Value) -> str:
    """Text for people: "unknown" for None and NaN, "no limit" for infinity."""
    if is_unknown(value):
        return UNKNOWN
    if isinstance(value, date):
        return day(value)
    if isinstance(value, str):
        return value
    number = float(value or 0)
    if math.isinf(number):
        return NO_LIMIT
    own = value.kind if isinstance(value, Measured) else kind
    return _FORMATTERS.get(own, count)(number)


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


FILTERS = {
    "amount": lambda value: text_of(Kind.COUNT, value), "bytes": bytes_text, "capital": capital,
    "count": count, "day": day, "day_range": day_range, "days": days_listed, "listed": listed,
    "lower_first": lower_first, "plural": plural, "share": share, "span": span,
    "total": total, "text": lambda value, kind: text_of(kind, value),
}  # fmt: skip


def sentences(chapter: str, **values: Any) -> tuple[str, ...]:
    """Of a chapter: the lines of its block in sentences.txt that are not empty.

    They are plain text: the page escapes them.
    """
    found = _environment().get_template("sentences.txt")
    text = "".join(found.blocks[chapter](found.new_context(values)))
    return tuple(filter(None, (line.strip() for line in text.splitlines())))


@cache
def template(text: str) -> Template:
    return _environment().from_string(text)


def variables(text: str) -> set[str]:
    """The values that a template needs."""
    return meta.find_undeclared_variables(_environment().parse(text))


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("spark_rollups.report", "templates"),
        autoescape=False,  # noqa: S701 - plain text
        undefined=StrictUndefined,
        trim_blocks=True,
        finalize=lambda value: " ".join(value.splitlines()) if isinstance(value, str) else value,
    )
    made.filters |= FILTERS
    return made
