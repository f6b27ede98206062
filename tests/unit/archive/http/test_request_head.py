"""Which heads take the short way, and how its answers are written."""

from __future__ import annotations

from typing import Final

import pytest
from support.remote_write.framed_requests import LINE

from archive.http.request_head import Head, read_head
from archive.http.response_writer import ResponseWriter
from archive.ingest.response import durable, later
from archive.remote_write.decoder import Version
from archive.remote_write.result import Written

PLAIN: Final = [
    b"Host: archive:7779",
    b"User-Agent: Prometheus/2.42.0",
    b"Content-Length: 12",
    b"Content-Encoding: snappy",
    b"Content-Type: application/x-protobuf",
]


def head_of(*lines: bytes, first: bytes = LINE) -> bytes:
    return b"\r\n".join((first, *lines))


# --- the head -------------------------------------------------------------------------------------


def test_a_plain_head_is_read() -> None:
    head = read_head(head_of(*PLAIN, b"AUTHORIZATION:  Bearer x \t"), LINE)
    assert head == Head(12, "application/x-protobuf", "snappy", "Bearer x", "Prometheus/2.42.0")


def test_what_is_not_said_is_empty() -> None:
    assert read_head(head_of(b"content-length:0"), LINE) == Head(0, "", "", None, "")


@pytest.mark.parametrize(
    "lines",
    [
        [b"Host: a"],  # no size
        [*PLAIN, b"Content-Length: 12"],
        [*PLAIN, b"content-type: text/plain"],
        [*PLAIN, b"Transfer-Encoding: chunked"],
        [*PLAIN, b"Expect: 100-continue"],
        [*PLAIN, b"Upgrade: h2c"],
        [*PLAIN, b"Connection: close"],
        [*PLAIN, b"Connection: keep-alive, Upgrade"],
        [*PLAIN, b" folded: header"],
        [*PLAIN, b"Name : space"],
        [*PLAIN, b"no colon"],
        [*PLAIN, b": no name"],
        [*PLAIN, b"X: \x00"],
        [*PLAIN, b"X: a\nY: b"],
        [*PLAIN, b"X: a\rY: b"],
        [*PLAIN, b"X: caf\xc3\xa9"],
        [b"Content-Length: +5"],
        [b"Content-Length: -1"],
        [b"Content-Length: 1_0"],
        [b"Content-Length: 0x10"],
        [b"Content-Length: 5, 5"],
        [b"Content-Length:"],
        [b"Content-Length: 99999999999"],
        [b""],
    ],
    ids=repr,
)
def test_what_is_not_plain_is_left_to_aiohttp(lines: list[bytes]) -> None:
    assert read_head(head_of(*lines), LINE) is None


@pytest.mark.parametrize(
    "first",
    [
        b"GET /api/v1/write HTTP/1.1",
        b"POST /api/v1/write HTTP/1.0",
        b"POST /api/v1/write?x=1 HTTP/1.1",
        b"POST /api/v1/write/ HTTP/1.1",
        b"POST  /api/v1/write HTTP/1.1",
        b"post /api/v1/write HTTP/1.1",
        b"POST http://a/api/v1/write HTTP/1.1",
    ],
)
def test_only_the_one_request_line_is_known(first: bytes) -> None:
    assert read_head(head_of(*PLAIN, first=first), LINE) is None


# --- answers --------------------------------------------------------------------------------------


def test_answers_are_written_as_http() -> None:
    writer = ResponseWriter(lambda: {"X-Frame-Options": "deny"})
    done = writer.written(durable(Version.V2, Written(3, 2, 1)))
    head, body = done.split(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    assert (lines[0], body) == (b"HTTP/1.1 204 No Content", b"")
    assert lines[1].startswith(b"Date: ")
    assert lines[1].endswith(b" GMT")
    assert lines[2:] == [
        b"X-Prometheus-Remote-Write-Samples-Written: 3",
        b"X-Prometheus-Remote-Write-Histograms-Written: 2",
        b"X-Prometheus-Remote-Write-Exemplars-Written: 1",
        b"X-Frame-Options: deny",
    ]
    busy = writer.written(later(Version.V1, "é"))
    assert busy.startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
    assert b"\r\nRetry-After: 5\r\n" in busy
    assert b"\r\nContent-Length: 3\r\n" in busy
    assert busy.endswith("\r\n\r\né\n".encode())
