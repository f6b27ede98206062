"""What is written is what prometheus-client's own parsers read back."""

from __future__ import annotations

import gzip
import math
import zlib
from collections.abc import Callable, Iterable
from enum import IntEnum

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.openmetrics.parser import (
    text_string_to_metric_families as parse_openmetrics,
)
from prometheus_client.parser import text_string_to_metric_families as parse_text

from exporter import catalog
from exporter.exposition import _LINES_PER_CHUNK as CHUNK
from exporter.exposition import (
    Block,
    Column,
    ExpositionError,
    Format,
    assemble,
    extend_head,
    header,
    label_head,
    render_block,
    write_lines,
)
from exporter.histogram import Histogram, Tally
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
        origin=Origin.ANSWER,
        unit=unit,
    )


GAUGE = metric("stream_depth")
COUNTER = metric("stream_stores_total", Kind.COUNTER)
INFO = metric("stream_shape_info", Kind.INFO)
FINDING = metric("consumer_config_finding", Kind.INFO, subject=Subject.CONSUMER)
SECONDS = metric("stream_age_seconds", unit=Unit.SECONDS)
BARE = metric("series", labels=(), subject=Subject.EXPORTER)
HISTOGRAM = metric("consumer_ack_seconds", Kind.HISTOGRAM, unit=Unit.SECONDS)

NASTY = ["", '"} 5\n', "\\", '\\"', "\\n", "a # b", "{}", ",", '="', "\r", "\u2028", "é🎉", "\x00"]
LABEL_VALUES = st.sampled_from(NASTY) | st.text(
    st.sampled_from('"\\\n\r{}, =#') | st.characters(exclude_categories=["Cs"]), max_size=12
)
NUMBERS = (
    st.integers(-(2**200), 2**200)
    | st.sampled_from([2**53 + 1, 2**63, 2**64 - 1, 2**64, -(2**63) - 1, True, False])
    | st.floats()
    | st.sampled_from([math.nan, math.inf, -math.inf, -0.0, 5e-324, 1e16])
)
AMOUNTS = st.integers(0, 2**200) | st.floats(0, allow_infinity=False, allow_nan=False)
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


@settings(max_examples=150, deadline=None)
@given(rows=rows_of(NUMBERS), fmt=FORMATS)
def test_gauges_are_read_back_as_they_were(rows: list[Row], fmt: Format) -> None:
    assert read_back(GAUGE, rows, fmt) == expected(GAUGE, rows)


@settings(max_examples=100, deadline=None)
@given(rows=rows_of(AMOUNTS), fmt=FORMATS)
def test_counters_are_read_back_as_they_were(rows: list[Row], fmt: Format) -> None:
    assert read_back(COUNTER, rows, fmt) == expected(COUNTER, rows)


@settings(max_examples=100, deadline=None)
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


def test_a_label_that_looks_like_a_value_is_left_alone() -> None:
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


def test_a_number_among_histograms_is_refused() -> None:
    with pytest.raises(
        ExpositionError, match="streamgauge_consumer_ack_seconds: 1 is not a histogram"
    ):
        render_block(column_of(HISTOGRAM, [(("a", "b"), 1)]))


def test_a_histogram_among_numbers_is_refused() -> None:
    column = Column(GAUGE, ['{system="a"'], [Histogram((1.0,), (0, 0), 0.0)])
    with pytest.raises(ExpositionError, match=r"streamgauge_stream_depth: .* is not a number"):
        render_block(column)


def test_a_histogram_is_written_bucket_by_bucket_with_its_sum_and_count() -> None:
    ack_times = Histogram((0.5, 1.0, 30.0), (2, 0, 1, 4), 212.75)
    block = render_block(Column(HISTOGRAM, ['{system="a",stream="b"', "{x"], [ack_times, None]))
    assert block is not None
    assert block.lines == 6
    assert text_of([[block]], Format.TEXT) == (
        "# HELP streamgauge_consumer_ack_seconds A number for a test.\n"
        "# TYPE streamgauge_consumer_ack_seconds histogram\n"
        'streamgauge_consumer_ack_seconds_bucket{system="a",stream="b",le="0.5"} 2\n'
        'streamgauge_consumer_ack_seconds_bucket{system="a",stream="b",le="1.0"} 2\n'
        'streamgauge_consumer_ack_seconds_bucket{system="a",stream="b",le="30.0"} 3\n'
        'streamgauge_consumer_ack_seconds_bucket{system="a",stream="b",le="+Inf"} 7\n'
        'streamgauge_consumer_ack_seconds_sum{system="a",stream="b"} 212.75\n'
        'streamgauge_consumer_ack_seconds_count{system="a",stream="b"} 7\n'
    )
    assert text_of([[block]], Format.OPENMETRICS).startswith(
        "# TYPE streamgauge_consumer_ack_seconds histogram\n"
        "# UNIT streamgauge_consumer_ack_seconds seconds\n"
    )


