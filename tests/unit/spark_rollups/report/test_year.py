"""The year: months, seasons, year over year, and the scoreboard of earlier forecasts."""

import itertools
import re
from datetime import date, timedelta

import pytest
from support.rollups.literal_rollups import LiteralRollups, month_days
from support.rollups.report_month import (
    GIB,
    NOVEMBER,
    OCTOBER,
    STREAM,
    forecast,
    healthy,
    report_of,
    rows_of,
)

from exporter import catalog as c
from spark_rollups.report.figures import Bar, Figure, every_nth, spark_lines
from spark_rollups.report.model import Report
from spark_rollups.report.render import figure_html


def chapter_text(report: Report) -> str:
    (found,) = [each for each in report.chapters if each.key == "year"]
    return " ".join(found.sentences).replace("\u00a0", " ")


def with_year(rollups: LiteralRollups) -> LiteralRollups:
    """November of the year before, with half of the size."""
    days = month_days(2025, 11)
    rollups.gauge(c.UP, days, 1)
    rollups.gauge(c.STREAM_BYTES, days, 8 * GIB, **STREAM)
    rollups.counter(c.STREAM_STORED_MESSAGES, days, 25_000, **STREAM)
    return rollups


def test_months_have_size_growth_and_load() -> None:
    november, october = rows_of(report_of(healthy()), "year")
    assert (november["month"], november["days"]) == ("November 2026", 30)
    assert november["size"] == pytest.approx((10 + 60 / 10) * GIB)
    assert november["growth"] == pytest.approx(3.0 * GIB)
    assert november["stored"] == 50_000
    assert october["growth"] is None  # the month before has no data
    assert "needs data of the same month a year ago" in chapter_text(report_of(healthy()))


def test_the_oldest_month_has_its_growth_since_the_one_before_it() -> None:
    """Thirteen months are shown; the fourteenth is only the base of the oldest."""
    rollups = LiteralRollups()
    days = [date(2025, 10, 1) + timedelta(days=n) for n in range(426)]
    rollups.gauge(c.UP, days, 1)
    rollups.gauge(c.STREAM_BYTES, days, lambda day: day * GIB, **STREAM)
    rows = rows_of(report_of(rollups), "year")
    assert (len(rows), rows[-1]["month"]) == (13, "November 2025")
    assert rows[-1]["growth"] == pytest.approx(30 * GIB)


def test_year_over_year_compares_the_same_month() -> None:
    report = report_of(with_year(healthy()))
    rows = {row["month"]: row for row in rows_of(report, "year")}
    assert rows["November 2026"]["year_before"].replace("\u00a0", " ") == "+100 %"
    assert "The size of streams since November 2025: +100 %." in chapter_text(report)


def test_a_weekly_season_is_found_and_none_is_invented() -> None:
    assert "no weekly season" in chapter_text(report_of(healthy()))
    rollups = healthy()
    stored = c.STREAM_STORED_MESSAGES.name
    rollups.rows["daily"] = [row for row in rollups.rows["daily"] if row["metric"] != stored]
    days = OCTOBER + NOVEMBER

    def load(day: int) -> float:
        return 1000.0 if days[day].weekday() == 6 else 50_000.0

    rollups.counter(c.STREAM_STORED_MESSAGES, days, load, **STREAM)
    text = chapter_text(report_of(rollups))
    assert "Publishes have a weekly season: Monday has 116 % of a mean day, Sunday 2.3 %" in text


def test_the_scoreboard_counts_hits_and_misses_of_every_earlier_month() -> None:
    rollups = healthy()
    made = date(2026, 10, 31)
    (actual,) = [
        row["last"]
        for row in rollups.rows["daily"]
        if row["metric"] == c.STREAM_BYTES.name and row["day"] == made + timedelta(days=30)
    ]
    for stream, middle in (("ORDERS", actual), ("OTHER", actual / 2)):
        rollups.gauge(c.STREAM_BYTES, NOVEMBER, actual, account="APP", stream="OTHER")
        ahead = {f"level_30d_q{q}": middle * (0.9 + q / 500) for q in (10, 50, 90)}
        rollups.forecast(made, **forecast(stream=stream, **ahead))
    report = report_of(rollups)
    (row,) = rows_of(report, "scoreboard")
    assert (row["made"], row["lead"], row["judged"]) == (made, 30, 2)
    assert (row["inside"], row["above"], row["below"]) == (1, 1, 0)
    assert row["worst"] == "OTHER"
    assert "Of 2 earlier forecasts, 1 came true (50 %)" in chapter_text(report)


