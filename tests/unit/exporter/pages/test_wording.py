"""Numbers, times and lists as words."""

from __future__ import annotations

import pytest

from exporter.pages.status.wording import ago, listed, number, percent, signed, size, span


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (None, "–"),
        (-0.2, "0 ms"),
        (0.0124, "12 ms"),
        (3.9, "3 s"),
        (59.9, "59 s"),
        (252, "4 min"),
        (3600, "1 h"),
        (7500, "2 h 5 min"),
        (93_600, "1 d 2 h"),
    ],
)
def test_times_are_reported_in_units_a_person_uses(seconds: float | None, words: str) -> None:
    assert span(seconds) == words


def test_ages_that_are_not_known_or_not_past_are_words() -> None:
    assert (ago(None), ago(-1), ago(0.5), ago(60)) == ("never", "just now", "just now", "1 min ago")


def test_long_lists_are_counted_after_three_names() -> None:
    assert listed(["a"]) == "a"
    assert listed(["a", "b"]) == "a and b"
    assert listed(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"


@pytest.mark.parametrize(
    ("octets", "words"),
    [
        (None, "–"),
        (0, "0 B"),
        (1023, "1,023 B"),
        (1024, "1 KiB"),
        (1536, "1.5 KiB"),
        (1023 * 1024, "1,023 KiB"),
        (5 * 1024**3, "5 GiB"),
        (2 * 1024**6, "2,048 PiB"),
    ],
)
def test_sizes_have_three_digits_and_a_unit(octets: float | None, words: str) -> None:
    assert size(octets) == words


def test_a_share_is_all_only_when_nothing_is_left() -> None:
    assert [percent(each) for each in (None, 0.0, 0.126, 0.996, 1.0)] == ["–", "0%", "13%", "99%", "100%"]  # fmt: skip


def test_offsets_have_a_sign() -> None:
    assert [signed(each) for each in (None, 7.24, -0.34, 0.0)] == ["–", "+7.2 s", "-340 ms", "+0 ms"]  # fmt: skip


def test_small_numbers_keep_three_digits() -> None:
    assert [number(each) for each in (None, 1204.0, 0.1234, 1234.5)] == ["–", "1,204", "0.12", "1,234"]  # fmt: skip
