"""Samples to exposition text, fast: lines are written and compressed once per poll, metric by
metric, and only joined when somebody scrapes. Pure.
"""

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

# About 130 kB of text. Chosen by measurement: 4,000 lines at a time were a fifth slower.
_LINES_PER_CHUNK = 1_000

_encode_numbers = msgspec.json.Encoder().encode
_NOT_FINITE = {"nan": "NaN", "inf": "+Inf", "-inf": "-Inf"}
_EOF = b"# EOF\n"
Value = int | float | Histogram | None
_PLACES = {metric.name: place for place, metric in enumerate(catalog.ALL)}


class ExpositionError(ValueError):
    """Samples that cannot be written; naming the metric, for it is a mistake of ours."""


class Format(Enum):
    """The value is the content type."""

    TEXT = "text/plain; version=0.0.4; charset=utf-8"
    OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"

    @property
    def content_type(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Column:
    """One metric of many assets. A value of None has no line: absent, not zero.

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
    """One answer to a scrape, as segments that wait to be joined."""

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
    """The label text of one asset without its closing brace, so that labels can follow."""
    return extend_head("", names, values)


def extend_head(head: str, names: Sequence[str], values: Sequence[str]) -> str:
    ending = head_ending(names, values)
    return head + ending if head else "{" + ending[1:] if ending else ""


def head_ending(names: Sequence[str], values: Sequence[str]) -> str:
    """What is put behind a head that has labels already."""
    # One look at all values together: hardly any name on a NATS server needs escaping.
    together = "".join(values)
    if '"' in together or "\\" in together or "\n" in together:
        values = [_escape_quotes(_escape_lines(value)) for value in values]
    return "".join([f',{name}="{value}"' for name, value in zip(names, values, strict=True)])


def write_lines(column: Column) -> Iterator[bytes]:
    """The sample lines of a column, a thousand at a time; the same in both formats."""
    metric = column.metric
    text_of = _histogram_text if metric.kind is Kind.HISTOGRAM else _text_of
    heads, values = iter(column.heads), iter(column.values)
    while some_values := list(islice(values, _LINES_PER_CHUNK)):
        some_heads = list(islice(heads, len(some_values)))
        if len(some_heads) != len(some_values):
            raise ExpositionError(f"{metric.name}: more values than heads")
        _check_head(metric, some_heads[0])
        if text := text_of(metric, some_heads, some_values):
            # A lone surrogate has no UTF-8; one odd name must not cost the whole scrape.
            yield text.encode("utf-8", "replace")
    if next(heads, None) is not None:
        raise ExpositionError(f"{metric.name}: more heads than values")


def render_block(column: Column) -> Block | None:
    """None when no line is left: a family without samples has no header either."""
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
    """Each family once and in catalogue order: its header, then its lines of every system.

    `live` is text that is newer than the blocks, already in `fmt` but without the end mark.
    `subjects` selects among the blocks (None: all); what stands in `live` is up to the caller.
    """
    families: dict[str, list[Block]] = {}
    for block in chain.from_iterable(blocks_by_system):
        if subjects is None or block.metric.subject in subjects:
            families.setdefault(block.metric.name, []).append(block)
    segments: list[Segment] = []
    for name in sorted(families, key=_place_in_catalogue):
        segments += (_header_segment(families[name][0].metric, fmt), *families[name])
    segments += _tail(live, fmt)
    return Exposition(tuple(segments), fmt)


def header(metric: Metric, fmt: Format) -> bytes:
    """The lines that open a family."""
    kind, explanation = _exposed_kind(metric, fmt).value, _escape_lines(metric.help)
    if fmt is Format.TEXT:
        return f"# HELP {metric.name} {explanation}\n# TYPE {metric.name} {kind}\n".encode()
    family = metric.family
    unit = f"# UNIT {family} {metric.unit.value}\n" if metric.unit.value else ""
    explanation = _escape_quotes(explanation)
    return f"# TYPE {family} {kind}\n{unit}# HELP {family} {explanation}\n".encode()


def _exposed_kind(metric: Metric, fmt: Format) -> Kind:
    # Only OpenMetrics knows infos, and it wants their samples to end in _info; findings do not.
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
            raise ExpositionError("the live text must end in a whole line and without # EOF")
        yield compress([live])
    if fmt is Format.OPENMETRICS:
        yield _end_segment()


def _check_head(metric: Metric, head: str) -> None:
    if head.startswith("{") is not bool(metric.labels):
        raise ExpositionError(f"{metric.name}: the head {head!r} does not fit its labels")


def _text_of(metric: Metric, heads: list[str], values: list[Value]) -> str:
    types = set(map(type, values))
    if NoneType in types:
        heads = [head for head, value in zip(heads, values, strict=True) if value is not None]
        values = [value for value in values if value is not None]
        types.remove(NoneType)
    if not values:
        return ""
    words = _json_words(values) if all(map(_is_plain, types)) else None
    if words is None:
        words = [_word(metric, value) for value in values]
    # The name goes in as the separator: no line is copied once more to put it in front.
    lines = map(("} " if metric.labels else " ").join, zip(heads, words, strict=True))
    return metric.name + f"\n{metric.name}".join(lines) + "\n"


def _histogram_text(metric: Metric, heads: list[str], values: list[Value]) -> str:
    lines: list[str] = []
    for head, value in zip(heads, values, strict=True):
        if value is not None:
            lines += _histogram_lines(metric, head, value)
    return "".join(lines)


def _histogram_lines(metric: Metric, head: str, value: Value) -> Iterator[str]:
    """All lines of one series together, as OpenMetrics wants them."""
    if not isinstance(value, Histogram):
        raise ExpositionError(f"{metric.name}: {value!r} is not a histogram")
    amounts = value.cumulative()
    # Bounds are written as floats: OpenMetrics does not take le="1" for le="1.0".
    bounds = [*(_word(metric, float(bound)) for bound in value.bounds), "+Inf"]
    for bound, amount in zip(bounds, amounts, strict=True):
        yield f"{metric.name}_bucket{extend_head(head, ('le',), (bound,))}}} {amount}\n"
    closed = head + "}" if head else ""
    yield f"{metric.name}_sum{closed} {_word(metric, float(value.sum))}\n"
    yield f"{metric.name}_count{closed} {amounts[-1]}\n"


def _is_plain(kind: type) -> bool:
    """Whether JSON spells such a number as we do; truth values have words of their own there."""
    return kind is int or kind is float or issubclass(kind, IntEnum)


def _json_words(values: list[Value]) -> list[str] | None:
    """All in one call, for floats the fastest way by far; None when one of them is not finite."""
    text = _encode_numbers(values).decode()
    # JSON has no word for NaN and the infinities, so the encoder writes null.
    return None if "null" in text else text[1:-1].split(",")


def _word(metric: Metric, value: object) -> str:
    if isinstance(value, int):
        return str(int(value))  # also True and the members of an IntEnum
    if isinstance(value, float):
        word = repr(float(value))
        return _NOT_FINITE.get(word, word)
    raise ExpositionError(f"{metric.name}: {value!r} is not a number")


def _place_in_catalogue(name: str) -> int:
    # Sorting is stable: names that the catalogue does not know follow in order of appearance.
    return _PLACES.get(name, len(_PLACES))


def _escape_lines(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def _escape_quotes(text: str) -> str:
    return text.replace('"', '\\"')
