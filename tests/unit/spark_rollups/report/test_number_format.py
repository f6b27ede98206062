"""How numbers, times and dates read in the report."""

from datetime import date

import pytest

from spark_rollups.report import formatting as fmt
from spark_rollups.report.formatting import Kind, Measured, Value, plain_of, text_of
from spark_rollups.report.month import Month, ReportError, parse_month


def plain(text: str) -> str:
    """With ordinary spaces and minus signs, so that a test can be read."""
    return text.replace("\u00a0", " ").replace("\u2212", "-")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"), (7, "7"), (0.25, "0.25"), (12.5, "12.5"), (999_999, "999,999"),
        (1_234_567, "1.23 M"), (25_000_000_000, "25.0 bn"), (-3.4e6, "-3.40 M"), (3e12, "3.00 tn"),
    ],
)  # fmt: skip
def test_a_count_is_short_with_its_magnitude(value: float, text: str) -> None:
    assert plain(fmt.count(value)) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1536, "1.50 KiB"), (32 * 2**30, "32.0 GiB"), (-(2**20), "-1.00 MiB")],
)  # fmt: skip
def test_a_size_is_binary(value: float, text: str) -> None:
    assert plain(fmt.bytes_text(value)) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"), (0.012, "12 ms"), (1.5, "1.5 s"), (59, "59 s"), (60, "1 min"), (750, "12 min 30 s"),
        (3600, "1 h"), (93_600, "1 d 2 h"), (86_400 + 59, "1 d"), (-2.0, "-2 s"),
    ],
)  # fmt: skip
def test_a_time_has_at_most_two_units(seconds: float, text: str) -> None:
    assert plain(fmt.span(seconds)) == text


@pytest.mark.parametrize(
    ("ratio", "text"),
    [(0, "0 %"), (0.0004, "< 0.1 %"), (0.0123, "1.2 %"), (0.0999, "10 %"), (1, "100 %"), (-0.05, "-5.0 %")],
)  # fmt: skip
def test_a_share_never_rounds_something_to_nothing(ratio: float, text: str) -> None:
    assert plain(fmt.share(ratio)) == text


def test_a_change_is_a_share_or_a_factor() -> None:
    assert plain(fmt.change(110, 100)) == "+10 %"
    assert plain(fmt.change(50, 100)) == "-50 %"
    assert fmt.change(100.1, 100) == "unchanged"
    assert fmt.change(2900, 10) == "290 times as much"


@pytest.mark.parametrize(("now", "before"), [(None, 5), (5, None), (5, 0), (float("inf"), 5)])
def test_a_change_from_nothing_or_unknown_is_empty(now: float | None, before: float | None) -> None:
    assert fmt.change(now, before) == ""


def test_a_range_of_days_may_be_open() -> None:
    first, last = date(2026, 12, 6), date(2026, 12, 20)
    assert plain(fmt.day_range(first, last)) == "6 Dec 2026 to 20 Dec 2026"
    assert plain(fmt.day_range(first, first)) == "6 Dec 2026"
    assert plain(fmt.day_range(first, None)) == "6 Dec 2026 or later"
    assert fmt.day_range(None, None) == "unknown"


def test_consecutive_days_are_a_range() -> None:
    days = [date(2026, 11, day) for day in (5, 3, 4, 9)] + [date(2026, 11, 30), date(2026, 12, 1)]
    assert plain(fmt.days_listed(days)) == "3 to 5 Nov, 9 Nov and 30 Nov to 1 Dec"


def test_long_lists_are_counted() -> None:
    assert fmt.listed(["a"]) == "a"
    assert fmt.listed(["a", "b", "c"]) == "a, b and c"
    assert fmt.listed(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"
    assert fmt.listed([]) == ""


@pytest.mark.parametrize(
    ("kind", "value", "text", "written"),
    [
        (Kind.COUNT, None, "unknown", None),
        (Kind.BYTES, float("nan"), "unknown", None),
        (Kind.BYTES, float("inf"), "no limit", "unlimited"),
        (Kind.COUNT, 0.0, "0", 0),
        (Kind.COUNT, Measured(2048.0, Kind.BYTES), "2.00 KiB", 2048),
        (Kind.SHARE, 0.5, "50 %", 0.5),
        (Kind.DAY, date(2026, 11, 3), "3 Nov 2026", "2026-11-03"),
        (Kind.TEXT, "new", "new", "new"),
    ],
)
def test_unknown_no_limit_and_nothing_are_three_things(
    kind: Kind, value: Value, text: str, written: object
) -> None:
    assert plain(text_of(kind, value)) == text
    assert plain_of(value) == written


TODAY = date(2026, 11, 18)


def test_a_month_knows_its_days_and_the_one_before() -> None:
    month = parse_month("2028-02", TODAY)
    assert (month.first, month.last) == (date(2028, 2, 1), date(2028, 2, 29))
    assert month.before == Month(2028, 1)
    assert parse_month("2027-01", TODAY).before == Month(2026, 12)
    assert parse_month("last", TODAY) == Month(2026, 10)
    assert (str(month), month.title, len(month.all_days())) == ("2028-02", "February 2028", 29)


@pytest.mark.parametrize(
    "written", ["2026-13", "2026-00", "26-11", "2026-1", "", "November", "0001-01"]
)
def test_what_is_no_month_is_refused_by_name(written: str) -> None:
    with pytest.raises(ReportError, match=f"month {written}: not of the form YYYY-MM"):
        parse_month(written, TODAY)