def test_without_earlier_forecasts_the_scoreboard_says_so() -> None:
    assert "No earlier forecast is due yet." in chapter_text(report_of(healthy()))
    assert rows_of(report_of(healthy()), "scoreboard") == []


@pytest.mark.parametrize(("labels", "every"), [(1, 1), (7, 1), (8, 2), (13, 2), (31, 5)])
def test_labels_are_thinned_so_that_they_do_not_overlap(labels: int, every: int) -> None:
    assert every_nth(labels, 320) == every
    bars = tuple(Bar(f"l{n}", float(n), str(n)) for n in range(labels))
    picture = figure_html(Figure("bars", "B", "", bars=bars))
    shown = -(-labels // every)
    assert picture.count("<text") == 2 * shown
    assert f">l{labels - 1}</text>" in picture


def test_a_sparkline_breaks_at_days_without_data_and_stays_inside() -> None:
    lines = spark_lines([1.0, 2.0, None, 3.0, None, 2.0, 1.0])
    assert [len(line) for line in lines] == [2, 1, 2]
    points = [point.split(",") for line in lines for point in line]
    assert all(0 <= float(x) <= 96 and 0 <= float(y) <= 22 for x, y in points)
    assert spark_lines([None, None]) == []


def test_rows_of_streams_have_the_days_of_the_month() -> None:
    (table,) = [table for table in report_of(healthy()).tables() if table.key == "streams"]
    assert len(table.rows[0].days) == 30
    assert table.rows[0].days[-1] == pytest.approx(16 * GIB)


@pytest.mark.parametrize(("text", "width"), [("438 GiB", 40), ("1.57 TiB", 47)])
def test_labels_of_thirteen_bars_stay_inside_the_picture_and_apart(text: str, width: int) -> None:
    """The width is that of the text in the font of the bars."""
    bars = tuple(Bar(f"Nov {n}", n + 1.0, text) for n in range(13))
    picture = figure_html(Figure("bars", "Size", "", bars=bars))
    shift = {"start": 0.0, "middle": width / 2, "end": width}
    spots = re.findall(r'<text class="value" x="([0-9.]+)" text-anchor="(\w+)"', picture)
    lefts = [float(x) - shift[anchor] for x, anchor in spots]
    assert lefts[0] >= 0
    assert lefts[-1] + width <= 320
    assert all(after - before >= width for before, after in itertools.pairwise(lefts))


@pytest.mark.parametrize("number", [3, 7, 13])
def test_no_value_of_a_bar_lies_over_a_higher_bar_beside_it(number: int) -> None:
    bars = tuple(Bar(f"Nov {n}", 1.0 + n % 3, "438 GiB") for n in range(number))
    picture = figure_html(Figure("bars", "Size", "", bars=bars))
    rects = [
        [float(value) for value in found]
        for found in re.findall(r'<rect class="fine" x="(.+?)" width="(.+?)" y="(.+?)"', picture)
    ]
    values = re.findall(r'class="value" x="(.+?)" text-anchor="(\w+)" y="(.+?)"', picture)
    assert len(rects) == number
    shift = {"start": 0.0, "middle": 20.0, "end": 40.0}
    for x, anchor, y in values:
        left = float(x) - shift[anchor]
        under = [top for at, wide, top in rects if at < left + 40 and at + wide > left]
        assert float(y) < min(under)
    assert {float(y) for _, _, y in values} != {min(float(y) for _, _, y in values)} or number == 13
