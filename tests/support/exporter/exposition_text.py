"""Metrics written as text and read back by the library's own parsers."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from hypothesis import strategies as st
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.openmetrics.parser import (
    text_string_to_metric_families as parse_openmetrics,
)
from prometheus_client.parser import text_string_to_metric_families as parse_text

from exporter.exposition.text_format import (
    Block,
    Column,
    Format,
    assemble,
    label_head,
    render_block,
)
from exporter.metric import Kind, Metric, Origin, Subject, Unit

Number = int | float
Row = tuple[tuple[str, ...], Number | None]  # label values, value
Sample = tuple[str, dict[str, str], str]


def metric(
    name: str,
    kind: Kind = Kind.GAUGE,
    labels: tuple[str, ...] = ("system", "stream"),
    subject: Subject = Subject.STREAM,
    unit: Unit = Unit.NONE,
    explanation: str = "A number for a test.",
) -> Metric:
    return Metric(
        name=f"streamgauge_{name}",
        kind=kind,
        help=explanation,
        labels=labels,
        subject=subject,
        origin=Origin.RESPONSE,
        unit=unit,
    )


GAUGE = metric("stream_depth")
COUNTER = metric("stream_stores_total", Kind.COUNTER)
BARE = metric("series", labels=(), subject=Subject.EXPORTER)
NASTY = ["", '"} 5\n', "\\", '\\"', "\\n", "a # b", "{}", ",", '="', "\r", "\u2028", "é🎉", "\x00"]
LABEL_VALUES = st.sampled_from(NASTY) | st.text(
    st.sampled_from('"\\\n\r{}, =#') | st.characters(exclude_categories=["Cs"]), max_size=12
)
FORMATS = st.sampled_from(Format)


def column_of(of: Metric, rows: Iterable[Row]) -> Column:
    rows = list(rows)
    return Column(of, [label_head(of.labels, labels) for labels, _ in rows], [v for _, v in rows])


def block_of(of: Metric, *rows: Row) -> Block:
    block = render_block(column_of(of, rows))
    assert block is not None
    return block


def text_of(blocks_by_system: list[list[Block]], fmt: Format, live: bytes = b"") -> str:
    return b"".join(assemble(blocks_by_system, live, fmt).plain_chunks()).decode()


def families_of(text: str, fmt: Format) -> list[Family]:
    parse: Callable[[str], Iterable[Family]]
    parse = parse_text if fmt is Format.TEXT else parse_openmetrics
    return list(parse(text))


def parsed(text: str, fmt: Format) -> list[Sample]:
    return [
        (sample.name, dict(sample.labels), repr(float(sample.value)))
        for family in families_of(text, fmt)
        for sample in family.samples
    ]
