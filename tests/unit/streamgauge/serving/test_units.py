"""Durations and sizes: parsing, errors, formatting."""

from __future__ import annotations

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.serving.settings.durations import format_duration, parse_duration
from streamgauge.serving.settings.sizes import format_size, parse_size


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("500ms", 0.5),
        ("15s", 15.0),
        ("1m30s", 90.0),
        ("1h", 3600.0),
        ("2d", 172800.0),
        ("1w", 604800.0),
        ("1.5h", 5400.0),
        ("0s", 0.0),
        ("1h500ms", 3600.5),
    ],
)
def test_a_duration_is_read(written: str, seconds: float) -> None:
    assert parse_duration(written) == seconds


@pytest.mark.parametrize(
    "written", ["", "15", 15, "s", "-1s", "30s1m", "1s1s", "1 s", "1S", " 1s", "1e3s", "٣s", None]
)
def test_what_is_no_duration_is_refused(written: object) -> None:
    with pytest.raises(ValueError, match="not a duration"):
        parse_duration(written)


@hypothesis.settings(deadline=None)
@given(st.integers(min_value=0, max_value=10**14))
def test_a_duration_reads_back_as_it_was_written(milliseconds: int) -> None:
    seconds = milliseconds / 1000

    assert round(parse_duration(format_duration(seconds)) * 1000) == milliseconds


@pytest.mark.parametrize(
    ("written", "size"),
    [("64MiB", 64 << 20), ("1.5GiB", 3 << 29), ("10MB", 10**7), ("512B", 512), ("1 KiB", 1024)],
)
def test_a_size_is_read(written: str, size: int) -> None:
    assert parse_size(written) == size


@hypothesis.settings(deadline=None)
@given(st.integers(min_value=0, max_value=10**15 - 1))
def test_a_size_reads_back_as_it_was_written(size: int) -> None:
    assert parse_size(format_size(size)) == size
