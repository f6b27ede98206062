"""A publication may break off at every step, between any two commits too: the next one finishes
the work, and nothing is lost, doubled or published twice."""

import contextlib
import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from support.archive.folder import (
    DAY,
    HOUR,
    MONDAY,
    ArchiveFolder,
    Reported,
    published_samples,
    truth_of,
)
from support.nats.servers import long_run

from archive.publishing.publisher import Publisher
from archive.settings.publishing import PublishSettings, RetentionSettings
from archive.tables.archive_tables import ArchiveTables, delta_logs
from archive.tables.data_file import Change, DataFile
from archive.tables.delta_log import DeltaLog
from archive.tables.schema import TABLES
from archive.tables.storage import Storage
from archive.wal.segments.segment import Segment

NOW = MONDAY + 3 * DAY
SETTINGS = PublishSettings(retention=RetentionSettings(age=86_400.0))
OLD: list[Reported] = [
    *(("up", MONDAY - DAY + step * HOUR, 1.0) for step in range(2)),
    ("gone", MONDAY, 1.0),
]
EARLY: list[Reported] = [("up", MONDAY + DAY + step * HOUR, float(step)) for step in range(4)]
LATE: list[Reported] = [("up", MONDAY + DAY + 1, 7.5), ("new", MONDAY + 2 * DAY + HOUR, 0.5)]


class Broken(BaseException):
    """Like a kill: never caught."""


class Countdown:
    """Lets so many steps pass and breaks off at the next."""

    def __init__(self, steps: int) -> None:
        self.left = steps

    def __call__(self) -> None:
        if self.left == 0:
            raise Broken
        self.left -= 1


class BreakingStorage(Storage):
    def __init__(self, storage: Storage, step: Countdown) -> None:
        vars(self).update(vars(storage))
        self._step = step

    @contextlib.contextmanager
    def create(self, path: str) -> Iterator[Any]:
        self._step()
        with super().create(path) as sink:
            yield sink
            self._step()
        self._step()

    def delete(self, path: str) -> None:
        """A kill deletes nothing."""


class BreakingTable(DeltaLog):
    """Breaks before and after a commit."""

    step: Countdown

    def commit(
        self, change: Change, positions: Mapping[str, int], *, data_change: bool = True
    ) -> None:
        self.step()
        super().commit(change, positions, data_change=data_change)
        self.step()

    def read(self) -> tuple[DataFile, ...]:
        self.step()
        return super().read()

    def checkpoint(self) -> None:
        self.step()
        super().checkpoint()
        self.step()


