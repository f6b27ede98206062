"""The history on disk: a valid archive that can be extended."""

from __future__ import annotations

import asyncio
import re
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from deltalake import DeltaTable

from archive import main as archive_main
from archive.progress import NoProgress
from archive.tables.archive_tables import open_tables
from archive.tables.arrow import pa, pq
from archive.tools.importing.batch import ImportBatch, ImportedSeries
from archive.tools.importing.targets import FolderTarget
from exporter import catalog
from streamgauge.demo.history import main
from streamgauge.demo.history.archive_writer import write_archive
from streamgauge.demo.history.recorded_series import HistoryError, Recording
from streamgauge.demo.history.recording import record
from streamgauge.demo.history.time_grid import make_grid

UNTIL = date(2026, 10, 26)
DAYS, STEP = 4, 600


def written(folder: Path) -> Path:
    main.write_history(folder, UNTIL, DAYS, STEP)
    return folder


def rows(folder: Path, table: str) -> Any:
    files = sorted((folder / table).glob("day=*/*.parquet"))
    return pa.concat_tables([pq.read_table(path, partitioning=None) for path in files])


def test_the_archive_finds_no_fault(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(tmp_path / "archive")
    assert archive_main.main(["verify", str(tmp_path / "archive")]) == 0
    assert "no fault" in capsys.readouterr().out


def test_the_same_days_are_the_same_rows(tmp_path: Path) -> None:
    one, other = (written(tmp_path / name) for name in ("one", "other"))
    for table in ("samples", "hourly"):
        assert rows(one, table).equals(rows(other, table))


def test_a_history_can_be_gone_on_with(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = written(tmp_path / "archive")
    labels = (("__name__", catalog.UP.name), ("instance", "127.0.0.1:7778"),
              ("job", "streamgauge"), ("system", "demo"))  # fmt: skip
    end = int(make_grid(UNTIL, 1, STEP).times[-1] + STEP) * 1000
    batch = ImportBatch([ImportedSeries(labels, np.array([end]), np.array([1.0]).view(np.uint64))])

    async def imported() -> None:
        target = FolderTarget(str(folder), None, NoProgress())
        try:
            await target.add(batch)
            await target.finish()
        finally:
            await target.close()

    asyncio.run(imported())
    assert archive_main.main(["verify", str(folder)]) == 0
    assert "days: 5" in capsys.readouterr().out
    series = DeltaTable(folder / "series").to_pyarrow_table()
    tables = open_tables(folder)
    tables.read()
    assert series.num_rows == tables.next_series
    assert len(set(series.column("fingerprint").to_pylist())) == series.num_rows


def test_one_file_of_a_kind_for_each_day_and_one_commit(tmp_path: Path) -> None:
    snapshot = open_tables(written(tmp_path)).read()
    assert set(snapshot.versions.values()) == {1}  # after that of its creation
    assert len(snapshot.days) == DAYS
    for table in ("samples", "hourly"):
        files = [snapshot.of_day(table, day) for day in snapshot.days]
        assert {len(each) for each in files} == {1}
        assert {(each.last_hour - each.first_hour) // 3_600_000 for (each,) in files} == {23}


def test_a_series_that_ends_has_a_marker_and_a_missing_scrape_has_none(tmp_path: Path) -> None:
    grid = make_grid(date(2026, 11, 15), 25, STEP)
    recording = Recording(grid)
    half = np.where(grid.ago > 12.5, 5.0, np.nan)
    recording.add(catalog.SERVER_UP, ("demo", "n1"), half)
    recording.add(catalog.SERVER_API_REQUESTS, ("demo", "n1"), np.arange(len(grid)))
    write_archive(recording, tmp_path)
    # No increase is counted over two days without data.
    assert archive_main.main(["verify", str(tmp_path)]) == 0
    days = open_tables(tmp_path).read().days
    assert (len(days), days[:2]) == (23, ["2026-10-22", "2026-10-25"])
    found = rows(tmp_path, "samples").select(["series", "stale", "hour"]).to_pylist()
    (marker,) = (row for row in found if row["stale"])
    ended = grid.times[grid.place(12.5)]
    assert marker["hour"].timestamp() + marker["stale"][0] / 1000 == ended


def test_a_folder_that_is_an_archive_already_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    assert main.main(["--out", str(tmp_path), "--days", "1"]) == 2
    assert capsys.readouterr().err.splitlines()[-1] == (
        f"history: {tmp_path}: is an archive already; choose another directory"
    )
    assert sorted(tmp_path.rglob("*")) == before


def test_a_series_that_is_recorded_twice_is_refused(tmp_path: Path) -> None:
    recording = Recording(make_grid(UNTIL, 1, STEP))
    for value in (1, 2):
        recording.add(catalog.SERVER_UP, ("demo", "n1"), value)
    with pytest.raises(HistoryError, match="is recorded twice"):
        write_archive(recording, tmp_path)


def test_the_command_prints_what_it_wrote(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ["--out", str(tmp_path), "--until", "2026-11-15", "--days", "1", "--step", "600"]
    assert main.main(flags) == 0
    summary = r"[\d,]{7} samples of \d{3} series on 1 day, 0\.\d MB, in " + re.escape(str(tmp_path))
    assert re.fullmatch(summary, capsys.readouterr().out.strip())


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        (["--until", "yesterday"], "'yesterday' is not a day like 2026-11-15"),
        (["--days", "0"], "'0' is not a number of days from 1 to 400"),
        (["--days", "many"], "'many' is not a number of days"),
        (["--step", "7"], "invalid choice"),
        ([], "the following arguments are required: --out"),
    ],
)
def test_a_wrong_flag_ends_with_2(
    flags: list[str], reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = ["--out", str(tmp_path)] if flags else []
    with pytest.raises(SystemExit) as ended:
        main.main([*out, *flags])
    assert ended.value.code == 2
    assert reason in capsys.readouterr().err


def test_progress_counts_each_day(tmp_path: Path) -> None:
    steps: list[int] = []
    write_archive(record(make_grid(UNTIL, 2, STEP)), tmp_path, steps.append)
    assert steps == [1, 1]
