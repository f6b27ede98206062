"""Histograms as text: buckets, sums and counts that agree, or none."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples
from support.exporter.exposition_text import (
    FORMATS,
    GAUGE,
    LABEL_VALUES,
    column_of,
    families_of,
    metric,
    parsed,
    text_of,
)

from exporter.exposition.histogram import Histogram, Tally
from exporter.exposition.text_format import (
    Column,
    ExpositionError,
    Format,
    label_head,
    render_block,
    write_lines,
)
from exporter.metric import Kind, Subject, Unit

HISTOGRAM = metric("consumer_ack_seconds", Kind.HISTOGRAM, unit=Unit.SECONDS)


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


@settings(max_examples=examples(100), deadline=None)
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
