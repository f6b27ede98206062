"""A publication may break off at every step: the next one finishes the work, and nothing is lost,
doubled or left lying about."""

import contextlib
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from support.archive.folder import DAY, HOUR, MONDAY, ArchiveFolder, Reported, truth_of

from archive.maintenance.vacuum import unnamed_files
from archive.settings.publishing import PublishSettings, RetentionSettings
from archive.tables.arrow import pafs
from archive.tables.storage import Storage, Stored
from archive.wal.segments.segment import Segment

NOW = MONDAY + 3 * DAY
SETTINGS = PublishSettings(grace=0.0, retention=RetentionSettings(age=86_400.0))
OLD: list[Reported] = [("up", MONDAY - DAY + step * HOUR, 1.0) for step in range(3)]
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
    def __init__(self, folder: Path, step: Countdown) -> None:
        super().__init__(pafs.LocalFileSystem(), folder.as_posix(), folder)
        self._step = step

    @contextlib.contextmanager
    def create(self, path: str) -> Iterator[Any]:
        self._step()
        with super().create(path) as sink:
            yield sink
            self._step()  # all is written, nothing has its name yet
        self._step()

    def delete(self, path: str) -> None:
        self._step()
        super().delete(path)

    def list(self, folder: str) -> list[Stored]:
        self._step()
        return super().list(folder)


class BreakingLog:
    def __init__(self, folder: ArchiveFolder, step: Countdown) -> None:
        self._wal, self._step = folder.wal, step
        self.series = folder.wal.series
        self.sealed_segments = folder.wal.sealed_segments

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
    """An old day to delete, one to compact, late samples for it and a new day in two segments."""
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


def steps_needed(prepared: Path, scratch: Path) -> int:
    step = Countdown(10_000)
    broken_off(prepared, scratch, step)
    return 10_000 - step.left


def broken_off(prepared: Path, path: Path, step: Countdown) -> None:
    shutil.copytree(prepared, path)
    with ArchiveFolder(path, SETTINGS, BreakingStorage(path, Countdown(100))) as folder:
        folder.publisher._storage = BreakingStorage(path, step)
        folder.publisher._wal = BreakingLog(folder, step)  # type: ignore[assignment]
        with contextlib.suppress(Broken):
            folder.publish_due(NOW)


def leave_rubbish(path: Path) -> None:
    """What a kill leaves, and an exception does not."""
    log = (path / "wal" / "log-id").read_text()[:8]
    for name in (f".tmp-00-0000000099-{log}beef-0.parquet", f"23-0000000099-{log}beef-0.parquet"):
        rubbish = path / "samples" / "day=2026-09-29" / name
        rubbish.parent.mkdir(parents=True, exist_ok=True)
        rubbish.write_bytes(b"PAR1 and no more")


def tidy(folder: ArchiveFolder) -> None:
    """Rubbish is known for ours by its log, and the log by its first segment."""
    folder.send(OLD[-1:])
    folder.publish_due(NOW)
    folder.wal.seal()
    folder.publish_due(NOW)
    assert folder.samples().keys() == {"new/a", "up/a"}


def test_a_publication_broken_off_at_any_step_is_finished_by_the_next(
    prepared: Path, tmp_path: Path
) -> None:
    needed = steps_needed(prepared, tmp_path / "whole")
    assert needed > 40
    for step in range(needed):
        path = tmp_path / str(step)
        broken_off(prepared, path, Countdown(step))
        leave_rubbish(path)
        with ArchiveFolder(path, SETTINGS) as folder:
            folder.publish_due(NOW)
            assert folder.samples() == truth_of([*EARLY, *LATE]), step
            assert sorted(folder.manifest.days) == ["2026-09-29", "2026-09-30"], step
            assert all(len(day.samples) == 1 for day in folder.manifest.days.values()), step
            tidy(folder)
            assert unnamed_files(folder.store, folder.manifest) == [], step
            assert folder.wal.sealed_segments() == [], step
            rows = sorted((row["increase"], row["resets"]) for row in folder.hourly().values())
            assert rows == [(0.0, 0), (1.0, 0), (1.0, 0), (1.0, 1), (7.5, 0)], step
        shutil.rmtree(path)


def test_the_same_publisher_goes_on_after_an_error(prepared: Path, tmp_path: Path) -> None:
    """A disk that was full for a while; the process stays."""
    path = tmp_path / "same"
    shutil.copytree(prepared, path)
    with ArchiveFolder(path, SETTINGS) as folder:
        for steps in range(0, 40, 3):
            folder.publisher._storage = BreakingStorage(path, Countdown(steps))
            with contextlib.suppress(Broken):
                folder.publish_due(NOW)
        folder.publisher._storage = folder.store
        folder.publish_due(NOW)
        assert folder.samples() == truth_of([*EARLY, *LATE])
        assert unnamed_files(folder.store, folder.manifest) == []
        assert folder.publisher.last_success == NOW


PUBLISH_AGAIN_AND_AGAIN = """
import sys
from pathlib import Path
from archive.settings.publishing import PublishSettings, RetentionSettings
from support.archive.folder import DAY, MONDAY, ArchiveFolder
settings = PublishSettings(grace=0.0, retention=RetentionSettings(age=86_400.0))
with ArchiveFolder(Path(sys.argv[1]), settings) as folder:
    print("ready", flush=True)
    folder.publish_due(MONDAY + 3 * DAY)
print("done", flush=True)
"""


@pytest.mark.long
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
    for attempt in range(40):
        if done or attempt == 0:
            shutil.rmtree(path, ignore_errors=True)
            shutil.copytree(prepared, path)
        process = subprocess.Popen(
            [sys.executable, "-c", PUBLISH_AGAIN_AND_AGAIN, str(path)],
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
        assert folder.samples() == truth_of([*EARLY, *LATE])
        tidy(folder)
        assert unnamed_files(folder.store, folder.manifest) == []
