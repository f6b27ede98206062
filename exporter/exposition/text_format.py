"""Writes samples as exposition text: lines are compressed once per poll and joined at a scrape."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, IntEnum
from functools import cache
from itertools import chain, islice
from types import NoneType

import msgspec

from exporter import catalog
from exporter.exposition.gzip_segments import Segment, SegmentWriter, compress, inflate, join_gzip
from exporter.exposition.histogram import Histogram
from exporter.metric import Kind, Metric, Subject

# About 130 kB of text. Measured: 4,000 lines at a time were 20 % slower.
_LINES_PER_CHUNK = 1_000

_encode_numbers = msgspec.json.Encoder().encode
_NOT_FINITE = {"nan": "NaN", "inf": "+Inf", "-inf": "-Inf"}
_EOF = b"# EOF\n"
Value = int | float | Histogram | None
_POSITIONS = {metric.name: position for position, metric in enumerate(catalog.ALL)}


class ExpositionError(ValueError):
    """Samples that cannot be written: a bug of the exporter. The message names the metric."""


class Format(Enum):
    """The value is the content type."""

    TEXT = "text/plain; version=0.0.4; charset=utf-8"
    OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"

    @property
    def content_type(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Column:
    """One metric of many assets. A value of None has no line: the series is absent.

    Histogram metrics have histograms as values, all others have numbers.
    """

    metric: Metric
    heads: Iterable[str]
    values: Iterable[Value]


@dataclass(frozen=True, slots=True)
class Block(Segment):
    """The lines of one metric of one system, compressed."""

    metric: Metric
    lines: int


@dataclass(frozen=True, slots=True)
class Exposition:
    """One response to a scrape, as segments."""

    segments: tuple[Segment, ...]
    format: Format

    @property
    def size(self) -> int:
        """Of the plain text, in bytes."""
        return sum(segment.size for segment in self.segments)

    def gzip_body(self) -> bytes:
        return join_gzip(self.segments)

    def plain_chunks(self) -> Iterator[bytes]:
        return chain.from_iterable(map(inflate, self.segments))


def label_head(names: Sequence[str], values: Sequence[str]) -> str:
    """The label text of one asset without the closing brace, so that labels can be added."""
    return extend_head("", names, values)


def extend_head(head: str, names: Sequence[str], values: Sequence[str]) -> str:
    ending = head_ending(names, values)
    return head + ending if head else "{" + ending[1:] if ending else ""


def head_ending(names: Sequence[str], values: Sequence[str]) -> str:
    """Label text to add to a head that has labels already."""
    # One test for all values together: few names need escaping.
    together = "".join(values)
    if '"' in together or "\\" in together or "\n" in together:
        values = [_escape_quotes(_escape_lines(value)) for value in values]
    return "".join([f',{name}="{value}"' for name, value in zip(names, values, strict=True)])


def write_lines(column: Column) -> Iterator[bytes]:
    """The sample lines of a column in chunks; the same in both formats."""
    metric = column.metric
    text_of = _histogram_text if metric.kind is Kind.HISTOGRAM else _text_of
    heads, values = iter(column.heads), iter(column.values)
    while some_values := list(islice(values, _LINES_PER_CHUNK)):
        some_heads = list(islice(heads, len(some_values)))
        if len(some_heads) != len(some_values):
            raise ExpositionError(f"{metric.name}: more values than heads")
        _check_head(metric, some_heads[0])
        if text := text_of(metric, some_heads, some_values):
            # A lone surrogate has no UTF-8; one such name must not fail the whole scrape.
            yield text.encode("utf-8", "replace")
    if next(heads, None) is not None:
        raise ExpositionError(f"{metric.name}: more heads than values")


def render_block(column: Column) -> Block | None:
    """None without lines: a family without samples has no header."""
    writer, lines = SegmentWriter(), 0
    for chunk in write_lines(column):
        writer.write(chunk)
        lines += chunk.count(b"\n")  # exact: inside a label value it is escaped
    if not lines:
        return None
    segment = writer.finish()
    return Block(segment.data, segment.crc32, segment.size, column.metric, lines)


def assemble(
    blocks_by_system: Iterable[Iterable[Block]],
    live: bytes,
    fmt: Format,
    subjects: frozenset[Subject] | None = None,
) -> Exposition:
    """Writes each family once, in catalogue order: the header, then the lines of every system.

    `live` is text rendered at the scrape, already in `fmt` but without `# EOF`.
    `subjects` selects blocks (None: all). It does not apply to `live`.
    """
    families: dict[str, list[Block]] = {}
    for block in chain.from_iterable(blocks_by_system):
        if subjects is None or block.metric.subject in subjects:
            families.setdefault(block.metric.name, []).append(block)
    segments: list[Segment] = []
    for name in sorted(families, key=_catalogue_position):
        segments += (_header_segment(families[name][0].metric, fmt), *families[name])
    segments += _tail(live, fmt)
    return Exposition(tuple(segments), fmt)


def header(metric: Metric, fmt: Format) -> bytes:
    """The lines that open a family."""
    kind, help_text = _exposed_kind(metric, fmt).value, _escape_lines(metric.help)
    if fmt is Format.TEXT:
        return f"# HELP {metric.name} {help_text}\n# TYPE {metric.name} {kind}\n".encode()
    family = metric.family
    unit = f"# UNIT {family} {metric.unit.value}\n" if metric.unit.value else ""
    help_text = _escape_quotes(help_text)
    return f"# TYPE {family} {kind}\n{unit}# HELP {family} {help_text}\n".encode()


def _exposed_kind(metric: Metric, fmt: Format) -> Kind:
    # Only OpenMetrics has the type info, and its samples must end in _info; findings do not.
    known = fmt is Format.OPENMETRICS and metric.name.endswith("_info")
    return Kind.GAUGE if metric.kind is Kind.INFO and not known else metric.kind


@cache
def _header_segment(metric: Metric, fmt: Format) -> Segment:
    return compress([header(metric, fmt)])


@cache
def _end_segment() -> Segment:
    return compress([_EOF])


def _tail(live: bytes, fmt: Format) -> Iterator[Segment]:
    if live:
        if not live.endswith(b"\n") or live.endswith(_EOF):
            raise ExpositionError("the live text must end with a newline and without # EOF")
        yield compress([live])
    if fmt is Format.OPENMETRICS:
        yield _end_segment()


def _check_head(metric: Metric, head: str) -> None:
    if head.startswith("{") is not bool(metric.labels):
        raise ExpositionError(f"{metric.name}: the head {head!r} does not match its labels")


def _text_of(metric: Metric, heads: list[str], values: list[Value]) -> str:
    types = set(map(type, values))
    if NoneType in types:
        heads = [head for head, value in zip(heads, values, strict=True) if value is not None]
        values = [value for value in values if value is not None]
        types.remove(NoneType)
    if not values:
        return ""
    numbers = _json_numbers(values) if all(map(_is_plain, types)) else None
    if numbers is None:
        numbers = [_number(metric, value) for value in values]
    # The name is the separator of the join, so that no line is copied again.
    lines = map(("} " if metric.labels else " ").join, zip(heads, numbers, strict=True))
    return metric.name + f"\n{metric.name}".join(lines) + "\n"


def _histogram_text(metric: Metric, heads: list[str], values: list[Value]) -> str:
    lines: list[str] = []
    for head, value in zip(heads, values, strict=True):
        if value is not None:
            lines += _histogram_lines(metric, head, value)
    return "".join(lines)


def _histogram_lines(metric: Metric, head: str, value: Value) -> Iterator[str]:
    """All lines of one series together, as OpenMetrics requires."""
    if not isinstance(value, Histogram):
        raise ExpositionError(f"{metric.name}: {value!r} is not a histogram")
    amounts = value.cumulative()
    # Bounds are floats: OpenMetrics treats le="1" and le="1.0" as different.
    bounds = [*(_number(metric, float(bound)) for bound in value.bounds), "+Inf"]
    for bound, amount in zip(bounds, amounts, strict=True):
        yield f"{metric.name}_bucket{extend_head(head, ('le',), (bound,))}}} {amount}\n"
    closed = head + "}" if head else ""
    yield f"{metric.name}_sum{closed} {_number(metric, float(value.sum))}\n"
    yield f"{metric.name}_count{closed} {amounts[-1]}\n"


def _is_plain(kind: type) -> bool:
    """Whether JSON writes such a number like the exposition format; not for booleans."""
    return kind is int or kind is float or issubclass(kind, IntEnum)


def _json_numbers(values: list[Value]) -> list[str] | None:
    """Encodes all values in one call; None when one is not finite."""
    text = _encode_numbers(values).decode()
    # JSON has no NaN and no infinity, so the encoder writes null.
    return None if "null" in text else text[1:-1].split(",")


def _number(metric: Metric, value: object) -> str:
    if isinstance(value, int):
        return str(int(value))  # also for booleans and IntEnum members
    if isinstance(value, float):
        text = repr(float(value))
        return _NOT_FINITE.get(text, text)
    raise ExpositionError(f"{metric.name}: {value!r} is not a number")


def _catalogue_position(name: str) -> int:
    # Sorting is stable: names outside the catalogue follow in order of appearance.
    return _POSITIONS.get(name, len(_POSITIONS))


def _escape_lines(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def _escape_quotes(text: str) -> str:
    return text.replace('"', '\\"')
