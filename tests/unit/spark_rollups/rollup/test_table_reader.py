"""Reading rollups: by day, column and metric; and places that are folders or addresses."""

import errno
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from support.rollups.delta_tables import write_rollups

from spark_rollups.filesystem import RollupError, Root
from spark_rollups.rollup.tables.delta_notes import (
    ABSENT,
    changed_partitions,
    ensure_note,
    newest_note,
    read_version,
    vacuum,
)
from spark_rollups.rollup.tables.reader import open_rollups
from spark_rollups.rollup.tables.schemas import (
    DAILY,
    DAY_TABLES,
    FORECASTS,
    QUANTILES,
    TRENDS,
)
from streamgauge.rollup_format import ROLLUP_FORMAT

FIRST, SECOND = date(2026, 9, 28), date(2026, 9, 29)


def rows(day: date, metrics: list[str]) -> list[dict[str, Any]]:
    row = {
        "kind": "gauge", "system": "s", "account": "", "stream": "S", "consumer": "", "server": "",
        "labels": [], "day": day, "count": 1, "hours": 1, "min": 1.0, "max": 1.0, "sum": 1.0,
        "first": 1.0, "last": 1.0, "first_hour": 0, "last_hour": 0, "increase": None, "resets": 0,
    }  # fmt: skip
    return [
        {**row, "metric": metric, "hour_bits": 1 << 2 * number}
        for number, metric in enumerate(metrics)
    ]


@pytest.fixture
def root(tmp_path: Path) -> Root:
    """Two days of the table `daily`, and forecasts as of the second."""
    daily = [row for day in (FIRST, SECOND) for row in rows(day, ["a", "b_total"])]
    write_rollups(tmp_path, {"daily": daily}, [SECOND])
    return Root(str(tmp_path))


def test_days_are_read_with_both_ends(root: Root) -> None:
    rollups = open_rollups(root.text)
    assert rollups.days() == [FIRST, SECOND]
    assert rollups.table("daily", FIRST, SECOND).num_rows == 4
    assert rollups.table("daily", SECOND, SECOND).column("day").unique().to_pylist() == [SECOND]


def test_a_table_has_the_promised_schema_even_when_it_is_empty(root: Root) -> None:
    rollups = open_rollups(root.text)
    for first, last in ((FIRST, SECOND), (date(2020, 1, 1), date(2020, 1, 2))):
        for name, schema in DAY_TABLES.items():
            assert rollups.table(name, first, last).schema == schema


def test_columns_and_metrics_can_be_chosen(root: Root) -> None:
    rollups = open_rollups(root.text)
    table = rollups.table("daily", FIRST, SECOND, ["sum", "kind"], ["b_total", "none"])
    assert table.to_pylist() == [{"sum": 1.0, "kind": "gauge"}] * 2


def test_no_metrics_are_no_rows(root: Root) -> None:
    found = open_rollups(root.text).table("daily", FIRST, SECOND, metrics=[])
    assert found.schema == DAILY
    assert found.num_rows == 0


def test_hours_with_data_are_bits_and_a_missing_day_has_none(root: Root) -> None:
    rollups = open_rollups(root.text)
    assert rollups.hours(FIRST) == 0b101
    assert rollups.hours(date(2020, 1, 1)) == 0
    assert rollups.rows("daily", FIRST, FIRST) == 2


def test_forecasts_are_read_as_of_a_day(root: Root) -> None:
    rollups = open_rollups(root.text)
    assert rollups.snapshot_days() == [SECOND]
    assert rollups.snapshot_table("forecasts", SECOND).schema == FORECASTS
    assert rollups.snapshot_table("trends", SECOND).schema == TRENDS
    with pytest.raises(RollupError, match="no forecasts as of 2026-09-28"):
        rollups.snapshot_table("forecasts", FIRST)


def test_an_unknown_table_is_an_error_that_lists_the_tables(root: Root) -> None:
    rollups = open_rollups(root.text)
    with pytest.raises(RollupError, match="unknown table weekly; the tables are daily, hourly"):
        rollups.table("weekly", FIRST, SECOND)
    with pytest.raises(RollupError, match="unknown table daily; the tables are forecasts, trends"):
        rollups.snapshot_table("daily", FIRST)


def test_a_file_that_is_gone_or_broken_is_named(root: Root) -> None:
    path = open_rollups(root.text).version("daily").files[0].path
    root.write(path, b"nothing")
    with pytest.raises(RollupError, match=f"cannot read .*{path}"):
        open_rollups(root.text).table("daily", FIRST, FIRST)
    root.delete(path)
    with pytest.raises(RollupError, match=f"cannot read .*{path}"):
        open_rollups(root.text).table("daily", FIRST, FIRST)


def test_missing_rollups_are_an_error_that_names_the_command(tmp_path: Path) -> None:
    with pytest.raises(RollupError, match="no rollups here; `streamgauge rollup` writes them"):
        open_rollups(str(tmp_path))


