"""verify sees through right checksums: rows that break the format or contradict each other."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from support.archive.folder import HOUR, MONDAY, STALE, ArchiveFolder, Reported, truth_of
from support.nats.servers import long_run

from archive.tables.archive_tables import ArchiveTables, open_tables
from archive.tables.arrow import pa, pq
from archive.tables.data_file import Change as FileChange
from archive.tables.data_file import DataFile
from archive.tables.parquet_files import new_file, read_table
from archive.tables.schema import SCHEMAS, TABLES
from archive.tools.cli import main
from archive.tools.verifying.files import file_faults

REPORTED: list[Reported] = [
    ("c_total", MONDAY + 1000, 5.0),
    ("c_total", MONDAY + 2000, 7.0),
    ("lag", MONDAY + 1000, 1 / 3),
    ("lag", MONDAY + 3000, STALE),
    ("up", MONDAY + 1000, 1.0),
]
Rows = list[dict[str, Any]]
Change = Callable[[Rows], object]


@pytest.fixture
def archive(tmp_path: Path) -> ArchiveTables:
    with ArchiveFolder(tmp_path) as folder:
        folder.send(REPORTED)
        folder.publish_all()
    return open_tables(tmp_path)


def rewritten(archive: ArchiveTables, table: str, change: Change) -> DataFile:
    """The table's file with other rows, committed with its statistics."""
    (old,) = archive.read().files[table]
    rows: Rows = read_table(archive.storage, old.path).to_pylist()
    change(rows)
    path = old.path.replace(".parquet", "-changed.parquet")
    with new_file(archive.storage, path, table, old.day) as file:
        file.write(pa.Table.from_pylist(rows, SCHEMAS[table]))
        made = file.finish()
    archive.logs[table].commit(FileChange([old], [made]), {})
    return made


def recorded_as(archive: ArchiveTables, file: DataFile, **facts: Any) -> None:
    """Commits the file of `samples` once more, with other facts."""
    archive.read()
    archive.logs["samples"].commit(FileChange([file], ()), {})
    archive.read()
    archive.logs["samples"].commit(FileChange((), [replace(file, **facts)]), {})


def output(archive: ArchiveTables, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["verify", str(archive)]) == 1
    return capsys.readouterr().out


def setting(row: int, **values: object) -> Change:
    return lambda rows: rows[row].update(values)


# Rows are c_total, lag, up: series 0, 1, 2.
@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (setting(0, ts=[2000, 1000]), "ts: times are not in order"),
        (setting(0, ts=[1000, 1000]), "ts: times are not in order"),
        (setting(0, ts=[1000, HOUR]), "ts: a time outside the hour"),
        (setting(1, stale=[-1]), "stale: a time outside the hour"),
        (setting(0, ts=[1000]), "a row has more times than values, or fewer"),
        (setting(0, fv=[1.0, 2.0]), "a row has both kinds of values or none"),
        (setting(0, iv=None), "a row has both kinds of values or none"),
        (setting(0, scale=None), "a row has a scale without whole numbers"),
        (setting(0, scale=10), "a scale is not from 0 to 9"),
        (setting(1, stale=[1000]), "a time has a value and a stale marker"),
        (setting(2, series=99), "1 rows of unknown series"),
        (setting(2, metric="down"), "1 rows have another metric than their series"),
        (list.reverse, "rows are not in the order of metric, series and hour"),
        (lambda rows: rows.append(rows[2]), "rows are not in the order of metric, series and hour"),
        (lambda rows: rows.pop(), "hourly of 2026-09-28: 1 rows have no samples"),
        (setting(0, iv=[5, 8]), "hourly max is wrong in 1 rows"),
        (setting(0, iv=[6, 7]), "hourly increase is wrong in 1 rows"),
    ],
)
def test_rows_of_samples_that_cannot_be(
    archive: ArchiveTables, capsys: pytest.CaptureFixture[str], change: Change, fault: str
) -> None:
    rewritten(archive, "samples", change)
    assert fault in output(archive, capsys)


@pytest.mark.parametrize(
    "name", ["count", "min", "max", "sum", "first", "last", "p95", "increase", "resets"]
)
def test_every_statistic_is_held_to_the_samples(
    archive: ArchiveTables, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    rewritten(archive, "hourly", setting(0, **{name: 77}))
    assert f"hourly {name} is wrong in 1 rows" in output(archive, capsys)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda rows: rows.pop(), "1 rows have no hourly statistics"),
        (list.reverse, "rows are not in the order of metric, series and hour"),
        (setting(0, hour=datetime(2026, 9, 29, tzinfo=UTC)), "rows of another day"),
    ],
)
def test_rows_of_hourly_that_cannot_be(
    archive: ArchiveTables, capsys: pytest.CaptureFixture[str], change: Change, fault: str
) -> None:
    rewritten(archive, "hourly", change)
    assert fault in output(archive, capsys)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (
            setting(0, fingerprint=b"x" * 16),
            "series 0 has a fingerprint that its labels do not make",
        ),
        (setting(0, metric="other"), "series 0 is filed under metric other"),
        (setting(0, series=1), "series 1 comes twice"),
        (setting(0, first_day=date(2030, 1, 1)), "series 0 has a first day after its last"),
        (setting(2, series=7), "series 7 has an id that was never assigned (the next one is 3)"),
        (
            setting(0, labels=[("instance", "a"), ("__name__", "c_total")]),
            "series 0 has labels out of order or twice",
        ),
    ],
)
def test_series_that_cannot_be(
    archive: ArchiveTables, capsys: pytest.CaptureFixture[str], change: Change, fault: str
) -> None:
    rewritten(archive, "series", change)
    assert fault in output(archive, capsys)


