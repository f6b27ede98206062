"""The text that is written: samples are read back as they were, and nothing else is let through."""

from __future__ import annotations

import gzip
import math
import zlib
from collections.abc import Iterable
from enum import IntEnum

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples
from support.exporter.exposition_text import (
    BARE,
    COUNTER,
    FORMATS,
    GAUGE,
    LABEL_VALUES,
    Number,
    Row,
    Sample,
    block_of,
    column_of,
    parsed,
    text_of,
)

from exporter.exposition.text_format import _LINES_PER_CHUNK as CHUNK
from exporter.exposition.text_format import (
    Column,
    ExpositionError,
    Format,
    assemble,
    extend_head,
    label_head,
    render_block,
    write_lines,
)
from exporter.metric import Metric

NUMBERS = (
    st.integers(-(2**200), 2**200)
    | st.sampled_from([2**53 + 1, 2**63, 2**64 - 1, 2**64, -(2**63) - 1, True, False])
    | st.floats()
    | st.sampled_from([math.nan, math.inf, -math.inf, -0.0, 5e-324, 1e16])
)
AMOUNTS = st.integers(0, 2**200) | st.floats(0, allow_infinity=False, allow_nan=False)


def read_back(of: Metric, rows: list[Row], fmt: Format) -> list[Sample]:
    block = render_block(column_of(of, rows))
    return parsed(text_of([[block]] if block else [], fmt), fmt)


def expected(of: Metric, rows: Iterable[Row]) -> list[Sample]:
    # The parsers read every number as a float; that integers are exact has a test of its own.
    return [
        (of.name, dict(zip(of.labels, labels, strict=True)), repr(float(value)))
        for labels, value in rows
        if value is not None
    ]


def rows_of(numbers: st.SearchStrategy[Number]) -> st.SearchStrategy[list[Row]]:
    row = st.tuples(st.tuples(LABEL_VALUES, LABEL_VALUES), st.none() | numbers)
    return st.lists(row, max_size=8, unique_by=lambda row: row[0])


@settings(max_examples=examples(150), deadline=None)
@given(rows=rows_of(NUMBERS), fmt=FORMATS)
def test_gauges_are_read_back_as_they_were(rows: list[Row], fmt: Format) -> None:
    assert read_back(GAUGE, rows, fmt) == expected(GAUGE, rows)


@settings(max_examples=examples(100), deadline=None)
@given(rows=rows_of(AMOUNTS), fmt=FORMATS)
def test_counters_are_read_back_as_they_were(rows: list[Row], fmt: Format) -> None:
    assert read_back(COUNTER, rows, fmt) == expected(COUNTER, rows)


@settings(max_examples=examples(100), deadline=None)
@given(
    systems=st.lists(st.tuples(rows_of(NUMBERS), rows_of(AMOUNTS)), max_size=3),
    fmt=FORMATS,
    live=st.sampled_from([b"", b"streamgauge_series 3\n"]),
)
def test_the_gzip_body_is_one_member_and_equals_the_plain_text(
    systems: list[tuple[list[Row], list[Row]]], fmt: Format, live: bytes
) -> None:
    blocks = [
        [b for b in map(render_block, (column_of(GAUGE, g), column_of(COUNTER, c))) if b]
        for g, c in systems
    ]
    exposition = assemble(blocks, live, fmt)
    plain = b"".join(exposition.plain_chunks())
    body = exposition.gzip_body()
    reader = zlib.decompressobj(31)
    assert reader.decompress(body) == plain
    assert (reader.eof, reader.unused_data) == (True, b"")
    assert gzip.decompress(body) == plain
    assert exposition.size == len(plain)


def test_integers_are_written_exactly() -> None:
    for value in (0, -1, 2**53 + 1, 2**63, 2**64 - 1, 2**64, 10**60 + 7):
        lines = b"".join(write_lines(column_of(GAUGE, [(("a", "b"), value)])))
        assert lines == f'streamgauge_stream_depth{{system="a",stream="b"}} {value}\n'.encode()


@pytest.mark.parametrize("beside", [1, 0.5, True, None])
@pytest.mark.parametrize(
    ("value", "word"), [(math.nan, "NaN"), (math.inf, "+Inf"), (-math.inf, "-Inf")]
)
def test_numbers_that_are_not_finite_are_spelt_as_prometheus_does(
    value: float, word: str, beside: Number | None
) -> None:
    column = column_of(GAUGE, [(("a", "b"), beside), (("a", "c"), value)])
    assert b"".join(write_lines(column)).decode().endswith(f'stream="c"}} {word}\n')


