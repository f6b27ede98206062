"""Forecasts and trends as of a day: for which days, and the same from here and from workers."""

from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest

from spark_rollups import asof, asof_batches
from spark_rollups.capacity_trend import TREND_ASKED, trend_batch
from spark_rollups.places import Place
from spark_rollups.progress import Silent
from spark_rollups.rollup_days import missing_spans, month_ends, newest_whole_day
from spark_rollups.rollup_manifest import Day, Manifest
from spark_rollups.tasks import Here

WHOLE = (1 << 24) - 1


def day(hours: int = WHOLE) -> Day:
    return Day("mark", hours, 0, {})


def made(tmp_path: Path, manifest: Manifest, changed: list[str]) -> dict[str, asof.Tables]:
    return asof.make_asof(Place(str(tmp_path)), manifest, changed, "stamp", Here(), Silent())


def test_the_newest_day_is_whole_when_its_last_hour_is_there() -> None:
    days = {"2026-09-28": day(), "2026-09-29": day(0b111)}
    assert newest_whole_day(days) == "2026-09-28"
    assert newest_whole_day({**days, "2026-09-29": day()}) == "2026-09-29"
    assert newest_whole_day({"2026-09-29": day(1)}) == "2026-09-29", "better than none"
    assert newest_whole_day({}) is None


def test_ends_of_months_are_those_of_the_calendar() -> None:
    days = ["2026-02-28", "2028-02-28", "2028-02-29", "2026-12-31", "2026-09-29"]
    assert month_ends(days) == ["2026-02-28", "2026-12-31", "2028-02-29"]


def test_gaps_between_days_are_found() -> None:
    assert missing_spans(["2026-03-01", "2026-02-27", "2026-03-04"]) == [
        (date(2026, 2, 28), date(2026, 2, 28)),
        (date(2026, 3, 2), date(2026, 3, 3)),
    ]
    assert missing_spans([]) == []


def test_forecasts_are_made_as_of_the_newest_day_and_of_each_month(tmp_path: Path) -> None:
    days = {name: day() for name in ("2026-08-31", "2026-09-29", "2026-09-30", "2026-10-01")}
    found = made(tmp_path, Manifest(days=days), [])
    assert sorted(found) == ["2026-08-31", "2026-09-30", "2026-10-01"]
    assert {file.path for tables in found.values() for files in tables.values() for file in files} == {
        f"{name}/asof={each}/stamp.parquet" for name in ("forecasts", "trends") for each in found
    }  # fmt: skip


def test_what_no_changed_day_touches_is_kept_and_yesterday_makes_room(tmp_path: Path) -> None:
    days = {name: day() for name in ("2026-08-31", "2026-09-29", "2026-09-30", "2026-10-01")}
    kept: asof.Tables = {"forecasts": ()}
    asof_of = {"2026-08-31": kept, "2026-09-29": kept, "2026-09-30": kept}
    found = made(tmp_path, Manifest(days=days, asof=asof_of), ["2026-10-01"])
    assert sorted(found) == ["2026-08-31", "2026-09-30", "2026-10-01"]
    assert found["2026-09-30"] is kept
    late = made(tmp_path, Manifest(days=days, asof=found), ["2026-09-29"])
    assert late["2026-08-31"] is kept
    assert late["2026-09-30"] is not kept
    assert made(tmp_path, Manifest(days=days, asof=found), []) == {}


def trend_rows(number: int) -> pa.Table:
    points = [float(each) for each in range(20)]
    row = {
        "metric": "m", "kind": "gauge", "system": f"s{number}", "account": "", "stream": "",
        "consumer": "", "server": "", "labels": [],
        "times": [each * 86_400.0 for each in points], "levels": [each * number for each in points],
    }  # fmt: skip
    return pa.Table.from_pylist([row], schema=TREND_ASKED)


@pytest.mark.parametrize("count", [0, 1, asof_batches.FEW, asof_batches.FEW + 3])
def test_many_batches_go_to_workers_and_say_the_same_in_the_same_order(
    count: int, tmp_path: Path
) -> None:
    batches = [trend_rows(number) for number in range(count)]
    as_of, place = date(2026, 9, 28), Place(str(tmp_path))
    found = list(asof_batches.worked_out("trends", batches, as_of, place, "stamp", Here()))
    assert found == [trend_batch(batch, as_of) for batch in batches]
    assert place.walk("") == [], "what was asked is taken away again"
