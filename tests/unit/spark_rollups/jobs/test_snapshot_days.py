"""Days of forecasts: the newest whole day and month ends, and which of them are outdated."""

from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, write_deltalake
from support.rollups.delta_tables import write_rollups

from spark_rollups.jobs.archive_days import missing_spans
from spark_rollups.jobs.snapshots import month_ends, newest_whole_day, outdated_snapshots
from spark_rollups.rollup.tables.reader import open_rollups
from spark_rollups.rollup.tables.schemas import DAILY

WHOLE = (1 << 24) - 1


def test_the_newest_day_is_whole_when_its_last_hour_is_there() -> None:
    days = ["2026-09-28", "2026-09-29"]
    assert newest_whole_day(days, 0b111) == "2026-09-28"
    assert newest_whole_day(days, WHOLE) == "2026-09-29"
    assert newest_whole_day(["2026-09-29"], 1) == "2026-09-29", "better than none"
    assert newest_whole_day([], 0) is None


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


def daily(*days: str) -> list[dict[str, Any]]:
    texts = dict.fromkeys(
        ("metric", "kind", "system", "account", "stream", "consumer", "server"), ""
    )
    return [
        {**texts, "labels": [], "day": date.fromisoformat(day), "hour_bits": WHOLE} for day in days
    ]


def outdated(folder: Path) -> tuple[list[str], list[str]]:
    return outdated_snapshots(open_rollups(str(folder)))


def test_forecasts_are_made_as_of_the_newest_day_and_of_each_month(tmp_path: Path) -> None:
    days = ("2026-08-31", "2026-09-29", "2026-09-30", "2026-10-01")
    write_rollups(tmp_path, {"daily": daily(*days)})
    assert outdated(tmp_path) == (["2026-08-31", "2026-09-30", "2026-10-01"], [])


def test_unchanged_snapshots_stay_that_of_yesterday_goes_and_late_days_make_them_again(
    tmp_path: Path,
) -> None:
    days = ["2026-08-31", "2026-09-29", "2026-09-30"]
    made = [date(2026, 8, 31), date(2026, 9, 30)]
    write_rollups(tmp_path, {"daily": daily(*days)}, made)
    assert outdated(tmp_path) == ([], [])
    write_rollups(tmp_path, {"daily": daily(*days, "2026-10-01")}, [*made, date(2026, 9, 29)])
    found = outdated(tmp_path)
    assert found == (["2026-10-01"], ["2026-09-29"])
    write_rollups(tmp_path, {"daily": daily(*days)}, made, daily=1)
    assert outdated(tmp_path) == (["2026-08-31", "2026-09-30"], []), "days have changed since"


def test_a_late_day_makes_again_the_forecasts_that_read_it(tmp_path: Path) -> None:
    """They read 120 days."""
    made = ["2026-06-03", "2026-09-30"]
    rows = {"daily": daily("2026-06-02", *made)}
    write_rollups(tmp_path, rows, map(date.fromisoformat, made), daily=0)
    assert outdated(tmp_path) == ([], [])
    add_late(tmp_path, "2026-06-02")
    assert outdated(tmp_path) == (made[:1], [])
    add_late(tmp_path, "2026-06-03")
    assert outdated(tmp_path) == (made, [])


def add_late(folder: Path, day: str) -> None:
    """Rows of one day, in a commit of a rollup."""
    table = DeltaTable(folder / "daily")
    note = table.history(1)[0]["userMetadata"]
    rows = pa.Table.from_pylist(daily(day), DAILY)
    properties = CommitProperties(custom_metadata={"userMetadata": note})
    write_deltalake(table, rows, mode="append", commit_properties=properties)