def test_a_histogram_without_labels_has_only_its_bounds() -> None:
    bare = metric("pause_seconds", Kind.HISTOGRAM, (), Subject.EXPORTER, Unit.SECONDS)
    lines = b"".join(write_lines(Column(bare, [""], [Histogram((1.0,), (1, 0), 0.5)]))).decode()
    assert lines == (
        'streamgauge_pause_seconds_bucket{le="1.0"} 1\n'
        'streamgauge_pause_seconds_bucket{le="+Inf"} 1\n'
        "streamgauge_pause_seconds_sum 0.5\n"
        "streamgauge_pause_seconds_count 1\n"
    )


BOUNDS = st.lists(
    st.floats(1e-6, 1e9) | st.sampled_from([0.001, 0.01, 1, 10, 100]), max_size=6, unique=True
)
OBSERVATIONS = st.lists(st.floats(0, 1e12), max_size=20)


@settings(max_examples=100, deadline=None)
@given(
    rows=st.dictionaries(st.tuples(LABEL_VALUES, LABEL_VALUES), OBSERVATIONS, max_size=4),
    bounds=BOUNDS,
    fmt=FORMATS,
)
def test_histograms_are_read_back_as_they_were(
    rows: dict[tuple[str, str], list[float]], bounds: list[float], fmt: Format
) -> None:
    edges = tuple(sorted(map(float, bounds)))
    heads, values, wanted = [], [], []
    for labels, observed in rows.items():
        tally = Tally(edges)
        for each in observed:
            tally.note(each)
        heads.append(label_head(HISTOGRAM.labels, labels))
        values.append(tally.histogram())
        named = dict(zip(HISTOGRAM.labels, labels, strict=True))
        for edge in (*edges, math.inf):
            at_most = sum(1 for each in observed if each <= edge)
            le = "+Inf" if edge == math.inf else repr(edge)
            wanted.append((f"{HISTOGRAM.name}_bucket", {**named, "le": le}, repr(float(at_most))))
        wanted.append((f"{HISTOGRAM.name}_sum", named, repr(float(tally.sum))))
        wanted.append((f"{HISTOGRAM.name}_count", named, repr(float(len(observed)))))
    block = render_block(Column(HISTOGRAM, heads, values))
    text = text_of([[block]] if block else [], fmt)
    assert parsed(text, fmt) == wanted
    kinds = {(family.name, family.type) for family in families_of(text, fmt)}
    assert kinds == ({(HISTOGRAM.name, "histogram")} if rows else set())


@pytest.mark.parametrize(
    ("bounds", "counts"), [((1.0,), (1,)), ((2.0, 1.0), (0, 0, 0)), ((1.0, 1.0), (0, 0, 0))]
)
def test_a_histogram_that_contradicts_itself_is_refused(
    bounds: tuple[float, ...], counts: tuple[int, ...]
) -> None:
    with pytest.raises(ValueError, match="bounds"):
        Histogram(bounds, counts, 0.0)


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


def test_a_family_stands_once_with_the_lines_of_every_system() -> None:
    first = [block_of(GAUGE, (("a", "1"), 1)), block_of(COUNTER, (("a", "1"), 2))]
    second = [block_of(GAUGE, (("b", "1"), 3)), block_of(COUNTER, (("b", "1"), 4))]
    assert text_of([first, second], Format.TEXT) == (
        "# HELP streamgauge_stream_depth A number for a test.\n"
        "# TYPE streamgauge_stream_depth gauge\n"
        'streamgauge_stream_depth{system="a",stream="1"} 1\n'
        'streamgauge_stream_depth{system="b",stream="1"} 3\n'
        "# HELP streamgauge_stream_stores_total A number for a test.\n"
        "# TYPE streamgauge_stream_stores_total counter\n"
        'streamgauge_stream_stores_total{system="a",stream="1"} 2\n'
        'streamgauge_stream_stores_total{system="b",stream="1"} 4\n'
    )


def test_families_stand_in_catalogue_order_whatever_the_systems_have() -> None:
    later, middle, sooner = catalog.STREAM_UP, catalog.CONSUMER_VERDICT, catalog.CONSUMER_UP
    first, second = [(later, 1), (sooner, 1)], [(middle, 0)]
    blocks = [
        [block_of(of, (tuple("abcd"[: len(of.labels)]), value)) for of, value in system]
        for system in (first, second)
    ]
    names = [name for name, _, _ in parsed(text_of(blocks, Format.TEXT), Format.TEXT)]
    assert names == [sooner.name, middle.name, later.name]


@pytest.mark.parametrize("fmt", Format)
def test_every_metric_of_the_catalogue_has_a_header_that_is_read_back(fmt: Format) -> None:
    blocks = [sample_block(one) for one in catalog.ALL]
    text = text_of([blocks], fmt)
    assert [family.documentation for family in families_of(text, fmt)] == [
        one.help for one in catalog.ALL
    ]
    assert [name for name, _, _ in parsed(text, fmt)] == [
        name
        for one in catalog.ALL
        for name in (
            (f"{one.name}_bucket", f"{one.name}_sum", f"{one.name}_count")
            if one.kind is Kind.HISTOGRAM
            else (one.name,)
        )
    ]


