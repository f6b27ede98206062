"""Time or space left before a stream's limits remove unread messages."""

from __future__ import annotations

from typing import Any

import pytest
from support.exporter.models import stream, stream_config

from exporter.model import Stream
from exporter.signals.retention import headroom_ratio, headroom_seconds


def full(**config: Any) -> Stream:
    """A hundred messages, from 101 to 200."""
    return stream(
        messages=100,
        bytes=1000,
        first_seq=101,
        last_seq=200,
        config=stream_config(**config),
    )


@pytest.mark.parametrize(
    ("lag", "max_age", "expected"),
    [(40.0, 100.0, 60.0), (140.0, 100.0, -40.0), (0.0, 100.0, None), (40.0, None, None)],
)
def test_time_is_left_until_the_first_unread_message_expires(
    lag: float, max_age: float | None, expected: float | None
) -> None:
    assert headroom_seconds(lag, stream_config(max_age_seconds=max_age)) == expected


def test_of_an_unknown_lag_or_stream_nothing_is_reported() -> None:
    assert headroom_seconds(None, stream_config(max_age_seconds=9.0)) is None
    assert headroom_seconds(5.0, None) is None


@pytest.mark.parametrize(
    ("config", "unfinished", "expected"),
    [
        ({"max_messages": 100}, 101, 0.0),
        ({"max_messages": 100}, 151, 0.5),
        ({"max_messages": 100}, 200, 0.99),
        ({"max_bytes": 1000}, 151, 0.5),
        ({"max_messages": 100}, None, None),  # caught up
        ({"max_messages": 200}, 101, None),  # half full: nothing is removed yet
        ({"max_messages": 100, "discard": "new"}, 101, None),  # never removes
        ({}, 101, None),
        ({"max_messages": 100}, 90, 0.0),  # already gone
        ({"max_messages": 100}, 201, 1.0),  # stored after the stream was polled
    ],
)
def test_headroom_is_left_before_the_end_that_is_being_removed(
    config: dict[str, Any], unfinished: int | None, expected: float | None
) -> None:
    assert headroom_ratio(unfinished, full(**config)) == expected


def test_an_empty_stream_has_no_headroom_to_show() -> None:
    assert headroom_ratio(5, stream(config=stream_config(max_messages=1))) is None