def test_an_hour_that_comes_in_two_files(
    archive: ArchiveTables, capsys: pytest.CaptureFixture[str]
) -> None:
    (file,) = archive.read().files["samples"]
    path = "samples/day=2026-09-28/copy.parquet"
    root = Path(archive.storage.url)
    (root / path).write_bytes((root / file.path).read_bytes())
    archive.logs["samples"].commit(FileChange((), [replace(file, path=path)]), {})
    assert "3 series have an hour twice" in output(archive, capsys)


@pytest.mark.parametrize(
    ("facts", "fault"),
    [
        ({"rows": 4}, "has 3 rows, the log of the table has 4"),
        ({"size": 5}, "bytes, the log of the table has 5"),
        (
            {"low": {"metric": "lag"}, "high": {"metric": "up"}},
            "metric is c_total to up, the log of the table has lag to up",
        ),
    ],
)
def test_facts_in_the_log_that_the_file_contradicts(
    archive: ArchiveTables, capsys: pytest.CaptureFixture[str], facts: dict[str, Any], fault: str
) -> None:
    (file,) = archive.read().files["samples"]
    recorded_as(archive, file, **facts)
    assert fault in output(archive, capsys)


@pytest.mark.parametrize("table", ["series", "hourly", "samples"])
def test_a_flipped_bit_is_a_fault_or_changes_no_row(archive: ArchiveTables, table: str) -> None:
    """Pages have checksums. Names of columns in the footer once raised an error instead."""
    (file,) = archive.read().files[table]
    path = Path(str(archive)) / file.path
    whole, rows = path.read_bytes(), read_table(archive.storage, file.path)
    found, step = 0, 1 if long_run() else 17
    for at in range(0, len(whole), step):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :])
        faults = list(file_faults(archive.storage, file, lambda _: None))
        found += bool(faults)
        assert faults or read_table(archive.storage, file.path).equals(rows), at
    assert found * step > len(whole) // 4


def test_a_flipped_bit_in_the_header_of_a_dictionary_is_a_fault_or_changes_no_row(
    archive: ArchiveTables,
) -> None:
    """The checksum of a page does not cover its header; a dictionary may lose its entries."""
    (file,) = archive.read().files["samples"]
    path = Path(str(archive)) / file.path
    whole, rows = path.read_bytes(), read_table(archive.storage, file.path)
    columns = pq.ParquetFile(path).metadata.row_group(0)
    replica = columns.column(SCHEMAS["samples"].names.index("replica"))
    found = 0
    for at in range(replica.dictionary_page_offset, replica.data_page_offset):
        for bit in range(8):
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << bit]) + whole[at + 1 :])
            faults = list(file_faults(archive.storage, file, lambda _: None))
            found += bool(faults)
            assert faults or read_table(archive.storage, file.path).equals(rows), (at, bit)
    assert found > 100


# --- an empty commit file, which delta-rs reads as a commit without changes -------------------------


def commits(folder: Path, table: str) -> list[Path]:
    return sorted((folder / table / "_delta_log").glob("*.json"))


@pytest.mark.parametrize("table", ["series", "hourly", "samples"])
def test_an_empty_commit_file_is_a_fault(
    archive: ArchiveTables, tmp_path: Path, table: str, capsys: pytest.CaptureFixture[str]
) -> None:
    archive.read()
    archive.logs[table].commit(FileChange((), ()), {})
    assert main(["verify", str(tmp_path)]) == 0
    last = commits(tmp_path, table)[-1]
    last.write_bytes(b"")
    capsys.readouterr()
    assert main(["verify", str(tmp_path)]) == 1
    assert f"FAULT: {table}/_delta_log/{last.name} is empty" in capsys.readouterr().out


def test_a_commit_that_the_power_failure_left_empty_is_published_again(tmp_path: Path) -> None:
    """It was not synced, so the write-ahead log still has its samples."""
    later: list[Reported] = [("up", MONDAY + HOUR, 2.0), ("c_total", MONDAY + HOUR, 9.0)]
    with ArchiveFolder(tmp_path) as folder:
        folder.send(REPORTED)
        folder.publish_all()
        folder.send(later)
        for table in TABLES:
            if commits(tmp_path, table):
                last = commits(tmp_path, table)[-1]
                last.with_name(f"{int(last.stem) + 1:020}.json").touch()
        folder.publish_all()
        assert folder.samples() == truth_of([*REPORTED, *later])
