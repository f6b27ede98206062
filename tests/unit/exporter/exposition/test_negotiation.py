"""Which format and which encoding a scrape gets, for the headers that real clients send."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.exposition.negotiation import accepts_gzip, choose_format
from exporter.exposition.text_format import Format

# As a Prometheus 2.42 sent it, and as 3.x composes it from its default scrape_protocols.
PROMETHEUS_2 = (
    "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
    "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
)
PROMETHEUS_3 = (
    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"
    "application/openmetrics-text;version=0.0.1;q=0.5,"
    "text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2"
)
PROMETHEUS_3_WITH_PROTOBUF = (
    "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;"
    "q=0.6,application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,"
    "text/plain;version=0.0.4;q=0.4,*/*;q=0.3"
)
PROMETHEUS_3_TEXT_FIRST = (
    "text/plain;version=0.0.4;q=0.6,"
    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,*/*;q=0.4"
)
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        (PROMETHEUS_2, Format.OPENMETRICS),
        (PROMETHEUS_3, Format.OPENMETRICS),
        (PROMETHEUS_3_WITH_PROTOBUF, Format.OPENMETRICS),
        (PROMETHEUS_3_TEXT_FIRST, Format.TEXT),
        (BROWSER, Format.TEXT),
        ("*/*", Format.TEXT),
        ("", Format.TEXT),
        ("application/openmetrics-text", Format.OPENMETRICS),
        ('Application/OpenMetrics-Text; Version="1.0.0" ; Q=0.9', Format.OPENMETRICS),
        ("application/openmetrics-text,text/plain", Format.OPENMETRICS),
        ("application/openmetrics-text;q=0.5,text/plain", Format.TEXT),
        ("application/openmetrics-text;q=0.5,*/*", Format.TEXT),
        ("application/openmetrics-text;q=0,*/*;q=0.1", Format.TEXT),
        ("application/openmetrics-text;version=0.0.1,text/plain;q=0.5", Format.TEXT),
        ("application/openmetrics-text;q=often", Format.TEXT),
        ("image/png", Format.TEXT),
    ],
)
def test_the_format_is_the_one_that_the_client_likes_best(accept: str, expected: Format) -> None:
    assert choose_format(accept) is expected


@pytest.mark.parametrize(
    ("accept_encoding", "expected"),
    [
        ("gzip", True),
        ("gzip, deflate, br, zstd", True),
        ("GZIP;Q=0.5", True),
        ("x-gzip", True),
        ("*", True),
        ("identity, gzip", True),
        ("", False),
        ("identity", False),
        ("br", False),
        ("gzip;q=0", False),
        ("gzip; q=0.000", False),
        ("gzip;q=0, *", False),
        ("*;q=0, gzip", True),
        ("*, gzip;q=0", False),
        ("identity;q=1, gzip;q=0.5", False),
        ("gzip;q=0.5, identity;q=0", True),
        ("gzip;q=nonsense", False),
        ("gzip;q=7", False),
    ],
)
def test_gzip_is_sent_to_those_who_take_it(accept_encoding: str, expected: bool) -> None:
    assert accepts_gzip(accept_encoding) is expected


@given(st.text(st.characters(min_codepoint=32, max_codepoint=255)))
def test_no_header_is_too_strange_to_be_served(header: str) -> None:
    assert choose_format(header) in Format
    assert accepts_gzip(header) in (True, False)