def sample_block(of: Metric) -> Block:
    head = label_head(of.labels, tuple("x" * len(of.labels)))
    value = Histogram((), (1,), 1.0) if of.kind is Kind.HISTOGRAM else 1
    block = render_block(Column(of, [head], [value]))
    assert block is not None
    return block


def test_openmetrics_names_families_units_and_the_end() -> None:
    blocks = [
        block_of(COUNTER, (("a", "1"), 2)),
        block_of(INFO, (("a", "1"), 1)),
        block_of(SECONDS, (("a", "1"), 2.5)),
    ]
    live = b"# TYPE streamgauge_series gauge\nstreamgauge_series 3\n"
    text = text_of([blocks], Format.OPENMETRICS, live)
    assert text == (
        "# TYPE streamgauge_stream_stores counter\n"
        "# HELP streamgauge_stream_stores A number for a test.\n"
        'streamgauge_stream_stores_total{system="a",stream="1"} 2\n'
        "# TYPE streamgauge_stream_shape info\n"
        "# HELP streamgauge_stream_shape A number for a test.\n"
        'streamgauge_stream_shape_info{system="a",stream="1"} 1\n'
        "# TYPE streamgauge_stream_age_seconds gauge\n"
        "# UNIT streamgauge_stream_age_seconds seconds\n"
        "# HELP streamgauge_stream_age_seconds A number for a test.\n"
        'streamgauge_stream_age_seconds{system="a",stream="1"} 2.5\n'
        "# TYPE streamgauge_series gauge\n"
        "streamgauge_series 3\n"
        "# EOF\n"
    )
    kinds = {
        family.name: (family.type, family.unit) for family in families_of(text, Format.OPENMETRICS)
    }
    assert kinds == {
        "streamgauge_stream_stores": ("counter", ""),
        "streamgauge_stream_shape": ("info", ""),
        "streamgauge_stream_age_seconds": ("gauge", "seconds"),
        "streamgauge_series": ("gauge", ""),
    }


@pytest.mark.parametrize("fmt", Format)
def test_a_finding_is_a_gauge_in_both_formats(fmt: Format) -> None:
    assert b"# TYPE streamgauge_consumer_config_finding gauge\n" in header(FINDING, fmt)
    text = text_of([[block_of(FINDING, (("a", "1"), 1))]], fmt)
    assert parsed(text, fmt) == [(FINDING.name, {"system": "a", "stream": "1"}, "1.0")]


@pytest.mark.parametrize(
    ("fmt", "written"),
    [
        (Format.TEXT, b'The "depth" of C:\\\\new.\n'),
        (Format.OPENMETRICS, b'The \\"depth\\" of C:\\\\new.\n'),
    ],
)
def test_a_help_text_is_escaped_as_its_format_wants(fmt: Format, written: bytes) -> None:
    odd = metric("stream_odd", explanation='The "depth" of C:\\new.')
    assert written in header(odd, fmt)
    (family,) = families_of(text_of([[block_of(odd, (("a", "1"), 1))]], fmt), fmt)
    assert family.documentation == odd.help


def test_a_selection_keeps_only_its_subjects_and_the_live_text() -> None:
    blocks = [block_of(GAUGE, (("a", "1"), 1)), block_of(FINDING, (("a", "1"), 1))]
    live = b"streamgauge_series 3\n"
    exposition = assemble([blocks], live, Format.TEXT, frozenset({Subject.CONSUMER}))
    names = [
        name for name, _, _ in parsed(b"".join(exposition.plain_chunks()).decode(), Format.TEXT)
    ]
    assert names == [FINDING.name, BARE.name]


def test_an_empty_selection_is_an_empty_body() -> None:
    blocks = [block_of(GAUGE, (("a", "1"), 1))]
    nothing: frozenset[Subject] = frozenset()
    assert b"".join(assemble([blocks], b"", Format.TEXT, nothing).plain_chunks()) == b""
    ended = assemble([blocks], b"", Format.OPENMETRICS, nothing)
    assert b"".join(ended.plain_chunks()) == b"# EOF\n"


@pytest.mark.parametrize("live", [b"streamgauge_series 3", b"streamgauge_series 3\n# EOF\n"])
def test_live_text_that_would_break_the_body_is_refused(live: bytes) -> None:
    with pytest.raises(ExpositionError, match="live text"):
        assemble([], live, Format.OPENMETRICS)


def test_each_format_names_its_content_type_and_only_openmetrics_knows_infos() -> None:
    assert header(INFO, Format.TEXT).endswith(b"# TYPE streamgauge_stream_shape_info gauge\n")
    assert Format.TEXT.content_type == "text/plain; version=0.0.4; charset=utf-8"
    assert Format.OPENMETRICS.content_type.startswith("application/openmetrics-text; version=1.0.0")