def test_a_run_that_commits_while_a_reader_reads_is_seen_by_the_next_reader(tmp_path: Path) -> None:
    tables = {"daily": rows(FIRST, ["a"]), "trends": [{"metric": "a", "as_of": FIRST}]}
    write_rollups(tmp_path, tables, [FIRST])
    before = open_rollups(str(tmp_path))
    assert before.snapshot_days() == [FIRST]
    write_rollups(tmp_path, {"daily": rows(FIRST, ["a", "b_total"])}, [FIRST])
    assert before.table("daily", FIRST, FIRST).num_rows == 1
    assert before.snapshot_table("trends", FIRST).num_rows == 1
    after = open_rollups(str(tmp_path))
    assert after.table("daily", FIRST, FIRST).num_rows == 2
    assert after.snapshot_table("trends", FIRST).num_rows == 0


def test_a_newer_commit_of_another_program_hides_nothing(root: Root) -> None:
    table = DeltaTable(f"{root.text}/daily")
    table.optimize.compact()
    assert open_rollups(root.text).table("daily", FIRST, SECOND).num_rows == 4


def test_the_other_tables_are_those_of_the_run_that_committed_daily(tmp_path: Path) -> None:
    """A run that ended before its last commit is not seen."""
    write_rollups(tmp_path, {"daily": rows(FIRST, ["a"])})
    row = {**rows(FIRST, ["a"])[0], "p50": 1.0, "p95": 1.0, "p99": 1.0}
    table = pa.Table.from_pylist([row], schema=QUANTILES)
    write_deltalake(tmp_path / "quantiles", table, mode="append", partition_by=["day"])
    assert open_rollups(str(tmp_path)).table("quantiles", FIRST, SECOND).num_rows == 0


@pytest.mark.parametrize(
    ("written", "reason"),
    [(ROLLUP_FORMAT + 1, "is newer than this program"), (ROLLUP_FORMAT - 1, "is older .* rollup")],
)
def test_rollups_of_another_format_are_an_error(tmp_path: Path, written: int, reason: str) -> None:
    write_rollups(tmp_path, {}, format=written)
    with pytest.raises(RollupError, match=f"format {written} {reason}"):
        open_rollups(str(tmp_path))


def test_changed_days_come_from_the_log_and_merged_files_change_nothing(root: Root) -> None:
    assert changed_partitions(root, "daily", -1, 0) == {FIRST.isoformat(), SECOND.isoformat()}
    daily = pa.Table.from_pylist(rows(SECOND, ["c"]), schema=DAILY)
    write_deltalake(f"{root.text}/daily", daily, mode="append", partition_by=["day"])
    assert changed_partitions(root, "daily", 0, 1) == {SECOND.isoformat()}
    DeltaTable(f"{root.text}/daily").optimize.compact()
    assert changed_partitions(root, "daily", 1, 2) == set()
    root.delete(f"daily/_delta_log/{1:020d}.json")
    assert changed_partitions(root, "daily", 0, 2) is None, "the log does not reach back"


def test_an_address_is_a_place_like_a_folder(root: Root) -> None:
    rollups = open_rollups(f"file://{root.text}")
    assert rollups.table("daily", FIRST, SECOND).num_rows == 4


@pytest.mark.parametrize("local", [True, False])
def test_a_file_appears_whole_or_not_at_all(local: bool, tmp_path: Path) -> None:
    """Not local: in the way of object stores, whose uploads are completed by closing them."""
    root = Root(str(tmp_path))
    root._local = local
    root.write("a/b", b"old")

    def broken() -> None:
        with root.create("a/b") as sink:
            sink.write(b"new")
            raise OSError(errno.ENOSPC, "no space left")

    with pytest.raises(RollupError, match=r"cannot write .*/a/b: .*no space left"):
        broken()
    assert root.read("a/b") == b"old"
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["b"], "and nothing half is left"


def test_a_place_that_is_not_there_has_no_files(tmp_path: Path) -> None:
    root = Root(str(tmp_path / "none"))
    assert root.exists("x") is False
    root.delete("x")


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("/a/b", "file:///a/b"),
        ("s3a://bucket/x/", "s3a://bucket/x"),
        ("s3://bucket", "s3a://bucket"),
    ],
)
def test_spark_gets_the_address_of_its_own_file_systems(
    text: str, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    assert Root(text).spark == address


def test_a_missing_table_is_no_version_but_can_neither_be_noted_nor_cleaned(root: Root) -> None:
    """A Spark Connect server may have written to a folder of its own machine."""
    assert read_version(root, "elsewhere").number == ABSENT
    assert newest_note(root, "elsewhere") == {}
    with pytest.raises(RollupError, match="elsewhere"):
        ensure_note(root, "elsewhere", "{}")
    with pytest.raises(RollupError, match="elsewhere"):
        vacuum(root, "elsewhere", 1)
