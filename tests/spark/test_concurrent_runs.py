"""A second rollup, a killed one, and an archive that goes on: nothing is lost or read twice."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from support.rollups.archive import DAY, HOUR, MINUTE, MONDAY, RollupArchive, Sample
from support.rollups.generated_samples import generated_days
from support.rollups.runs import COMMAND_CONF, all_rows, run, wrong
from support.rollups.spark_cluster import RollupProcess

from archive.maintenance.schedule import Maintenance
from archive.progress import NoProgress
from archive.settings.publishing import PublishSettings, RetentionSettings
from archive.tables.archive_tables import open_tables
from spark_rollups.filesystem import RollupError, Root
from spark_rollups.jobs.rollup import Result, rollup
from spark_rollups.jobs.settings import RollupSettings
from spark_rollups.progress import SilentProgress
from spark_rollups.rollup.tables.delta_notes import read_version
from spark_rollups.session import Session
from spark_rollups.spark_errors import SparkFailedError

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

NAMES = ["2026-09-28", "2026-09-29", "2026-09-30"]
NOW = MONDAY + 4 * DAY  # a day after the data: vacuum waits where the clock is further ahead


@pytest.fixture(scope="module")
def samples() -> list[Sample]:
    return generated_days(31, MONDAY, 3)


@pytest.fixture
def archive(samples: list[Sample], tmp_path: Path) -> RollupArchive:
    found = RollupArchive(tmp_path / "archive")
    found.add(samples, now=NOW, whole=False)
    return found


def maintain(archive: RollupArchive, *, replaced: float) -> None:
    """Compaction, checkpoints and vacuum, as the archive does them."""
    settings = PublishSettings(retention=RetentionSettings(replaced=replaced))
    Maintenance(open_tables(archive.path), settings, NoProgress()).run(NOW)


class AtEachJob(SilentProgress):
    """Calls something whenever Spark begins a job."""

    def __init__(self, call: Callable[[], None]) -> None:
        super().__init__()
        self._call = call

    def begin(self, title: str) -> None:
        super().begin(title)
        self._call()


def run_beside(
    session: Session, archive: RollupArchive, out: Path, call: Callable[[], None]
) -> Result:
    settings = RollupSettings(str(archive.path), str(out), forecasts=False)
    return rollup(settings, lambda: session, AtEachJob(call))


def newest_version(out: Path, table: str) -> int:
    return read_version(Root(str(out)), table).number


def late_samples(samples: list[Sample], number: int) -> list[Sample]:
    """A minute later than others, in the hours of one day."""
    first = MONDAY + number % 3 * DAY
    return [(identity, at + MINUTE + number, value)
            for identity, at, value in samples[number::97]
            if first <= at < first + 23 * HOUR]  # fmt: skip


def test_the_archive_publishes_compacts_and_vacuums_between_the_jobs_of_a_rollup(
    session: Session, archive: RollupArchive, samples: list[Sample], tmp_path: Path
) -> None:
    """The run has the state at its begin; the next one has the rest."""
    out, added = tmp_path / "out", list[list[Sample]]()

    def go_on() -> None:
        added.append(late_samples(samples, len(added)))
        archive.add(added[-1], now=NOW)
        maintain(archive, replaced=86_400)

    assert run_beside(session, archive, out, go_on).days == NAMES
    assert len(added) == 5  # the series and four tables
    assert wrong(out, samples) == []
    assert run(session, archive.path, out, forecasts=False).days == NAMES
    assert wrong(out, [*samples, *(each for part in added for each in part)]) == []
    assert run(None, archive.path, out, forecasts=False).days == []


def test_files_that_a_vacuum_deletes_too_early_fail_the_run_and_not_the_next(
    session: Session, archive: RollupArchive, samples: list[Sample], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    with pytest.raises(SparkFailedError, match="there is no result yet") as raised:
        run_beside(session, archive, out, lambda: maintain(archive, replaced=0))
    assert ".parquet" in raised.value.story
    assert run(session, archive.path, out, forecasts=False).days == NAMES
    assert wrong(out, samples) == []


def test_a_second_rollup_is_refused_and_follows_when_java_of_the_first_dies(
    session: Session, archive: RollupArchive, samples: list[Sample], tmp_path: Path
) -> None:
    """The first dies with some of its tables written: readers see the result before it."""
    before, out = tmp_path / "before", tmp_path / "out"
    run(session, archive.path, before, forecasts=False)
    shutil.copytree(before, out)
    late = late_samples(samples, 1)
    archive.add(late, now=NOW)
    first = RollupProcess(
        archive.path, out, "--no-forecasts", "--master", "local[2]", *COMMAND_CONF
    )
    first.await_error_line("quantiles of samples")
    with pytest.raises(RollupError, match=f"another rollup writes here: process {first.pid} on "):
        run(None, archive.path, out, forecasts=False)
    first.kill_java()
    assert first.exit_code() == 1, first.errors
    # A thread of pyspark may print behind it.
    ours = [line for line in first.errors.splitlines() if line.startswith("streamgauge: ")]
    assert len(ours) == 1, first.errors
    assert ours[0].startswith("streamgauge: Spark failed: Java has died; ")
    assert ours[0].endswith("; the old result is unchanged")
    assert "/spark_rollups/" not in first.errors  # no traceback of ours; pyspark's socket has one
    assert newest_version(out, "hourly_gauges") == newest_version(before, "hourly_gauges") + 1
    assert newest_version(out, "daily") == newest_version(before, "daily")
    assert all_rows(out) == all_rows(before)
    assert NAMES[1] in run(session, archive.path, out, forecasts=False).days
    assert wrong(out, [*samples, *late]) == []
