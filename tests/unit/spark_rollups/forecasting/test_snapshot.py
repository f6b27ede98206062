"""Forecasts and trends as of a day: for which days, and the same from here and from workers."""

from dataclasses import replace
from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest

from spark_rollups.filesystem import RollupError, Root
from spark_rollups.forecasting.snapshot import batches as snapshot_batches
from spark_rollups.forecasting.snapshot import build
from spark_rollups.forecasting.snapshot.days import month_ends, newest_whole_day
from spark_rollups.forecasting.trend_batch import TREND_INPUT, trend_batch
from spark_rollups.jobs.changed_days import missing_spans
from spark_rollups.jobs.worker_tasks import LocalRunner
from spark_rollups.progress import SilentProgress
from spark_rollups.rollup.tables.manifest import Day, Manifest

WHOLE = (1 << 24) - 1


def day(hours: int = WHOLE, mark: str = "mark") -> Day:
    return Day(mark, hours, 0, {})


def made(tmp_path: Path, manifest: Manifest) -> Manifest:
    return build.make_snapshots(
        Root(str(tmp_path)), manifest, "stamp", LocalRunner(), SilentProgress()
    )


def test_the_newest_day_is_whole_when_its_last_hour_is_there() -> None:
    days = {"2026-09-28": day(), "2026-09-29": day(0b111)}
    assert newest_whole_day(days) == "2026-09-28"
    assert newest_whole_day({**days, "2026-09-29": day()}) == "2026-09-29"
    assert newest_whole_day({"2026-09-29": day(1)}) == "2026-09-29", "better than none"
    assert newest_whole_day({}) is None


def test_a_month_ends_with_the_last_day_that_is_there_of_it() -> None:
    days = ["2026-02-28", "2028-02-28", "2028-02-29", "2026-12-31", "2026-09-29", "2026-09-28"]
    assert month_ends(days) == ["2026-02-28", "2026-09-29", "2026-12-31"]
    assert month_ends([*days, "2028-03-01"])[-1] == "2028-02-29"
    assert month_ends(["2025-09-30", "2026-09-01"]) == ["2025-09-30"], "a year later"
    assert month_ends([]) == []


def test_gaps_between_days_are_found() -> None:
    assert missing_spans(["2026-03-01", "2026-02-27", "2026-03-04"]) == [
        (date(2026, 2, 28), date(2026, 2, 28)),
        (date(2026, 3, 2), date(2026, 3, 3)),
    ]
    assert missing_spans([]) == []


def test_forecasts_are_made_as_of_the_newest_day_and_of_each_month(tmp_path: Path) -> None:
    days = {name: day() for name in ("2026-08-31", "2026-09-29", "2026-09-30", "2026-10-01")}
    found = made(tmp_path, Manifest(days=days)).asof
    assert sorted(found) == ["2026-08-31", "2026-09-30", "2026-10-01"]
    assert {file.path for tables in found.values() for files in tables.values() for file in files} == {
        f"{name}/asof={each}/stamp.parquet" for name in ("forecasts", "trends") for each in found
    }  # fmt: skip


def test_unchanged_snapshots_are_kept_and_that_of_yesterday_is_replaced(tmp_path: Path) -> None:
    days = {name: day() for name in ("2026-08-31", "2026-09-29", "2026-09-30")}
    first = made(tmp_path, Manifest(days=days))
    assert sorted(first.asof) == ["2026-08-31", "2026-09-30"]
    second = made(tmp_path, replace(first, days={**days, "2026-10-01": day(), "2026-10-02": day()}))
    assert sorted(second.asof) == ["2026-08-31", "2026-09-30", "2026-10-02"]
    assert second.asof["2026-09-30"] is first.asof["2026-09-30"]
    third = made(tmp_path, replace(second, days={**second.days, "2026-10-03": day()}))
    assert sorted(third.asof) == ["2026-08-31", "2026-09-30", "2026-10-03"]
    assert sorted(third.asof_marks) == sorted(third.asof)
    late = made(tmp_path, replace(third, days={**third.days, "2026-09-29": day(mark="other")}))
    assert late.asof["2026-08-31"] is third.asof["2026-08-31"]
    assert late.asof["2026-09-30"] is not third.asof["2026-09-30"]
    assert made(tmp_path, third) is third


def test_what_does_not_say_of_which_days_it_was_made_is_made_again(tmp_path: Path) -> None:
    first = made(tmp_path, Manifest(days={"2026-09-30": day()}))
    again = made(tmp_path, replace(first, asof_marks={}))
    assert again.asof["2026-09-30"] is not first.asof["2026-09-30"]
    assert again.asof_marks == first.asof_marks


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (pa.ArrowInvalid("offset overflow\nand more"), "offset overflow; the days are written"),
        (MemoryError(), "out of memory; the days are written"),
    ],
)
def test_too_many_series_are_reported_in_one_line(
    error: Exception, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object) -> None:
        raise error

    monkeypatch.setitem(build._INPUTS, "trends", failing)
    with pytest.raises(RollupError, match=f"cannot compute forecasts as of 2026-09-30: {message}"):
        made(tmp_path, Manifest(days={"2026-09-30": day()}))


def trend_rows(number: int) -> pa.Table:
    points = [float(each) for each in range(20)]
    row = {
        "metric": "m", "kind": "gauge", "system": f"s{number}", "account": "", "stream": "",
        "consumer": "", "server": "", "labels": [],
        "times": [each * 86_400.0 for each in points], "levels": [each * number for each in points],
    }  # fmt: skip
    return pa.Table.from_pylist([row], schema=TREND_INPUT)


@pytest.mark.parametrize(
    "count", [0, 1, snapshot_batches.FEW_BATCHES, snapshot_batches.FEW_BATCHES + 3]
)
def test_many_batches_go_to_workers_and_say_the_same_in_the_same_order(
    count: int, tmp_path: Path
) -> None:
    batches = [trend_rows(number) for number in range(count)]
    as_of, root = date(2026, 9, 28), Root(str(tmp_path))
    found = list(
        snapshot_batches.compute_batches("trends", batches, as_of, root, "stamp", LocalRunner())
    )
    assert found == [trend_batch(batch, as_of) for batch in batches]
    assert root.walk("") == [], "inputs are deleted again"
