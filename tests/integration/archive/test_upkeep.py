"""Checkpoints, log clean-up and vacuum: what they delete, and what a reader may still hold."""

import os
import time
from pathlib import Path

import pytest
from deltalake import DeltaTable
from support.archive.folder import DAY, HOUR, MONDAY, ArchiveFolder, Reported, truth_of

from archive.maintenance.upkeep import CHECKPOINT_COMMITS
from archive.settings.publishing import PublishSettings, RetentionSettings
from archive.tables.data_file import Change
from archive.tables.delta_log import DeltaLog
from archive.tables.schema import TABLES

NOW = MONDAY + 12 * HOUR


def sample(place: int) -> Reported:
    return ("up", MONDAY + place, float(place))


def data_files(path: Path) -> set[str]:
    return {each.name for each in (path / "samples").glob("day=*/*.parquet")}


def aged(path: Path, hours: float) -> None:
    """Makes a file look as if it was written that long ago."""
    then = time.time() - hours * 3600
    os.utime(path, (then, then))


def rewritten(path: Path, retention: RetentionSettings) -> tuple[set[str], ArchiveFolder]:
    folder = ArchiveFolder(path, PublishSettings(retention=retention))
    for place in range(3):
        folder.send([sample(place)])
        folder.publish_all(MONDAY)
    return data_files(path), folder


def test_replaced_files_stay_for_readers_of_the_last_day(tmp_path: Path) -> None:
    """However old the files are: it counts when they were replaced."""
    before, folder = rewritten(tmp_path, RetentionSettings())
    with folder:
        reader = DeltaTable(tmp_path / "samples", version=1)
        for path in (tmp_path / "samples").glob("day=*/*.parquet"):
            aged(path, 100)
        folder.publish_due(NOW)
        assert len(before) == 3
        assert data_files(tmp_path) == before
        assert reader.to_pyarrow_table().num_rows == 1


def test_vacuum_deletes_what_was_replaced_and_what_no_commit_names(tmp_path: Path) -> None:
    before, folder = rewritten(tmp_path, RetentionSettings(replaced=0.0))
    with folder:
        stray = tmp_path / "samples" / "day=2026-09-28" / "05-beef-0.parquet"
        stray.write_bytes(b"PAR1 and no more")
        time.sleep(0.01)  # vacuum compares with the clock
        folder.publish_due(NOW)
        (left,) = data_files(tmp_path)
        assert left in before
        version = folder.snapshot.versions["samples"]
        folder.publish_due(NOW + DAY)
        assert folder.snapshot.versions["samples"] == version, "nothing was left to delete"
        assert folder.samples() == truth_of([sample(place) for place in range(3)])


def test_files_of_a_publication_in_progress_stay(tmp_path: Path) -> None:
    _, folder = rewritten(tmp_path, RetentionSettings())
    with folder:
        fresh, old = (tmp_path / "samples" / "day=2026-09-28" / name for name in ("a", "b"))
        for path in (fresh, old):
            path.write_bytes(b"not committed yet")
        aged(old, 25)
        folder.publish_due(NOW)
        assert (fresh.exists(), old.exists()) == (True, False)


def test_a_long_log_gets_a_checkpoint_and_keeps_its_positions(tmp_path: Path) -> None:
    with ArchiveFolder(tmp_path) as folder:
        for place in range(CHECKPOINT_COMMITS):
            folder.send([sample(place)])
            folder.publish_all(MONDAY)
        folder.publish_due(NOW)
        log = (tmp_path / "wal" / "log-id").read_text()
    for table in TABLES:
        assert list((tmp_path / table / "_delta_log").glob("*.checkpoint.parquet")), table
        covered = DeltaTable(tmp_path / table).transaction_version(f"wal-{log}")
        assert covered == CHECKPOINT_COMMITS
    with ArchiveFolder(tmp_path) as folder:
        assert folder.publish_all().samples == 0
        assert folder.samples() == truth_of([sample(place) for place in range(CHECKPOINT_COMMITS)])


def test_old_versions_leave_the_log_and_positions_stay(tmp_path: Path) -> None:
    retention = RetentionSettings(history=0.0)
    with ArchiveFolder(tmp_path, PublishSettings(retention=retention)) as folder:
        for place in range(CHECKPOINT_COMMITS):
            folder.send([sample(place)])
            folder.publish_all(MONDAY)
        for commit in tmp_path.glob("*/_delta_log/*.json"):
            aged(commit, 48)  # Delta keeps the commits of the newest day in any case
        folder.publish_due(NOW)
        commits = list((tmp_path / "metadata" / "_delta_log").glob("*.json"))
        assert len(commits) < CHECKPOINT_COMMITS
        log = (tmp_path / "wal" / "log-id").read_text()
        found = DeltaTable(tmp_path / "metadata").transaction_version(f"wal-{log}")
        assert found == CHECKPOINT_COMMITS
        assert folder.samples() == truth_of([sample(place) for place in range(CHECKPOINT_COMMITS)])


def test_upkeep_runs_once_a_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vacuumed: list[str] = []
    monkeypatch.setattr(DeltaLog, "vacuum", lambda log, _: vacuumed.append(log.name) or [])
    with ArchiveFolder(tmp_path) as folder:
        folder.send([sample(0)])
        for hour in (1, 2, 23):
            folder.publish_due(MONDAY + hour * HOUR + HOUR // 2)
        assert sorted(vacuumed) == sorted(TABLES)
        folder.publish_due(MONDAY + 25 * HOUR + HOUR // 2)
        assert len(vacuumed) == 2 * len(TABLES)


def test_a_commit_without_files_moves_the_position_alone(tmp_path: Path) -> None:
    with ArchiveFolder(tmp_path) as folder:
        log = folder.tables.logs["exemplars"]
        log.commit(Change(), {"wal-x": 5})
        assert (log.read(), log.position("wal-x"), log.position("wal-y")) == ((), 5, None)
