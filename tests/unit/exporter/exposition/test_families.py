"""Families, headers and formats: what appears once, in which order, for which reader."""

from __future__ import annotations

import pytest
from support.exporter.exposition_text import (
    BARE,
    COUNTER,
    GAUGE,
    block_of,
    families_of,
    metric,
    parsed,
    text_of,
)

from exporter import catalog
from exporter.exposition.histogram import Histogram
from exporter.exposition.text_format import (
    Block,
    Column,
    ExpositionError,
    Format,
    assemble,
    header,
    label_head,
    render_block,
)
from exporter.metric import Kind, Metric, Subject, Unit

INFO = metric("stream_shape_info", Kind.INFO)
FINDING = metric("consumer_config_finding", Kind.INFO, subject=Subject.CONSUMER)
SECONDS = metric("stream_age_seconds", unit=Unit.SECONDS)


def test_a_family_appears_once_with_the_lines_of_every_system() -> None:
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


def test_families_are_in_catalogue_order_whatever_the_systems_have() -> None:
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
