"""The clock proxy shifts the later timestamps of one server, and nothing else."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime

from streamgauge.demo.nats_server.clock_proxy import WrongClock, moved_body

SINCE = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)
RESPONSE = (
    b'{"server":{"name":"n1","time":"2026-11-16T12:00:05.25Z"},'
    b'"created":"2026-11-16T11:59:59Z","never":"0001-01-01T00:00:00Z"}'
)
MOVED = RESPONSE.replace(b"12:00:05.25Z", b"12:00:12.25Z")


def test_only_what_was_stamped_since_then_is_moved() -> None:
    assert moved_body(RESPONSE, WrongClock(7, "n1", SINCE)) == MOVED


def test_without_a_beginning_everything_is_moved_but_never() -> None:
    everything = MOVED.replace(b"11:59:59Z", b"12:00:06Z")
    assert moved_body(RESPONSE, WrongClock(7)) == everything


def test_another_server_keeps_its_time() -> None:
    assert moved_body(RESPONSE, WrongClock(7, "n2", SINCE)) == RESPONSE


def test_a_compressed_response_is_shifted_too() -> None:
    packed = moved_body(gzip.compress(RESPONSE), WrongClock(7, "n1", SINCE))
    assert gzip.decompress(packed) == MOVED


def test_a_right_clock_changes_no_byte() -> None:
    packed = gzip.compress(RESPONSE)
    assert moved_body(packed, WrongClock(0, "n1", SINCE)) is packed
