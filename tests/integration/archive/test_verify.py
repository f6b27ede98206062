"""verify sees through right checksums: rows that break the format or contradict each other."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.archive.folder import HOUR, MONDAY, STALE, ArchiveFolder, Reported

from archive.tables.arrow import pa
from archive.tables.manifest import DayEntry, FileEntry, HourEntry, Manifest
from archive.tables.manifest_store import read_manifest, write_manifest
from archive.tables.parquet_files import new_file, read_table
from archive.tables.schema import SCHEMAS, SERIES
from archive.tables.storage import Storage, open_storage
from archive.tools.cli import main

DAY = "2026-09-28"
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
def storage(tmp_path: Path) -> Storage:
    with ArchiveFolder(tmp_path) as folder:
        folder.send(REPORTED)
        folder.publish_all()
    return open_storage(tmp_path)


def rewritten(storage: Storage, table: str, change: Change) -> None:
    """The table's file with other rows, and a manifest that names it rightly."""
    manifest = read_manifest(storage)
    (old,) = manifest.series if table == SERIES else getattr(manifest.days[DAY], table)
    rows: Rows = read_table(storage, old.path).to_pylist()
    change(rows)
    path = old.path.replace(".parquet", "-changed.parquet")
    with new_file(storage, path, table, old.hours) as file:
        file.write(pa.Table.from_pylist(rows, SCHEMAS[table]))
        entry = file.finish()
    committed(storage, manifest, table, replace(entry, rows=old.rows))


def committed(storage: Storage, manifest: Manifest, table: str, entry: FileEntry) -> None:
    changes: dict[str, Any] = {"series": (entry,)}
    if table != SERIES:
        day = replace(manifest.days[DAY], **{table: (entry,)})
        changes = {"days": {DAY: day}}
    write_manifest(storage, manifest.after(1, **changes))


def output(storage: Storage, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["verify", str(storage)]) == 1
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
        (lambda rows: rows.pop(), "has 2 rows, the manifest has 3"),
        (lambda rows: rows.pop(), "hourly of 2026-09-28: 1 rows have no samples"),
        (setting(0, iv=[5, 8]), "hourly max is wrong in 1 rows"),
        (setting(0, iv=[6, 7]), "hourly increase is wrong in 1 rows"),
        (setting(1, stale=None), "2026-09-28 00:00: the manifest has (5, 3,"),
        (setting(1, stale=[70_000]), "the rows have (5, 3, '000000000000003')"),
    ],
)
def test_rows_of_samples_that_cannot_be(
    storage: Storage, capsys: pytest.CaptureFixture[str], change: Change, fault: str
) -> None:
    rewritten(storage, "samples", change)
    assert fault in output(storage, capsys)


@pytest.mark.parametrize(
    "name", ["count", "min", "max", "sum", "first", "last", "p95", "increase", "resets"]
)
def test_every_statistic_is_held_to_the_samples(
    storage: Storage, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    rewritten(storage, "hourly", setting(0, **{name: 77}))
    assert f"hourly {name} is wrong in 1 rows" in output(storage, capsys)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda rows: rows.pop(), "1 rows have no hourly statistics"),
        (list.reverse, "rows are not in the order of metric, series and hour"),
        (setting(0, hour=MONDAY + 24 * HOUR), "rows of another day"),
        (setting(0, hour=MONDAY + HOUR), "rows of 1 hours that its manifest entry does not have"),
    ],
)
def test_rows_of_hourly_that_cannot_be(
    storage: Storage, capsys: pytest.CaptureFixture[str], change: Change, fault: str
) -> None:
    rewritten(storage, "hourly", change)
    assert fault in output(storage, capsys)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (
            setting(0, fingerprint=b"x" * 16),
            "series 0 has a fingerprint that its labels do not make",
        ),
        (setting(0, metric="other"), "series 0 is filed under metric other"),
        (setting(0, series=1), "series 1 comes twice"),
        (setting(2, series=7), "series 7 is beyond the manifest's 3"),
        (
            setting(0, labels=[("instance", "a"), ("__name__", "c_total")]),
            "series 0 has labels out of order or twice",
        ),
    ],
)
def test_series_that_cannot_be(
    storage: Storage, capsys: pytest.CaptureFixture[str], change: Change, fault: str
) -> None:
    rewritten(storage, "series", change)
    assert fault in output(storage, capsys)


def test_an_hour_that_comes_in_two_files(
    storage: Storage, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = read_manifest(storage)
    day = manifest.days[DAY]
    (entry,) = day.samples
    storage.write("samples/day=2026-09-28/copy.parquet", storage.read(entry.path))
    twice = (replace(entry, path="samples/day=2026-09-28/copy.parquet"), entry)
    doubled = replace(day, samples=twice)
    write_manifest(storage, manifest.after(1, days={DAY: doubled}))
    assert "3 series have an hour twice" in output(storage, capsys)


def test_an_hour_that_the_manifest_invents(
    storage: Storage, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = read_manifest(storage)
    day = manifest.days[DAY]
    invented = HourEntry(samples=9, series=1, minutes="1", published=0)
    hours: DayEntry = replace(day, hours={**day.hours, MONDAY + 5 * HOUR: invented})
    write_manifest(storage, manifest.after(1, days={DAY: hours}))
    assert "2026-09-28 05:00: the manifest has (9, 1, '1'), the rows have None" in output(
        storage, capsys
    )
