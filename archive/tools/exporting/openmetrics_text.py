"""Formats names, labels, values and times as OpenMetrics text."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Final

from archive.tables.series import NAME_LABEL, Labels

EOF: Final = "# EOF\n"
_METRIC: Final = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_LABEL: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
# Larger integers may need an exponent or lose digits.
_PLAIN_WHOLE: Final = 10**15


def series_text(labels: Labels) -> str:
    """The series before the value; quotes names where necessary, as in OpenMetrics 2."""
    name = dict(labels).get(NAME_LABEL, "")
    pairs = [f'{_label(key)}="{escaped(value)}"' for key, value in labels if key != NAME_LABEL]
    if _METRIC.fullmatch(name):
        return f"{name}{{{','.join(pairs)}}}" if pairs else name
    return "{" + ",".join([f'"{escaped(name)}"', *pairs]) + "}"


def number_text(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    if value == int(value) and abs(value) < _PLAIN_WHOLE and not _is_minus_zero(value):
        return str(int(value))
    return repr(value)


def time_text(time: int) -> str:
    """The time in seconds."""
    seconds, rest = divmod(abs(time), 1000)
    sign = "-" if time < 0 else ""
    return f"{sign}{seconds}.{rest:03d}" if rest else f"{sign}{seconds}"


def sample_lines(
    series: str, times: Sequence[int], values: Sequence[float], tails: dict[int, str]
) -> Iterable[str]:
    """`tails` are exemplars by the position of their sample."""
    if not tails:
        return [
            f"{series} {number_text(value)} {time_text(time)}\n"
            for time, value in zip(times, values, strict=True)
        ]
    return [
        f"{series} {number_text(value)} {time_text(time)}{tails.get(place, '')}\n"
        for place, (time, value) in enumerate(zip(times, values, strict=True))
    ]


def exemplar_text(labels: Labels, value: float, time: int) -> str:
    pairs = ",".join(f'{_label(key)}="{escaped(text)}"' for key, text in labels)
    at = f" {time_text(time)}" if time else ""
    return f" # {{{pairs}}} {number_text(value)}{at}"


def escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def _label(name: str) -> str:
    return name if _LABEL.fullmatch(name) else f'"{escaped(name)}"'


def _is_minus_zero(value: float) -> bool:
    return value == 0 and math.copysign(1, value) < 0