def test_a_label_that_resembles_a_value_is_left_alone() -> None:
    column = column_of(GAUGE, [((" nan", "null"), math.nan), ((" inf\n", "True"), 1)])
    assert b"".join(write_lines(column)).decode() == (
        'streamgauge_stream_depth{system=" nan",stream="null"} NaN\n'
        'streamgauge_stream_depth{system=" inf\\n",stream="True"} 1\n'
    )


def test_truth_values_and_enum_members_are_written_as_numbers() -> None:
    class Verdict(IntEnum):
        STUCK = 7

    rows = [(("a", "1"), True), (("a", "2"), False), (("a", "3"), Verdict.STUCK)]
    lines = b"".join(write_lines(column_of(GAUGE, rows))).decode().splitlines()
    assert [line.rsplit(" ", 1)[1] for line in lines] == ["1", "0", "7"]


def test_a_value_that_is_no_number_is_refused_by_name() -> None:
    column = Column(GAUGE, ['{system="a"'], ["5"])  # type: ignore[list-item]
    with pytest.raises(ExpositionError, match="streamgauge_stream_depth: '5' is not a number"):
        render_block(column)


def test_an_absent_value_has_no_line() -> None:
    block = block_of(GAUGE, (("a", "1"), None), (("a", "2"), 0), (("a", "3"), None))
    assert block.lines == 1
    assert parsed(text_of([[block]], Format.TEXT), Format.TEXT) == [
        (GAUGE.name, {"system": "a", "stream": "2"}, "0.0")
    ]


def test_a_column_without_any_value_has_no_block() -> None:
    assert render_block(column_of(GAUGE, [(("a", "1"), None)])) is None
    assert render_block(Column(GAUGE, [], [])) is None


def test_a_column_of_many_chunks_loses_and_doubles_nothing() -> None:
    count = 5 * CHUNK + 1
    empty = range(2 * CHUNK, 3 * CHUNK + 9)  # a whole chunk and a little more
    values = [None if i in empty or i % 7 == 0 else i for i in range(count)]
    heads = (label_head(GAUGE.labels, ("a", str(i))) for i in range(count))
    block = render_block(Column(GAUGE, heads, iter(values)))
    assert block is not None
    present = [value for value in values if value is not None]
    assert block.lines == len(present)
    text = text_of([[block]], Format.TEXT)
    assert [line.rsplit(" ", 1)[1] for line in text.splitlines()[2:]] == list(map(str, present))
    assert all(f'stream="{value}"}} {value}\n' in text for value in present)


@pytest.mark.parametrize(
    ("heads", "values"), [(2, 1), (1, 2), (CHUNK + 1, CHUNK), (CHUNK, CHUNK + 1)]
)
def test_heads_and_values_of_unequal_number_are_refused(heads: int, values: int) -> None:
    column = Column(GAUGE, ['{system="a"'] * heads, [1] * values)
    with pytest.raises(ExpositionError, match="streamgauge_stream_depth: more"):
        render_block(column)


def test_a_metric_without_labels_has_no_braces() -> None:
    block = block_of(BARE, ((), 12))
    assert text_of([[block]], Format.TEXT).splitlines()[-1] == "streamgauge_series 12"


def test_a_head_that_does_not_fit_the_labels_is_refused() -> None:
    with pytest.raises(ExpositionError, match="streamgauge_stream_depth: the head ''"):
        render_block(Column(GAUGE, [""], [1]))
    with pytest.raises(ExpositionError, match="streamgauge_series: the head"):
        render_block(Column(BARE, ['{system="a"'], [1]))


def test_a_lone_surrogate_becomes_a_question_mark() -> None:
    block = block_of(GAUGE, (("a\ud800b", "é"), 1))
    assert parsed(text_of([[block]], Format.TEXT), Format.TEXT) == [
        (GAUGE.name, {"system": "a?b", "stream": "é"}, "1.0")
    ]


def test_a_head_is_extended_label_by_label() -> None:
    head = label_head(("system", "stream"), ("a", 'b"'))
    assert head == '{system="a",stream="b\\""'
    assert extend_head(head, ("server",), ("n\\1",)) == head + ',server="n\\\\1"'
    assert extend_head(head, (), ()) == head
    assert extend_head("", ("server",), ("n1",)) == '{server="n1"'
    assert label_head((), ()) == ""


def test_label_names_and_values_of_unequal_number_are_refused() -> None:
    with pytest.raises(ValueError, match="shorter"):
        label_head(("system", "stream"), ("a",))