class BreakingLog:
    def __init__(self, folder: ArchiveFolder, step: Countdown) -> None:
        self._wal, self._step = folder.wal, step
        self.series = folder.wal.series
        self.sealed_segments = folder.wal.sealed_segments

    @property
    def oldest(self) -> int | None:
        return self._wal.oldest

    def seal(self) -> Segment | None:
        self._step()
        return self._wal.seal()

    def remove(self, segments: Sequence[Segment]) -> None:
        self._step()
        self._wal.remove(segments[:1])
        self._step()
        self._wal.remove(segments[1:])


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two old days to delete, one to compact, late samples for it and a new day in two segments."""
    path = tmp_path_factory.mktemp("prepared")
    with ArchiveFolder(path, PublishSettings()) as folder:
        folder.send(OLD)
        folder.publish_all(MONDAY)
        for sample in EARLY:
            folder.send([sample])
            folder.publish_all(MONDAY + DAY + 10 * HOUR)
        for sample in LATE:
            folder.send([sample])
            folder.wal.seal()
    return path


def breaking(folder: ArchiveFolder, step: Countdown, only_commits: str = "") -> Publisher:
    storage = folder.tables.storage
    logs: dict[str, DeltaLog] = delta_logs(storage, SETTINGS.retention)
    for name, log in logs.items():
        log.__class__ = BreakingTable
        vars(log)["step"] = step if not only_commits else Countdown(10_000)
        if name == only_commits:
            vars(log)["step"] = step
    if only_commits:
        return Publisher(ArchiveTables(storage, logs), folder.wal, SETTINGS)
    tables = ArchiveTables(BreakingStorage(storage, step), logs)
    return Publisher(tables, BreakingLog(folder, step), SETTINGS)


def broken_off(prepared: Path, path: Path, step: Countdown) -> None:
    shutil.copytree(prepared, path)
    with ArchiveFolder(path, SETTINGS) as folder, contextlib.suppress(Broken):
        breaking(folder, step).publish_due(NOW)


def steps_needed(prepared: Path, scratch: Path) -> int:
    step = Countdown(10_000)
    broken_off(prepared, scratch, step)
    return 10_000 - step.left


def positions_published(path: Path, table: str) -> list[int]:
    """The positions of the log in the commits to a table, in order."""
    lines = [
        json.loads(line)
        for commit in sorted((path / table / "_delta_log").glob("*.json"))
        for line in commit.read_text().splitlines()
    ]
    found = (line["txn"] for line in lines if "txn" in line)
    return [int(each["version"]) for each in found if each["appId"].startswith("wal-")]


def check_finished(folder: ArchiveFolder, where: object) -> None:
    assert folder.samples() == truth_of([*EARLY, *LATE]), where
    assert folder.snapshot.days == ["2026-09-29", "2026-09-30"], where
    for table in ("samples", "hourly"):
        files = [folder.day_files(table, day) for day in folder.snapshot.days]
        assert [len(each) for each in files] == [1, 1], where
    assert folder.wal.sealed_segments() == [], where
    rows = sorted((row["increase"], row["resets"]) for row in folder.hourly().values())
    assert rows == [(0.0, 0), (1.0, 0), (1.0, 0), (1.0, 1), (7.5, 0)], where
    for table in TABLES:
        positions = positions_published(folder.path, table)
        assert positions == sorted(set(positions)), (where, table)


@pytest.mark.timeout(600)
def test_a_publication_broken_off_at_any_step_is_finished_by_the_next(
    prepared: Path, tmp_path: Path
) -> None:
    needed = steps_needed(prepared, tmp_path / "whole")
    assert needed > 60
    for step in range(0, needed, 1 if long_run() else 3):
        path = tmp_path / str(step)
        broken_off(prepared, path, Countdown(step))
        with ArchiveFolder(path, SETTINGS) as folder:
            folder.publish_due(NOW)
            check_finished(folder, step)
        shutil.rmtree(path)


@pytest.mark.parametrize("table", TABLES)
def test_a_cut_before_the_commit_of_a_table_shows_nothing_twice(
    prepared: Path, tmp_path: Path, table: str
) -> None:
    """Readers see earlier tables with the publication and later ones without it."""
    path = tmp_path / "cut"
    shutil.copytree(prepared, path)
    log = (path / "wal" / "log-id").read_text()
    with ArchiveFolder(path, SETTINGS) as folder, contextlib.suppress(Broken):
        # One step reads the table, the next is its commit.
        breaking(folder, Countdown(1), only_commits=table).publish_due(NOW)
    earlier = TABLES[: TABLES.index(table)]
    covered = {each: DeltaTable(path / each).transaction_version(f"wal-{log}") for each in TABLES}
    assert covered == {each: 7 if each in earlier else 5 for each in TABLES}
    seen = [*OLD, *EARLY, *LATE] if "samples" in earlier else [*OLD, *EARLY]
    assert published_samples(path) == truth_of(seen)  # fails for a sample that comes twice
    hours = DeltaTable(path / "hourly").to_pyarrow_table(columns=["series", "hour"]).to_pylist()
    assert len(hours) == len({(row["series"], row["hour"]) for row in hours})
    assert len(hours) == (8 if "hourly" in earlier else 7)
    with ArchiveFolder(path, SETTINGS) as folder:
        folder.publish_due(NOW)
        check_finished(folder, table)


def test_the_same_publisher_goes_on_after_an_error(prepared: Path, tmp_path: Path) -> None:
    """A disk that was full for a while; the process stays."""
    path = tmp_path / "same"
    shutil.copytree(prepared, path)
    with ArchiveFolder(path, SETTINGS) as folder:
        step = Countdown(0)
        publisher = breaking(folder, step)
        for steps in range(0, 60, 5):
            step.left = steps
            with contextlib.suppress(Broken):
                publisher.publish_due(NOW)
        step.left = 10_000
        publisher.publish_due(NOW)
        check_finished(folder, "same")
        assert publisher.last_success == NOW


PUBLISH = """
import sys
from pathlib import Path
from archive.settings.publishing import PublishSettings, RetentionSettings
from support.archive.folder import DAY, MONDAY, ArchiveFolder
settings = PublishSettings(retention=RetentionSettings(age=86_400.0))
with ArchiveFolder(Path(sys.argv[1]), settings) as folder:
    print("ready", flush=True)
    folder.publish_due(MONDAY + 3 * DAY)
print("done", flush=True)
"""


@pytest.mark.timeout(900)
def test_kills_at_any_time_leave_an_archive_that_the_next_start_finishes(
    prepared: Path, tmp_path: Path
) -> None:
    """A real process and a real kill: nothing of it runs any handler."""
    chance = random.Random(1)
    tests = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": f"{tests}:{tests.parent}"}
    path = tmp_path / "killed"
    done = False
    for attempt in range(40 if long_run() else 8):
        if done or attempt == 0:
            shutil.rmtree(path, ignore_errors=True)
            shutil.copytree(prepared, path)
        process = subprocess.Popen(
            [sys.executable, "-c", PUBLISH, str(path)],
            env=environment, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(chance.uniform(0, 0.6))
        process.kill()
        done = "done" in process.stdout.read()
        process.wait()
        process.stdout.close()
    with ArchiveFolder(path, SETTINGS) as folder:
        folder.publish_due(NOW)
        check_finished(folder, "killed")
