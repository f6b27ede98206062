"""Reading rollups: by day, column and metric; and places that are folders or addresses."""

import errno
from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest

from spark_rollups.filesystem import RollupError, Root
from spark_rollups.rollup.series_identity import kind_of
from spark_rollups.rollup.tables.manifest import Day, Manifest, decoded, encoded, write_manifest
from spark_rollups.rollup.tables.reader import open_rollups
from spark_rollups.rollup.tables.schemas import DAILY, DAY_TABLES, FORECASTS, TRENDS
from spark_rollups.rollup.tables.writer import write_table

FIRST, SECOND = date(2026, 9, 28), date(2026, 9, 29)


def rows(day: date, metrics: list[str]) -> pa.Table:
    row = {
        "system": "s", "account": "", "stream": "S", "consumer": "", "server": "", "labels": [],
        "day": day, "count": 1, "hours": 1, "min": 1.0, "max": 1.0, "sum": 1.0, "first": 1.0,
        "last": 1.0, "first_hour": 0, "last_hour": 0, "increase": None, "resets": 0,
    }  # fmt: skip
    rows = [{**row, "metric": metric, "kind": kind_of(metric)} for metric in metrics]
    return pa.Table.from_pylist(rows, schema=DAILY)


@pytest.fixture
def root(tmp_path: Path) -> Root:
    """Two days of the table `daily`, and forecasts as of the second."""
    made = Root(str(tmp_path))
    days = {}
    for day in (FIRST, SECOND):
        path = f"daily/day={day}/x.parquet"
        file = write_table(made, path, "daily", rows(day, ["a", "b_total"]))
        days[day.isoformat()] = Day("mark", 0b101, 2, {"daily": (file,)})
    empty = write_table(made, "forecasts/asof=x/x.parquet", "forecasts", FORECASTS.empty_table())
    asof = {SECOND.isoformat(): {"forecasts": (empty,)}}
    write_manifest(made, Manifest(3, 5, days=days, asof=asof))
    return made


def test_days_are_read_with_both_ends(root: Root) -> None:
    rollups = open_rollups(root.text)
    assert rollups.days() == [FIRST, SECOND]
    assert rollups.table("daily", FIRST, SECOND).num_rows == 4
    assert rollups.table("daily", SECOND, SECOND).column("day").unique().to_pylist() == [SECOND]


def test_a_table_has_the_promised_schema_even_when_it_is_empty(root: Root) -> None:
    rollups = open_rollups(root.text)
    for first, last in ((FIRST, SECOND), (date(2020, 1, 1), date(2020, 1, 2))):
        for name, schema in DAY_TABLES.items():
            assert rollups.table(name, first, last).schema == schema.remove_metadata()


def test_columns_and_metrics_can_be_chosen(root: Root) -> None:
    rollups = open_rollups(root.text)
    table = rollups.table("daily", FIRST, SECOND, ["sum", "kind"], ["b_total", "none"])
    assert table.to_pylist() == [{"sum": 1.0, "kind": "counter"}] * 2


def test_no_metrics_are_no_rows(root: Root) -> None:
    found = open_rollups(root.text).table("daily", FIRST, SECOND, metrics=[])
    assert found.schema == DAILY.remove_metadata()
    assert found.num_rows == 0


def test_hours_with_data_are_bits_and_a_missing_day_has_none(root: Root) -> None:
    rollups = open_rollups(root.text)
    assert rollups.hours(FIRST) == 0b101
    assert rollups.hours(date(2020, 1, 1)) == 0
    assert rollups.day(date(2020, 1, 1)) is None


def test_forecasts_are_read_as_of_a_day(root: Root) -> None:
    rollups = open_rollups(root.text)
    assert rollups.snapshot_days() == [SECOND]
    assert rollups.snapshot_table("forecasts", SECOND).schema == FORECASTS.remove_metadata()
    assert rollups.snapshot_table("trends", SECOND).schema == TRENDS.remove_metadata()
    with pytest.raises(RollupError, match="no forecasts as of 2026-09-28"):
        rollups.snapshot_table("forecasts", FIRST)


def test_an_unknown_table_is_an_error_that_lists_the_tables(root: Root) -> None:
    rollups = open_rollups(root.text)
    with pytest.raises(RollupError, match="unknown table weekly; the tables are daily, hourly"):
        rollups.table("weekly", FIRST, SECOND)
    with pytest.raises(RollupError, match="unknown table daily; the tables are forecasts, trends"):
        rollups.snapshot_table("daily", FIRST)


def test_a_file_that_is_gone_or_broken_is_named(root: Root) -> None:
    path = f"daily/day={FIRST}/x.parquet"
    root.write(path, b"nothing")
    with pytest.raises(RollupError, match=f"cannot read .*{path}"):
        open_rollups(root.text).table("daily", FIRST, FIRST)
    root.delete(path)
    with pytest.raises(RollupError, match=f"cannot read .*{path}"):
        open_rollups(root.text).table("daily", FIRST, FIRST)


def test_missing_rollups_are_an_error_that_names_the_command(tmp_path: Path) -> None:
    with pytest.raises(RollupError, match="no rollups here; `streamgauge rollup` writes them"):
        open_rollups(str(tmp_path))


def test_the_newest_manifest_counts_and_other_files_do_not(root: Root) -> None:
    write_manifest(root, Manifest(12))
    root.write("rollup/notes.txt", b"99")
    root.write("rollup/x.json", b"{}")
    assert open_rollups(root.text).manifest == Manifest(12)


def test_a_manifest_comes_back_as_it_was(root: Root) -> None:
    manifest = open_rollups(root.text).manifest
    assert decoded(encoded(manifest), "x") == manifest
    assert len(manifest.paths()) == 3


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"format": 1}', b'{"format": "x"}'])
def test_an_invalid_manifest_is_an_error(data: bytes) -> None:
    with pytest.raises(RollupError, match="here: not a rollup manifest"):
        decoded(data, "here")


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
    assert root.walk("a") == ["a/b"], "and nothing half is left"


def test_a_place_that_is_not_there_has_no_files(tmp_path: Path) -> None:
    root = Root(str(tmp_path / "none"))
    assert root.names("x") == root.walk("x") == []
    assert root.has([]) is True
    assert root.has(["x"]) is False
    root.delete("x")
