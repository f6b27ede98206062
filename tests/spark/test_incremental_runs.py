"""Runs one after the other: what is computed again, what stays, and what a failure leaves behind."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import pytest
from support.rollups.archive import DAY, HOUR, MINUTE, MONDAY, RollupArchive, Sample, labels, spoil
from support.rollups.generated_samples import generated_days
from support.rollups.runs import COMMAND_CONF, EVER, all_rows, run, wrong

from archive.maintenance.retention import without_days
from archive.tables.archive_tables import open_tables
from spark_rollups.filesystem import RollupError, Root
from spark_rollups.jobs.output_lock import output_lock
from spark_rollups.jobs.rollup import rollup
from spark_rollups.jobs.settings import RollupSettings
from spark_rollups.progress import SilentProgress
from spark_rollups.rollup.tables.reader import open_rollups
from spark_rollups.session import Session
from spark_rollups.spark_errors import SparkFailedError

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

ROOT = Path(__file__).parent.parent.parent
NAMES = ["2026-09-28", "2026-09-29", "2026-09-30"]


def day_of(number: int, consumer: str = "c") -> list[Sample]:
    identity = {"system": "s", "account": "A", "stream": "S", "consumer": consumer}
    return [
        (labels(metric, **identity), MONDAY + number * DAY + step * 30 * MINUTE, float(step))
        for metric in ("streamgauge_consumer_deliveries_total", "streamgauge_consumer_verdict",
                       "streamgauge_consumer_lag_seconds")
        for step in range(48)
    ]  # fmt: skip


@pytest.fixture(scope="module")
def three_days(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = RollupArchive(tmp_path_factory.mktemp("days") / "archive")
    made.add([each for number in range(3) for each in day_of(number)], now=MONDAY + 5 * DAY)
    return made.path


@pytest.fixture
def archive(three_days: Path, tmp_path: Path) -> RollupArchive:
    """One of its own for each test."""
    shutil.copytree(three_days, tmp_path / "archive")
    return RollupArchive(tmp_path / "archive")


@pytest.fixture(scope="module")
def rolled(session: Session, three_days: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The rollups of the three days, to be copied."""
    out = tmp_path_factory.mktemp("rolled") / "out"
    assert run(session, three_days, out).days == NAMES
    return out


@pytest.fixture
def out(rolled: Path, tmp_path: Path) -> Path:
    shutil.copytree(rolled, tmp_path / "out")
    return tmp_path / "out"


def remove(archive: RollupArchive, table: str, days: Sequence[str]) -> None:
    published = open_tables(archive.path)
    published.logs[table].commit(without_days(published.read(), days)[table], {})


def file_of(archive: RollupArchive, table: str, day: str) -> Path:
    (file,) = open_tables(archive.path).read().of_day(table, day)
    return archive.path / file.path


def test_only_days_that_changed_are_computed_and_forecasts_follow(
    session: Session, archive: RollupArchive, out: Path
) -> None:
    """Without changes nothing; a late sample its day; a new day that day; without forecasts later."""
    assert run(None, archive.path, out).days == []
    late = [(identity, time + MINUTE, value) for identity, time, value in day_of(1)[:3]]
    archive.add(late, now=MONDAY + 5 * DAY)
    between = run(session, archive.path, out, forecasts=False)
    assert (between.days, between.snapshots) == ([NAMES[1]], [])
    new = [each for each in day_of(3) if each[1] < MONDAY + 3 * DAY + 2 * HOUR]
    archive.add(new, now=MONDAY + 4 * DAY)
    last = run(session, archive.path, out)
    assert (last.days, last.snapshots) == (["2026-10-01"], [NAMES[2]])
    rollups = open_rollups(str(out))
    assert [day.isoformat() for day in rollups.days()] == [*NAMES, "2026-10-01"]
    assert rollups.hours(date(2026, 9, 28)) == (1 << 24) - 1
    assert rollups.hours(date(2026, 10, 1)) == 0b11
    assert run(None, archive.path, out).snapshots == []


def test_an_open_day_with_late_samples_is_computed_again_and_moves_the_next_day(
    session: Session, tmp_path: Path
) -> None:
    """Late samples change the day before too: counters step into the next day from it."""
    samples = generated_days(21, MONDAY, 3)
    noon = MONDAY + 2 * DAY + 12 * HOUR
    late = [each for each in samples if each[1] < noon and each[1] % 7 == 0]
    early = [each for each in samples if each[1] < noon and each[1] % 7]
    archive, out = RollupArchive(tmp_path / "archive"), tmp_path / "out"
    archive.add(early, now=noon, whole=False)
    assert run(session, archive.path, out, from_raw=True, forecasts=False).days == NAMES
    assert wrong(out, early) == []
    archive.add(late, now=noon + HOUR, whole=False)
    rest = [each for each in samples if each[1] >= noon]
    archive.add(rest, now=MONDAY + 3 * DAY + HOUR)
    assert run(session, archive.path, out, from_raw=True, forecasts=False).days == NAMES
    assert wrong(out, [*early, *late, *rest]) == []


def test_days_outside_the_range_wait_for_a_later_run(
    session: Session, archive: RollupArchive, tmp_path: Path, rolled: Path
) -> None:
    out = tmp_path / "parts"
    first = run(session, archive.path, out, last=date(2026, 9, 29), forecasts=False)
    assert first.days == NAMES[:2]
    assert run(session, archive.path, out, forecasts=False).days == NAMES[2:]
    assert all_rows(out) == all_rows(rolled)


def test_days_without_statistics_come_from_samples_and_removed_days_stay(
    session: Session, archive: RollupArchive, out: Path, rolled: Path
) -> None:
    """An archive that another program wrote may have no statistics; retention removes old days."""
    remove(archive, "hourly", NAMES[2:])
    assert run(session, archive.path, out, forecasts=False).days == NAMES[2:]
    assert all_rows(out) == all_rows(rolled)
    for table in ("samples", "hourly"):
        remove(archive, table, NAMES[:1])
    assert run(None, archive.path, out, forecasts=False).days == []
    assert all_rows(out) == all_rows(rolled)


def test_other_settings_compute_every_day_again(
    session: Session, archive: RollupArchive, out: Path
) -> None:
    assert run(session, archive.path, out, folded=("stream",), forecasts=False).days == NAMES
    streams = open_rollups(str(out)).table("daily", *EVER, columns=["stream"])
    assert streams.column("stream").unique().to_pylist() == ["S"], "a subject is never folded"


def test_an_unreadable_file_is_named_and_leaves_the_old_result(
    session: Session, archive: RollupArchive, out: Path, rolled: Path
) -> None:
    late = [(identity, time + MINUTE, value) for identity, time, value in day_of(1)[:3]]
    archive.add(late, now=MONDAY + 5 * DAY)
    path = file_of(archive, "samples", NAMES[1])
    spoil(path)
    with pytest.raises(SparkFailedError, match="the old result is unchanged") as raised:
        run(session, archive.path, out)
    assert path.name in raised.value.story
    assert "\n" not in str(raised.value)
    assert all_rows(out) == all_rows(rolled)


def test_a_table_that_spark_cannot_open_is_named_in_one_line(
    session: Session, archive: RollupArchive, tmp_path: Path
) -> None:
    """The archive is gone when Spark has started: a mount that a cluster does not have."""

    def start() -> Session:
        archive.path.rename(tmp_path / "elsewhere")
        return session

    settings = RollupSettings(str(archive.path), str(tmp_path / "out"))
    with pytest.raises(RollupError, match=r"cannot open version .* of .*/archive/series") as raised:
        rollup(settings, start, SilentProgress())
    assert "check that Spark reaches this path" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_second_rollup_into_the_same_folder_says_who_writes_there(
    archive: RollupArchive, out: Path
) -> None:
    command = [sys.executable, "-m", "spark_rollups.main", "--archive", str(archive.path)]
    with output_lock(Root(str(out))):
        done = subprocess.run(
            [*command, "--out", str(out)], cwd=ROOT, capture_output=True, text=True, check=False
        )
    assert done.returncode == 2
    assert f"another rollup writes here: process {os.getpid()} on " in done.stderr
    assert done.stderr.count("\n") == 1
    with output_lock(Root(str(out))):
        pass


def test_the_command_writes_the_tables_and_reports_it(
    session: Session, three_days: Path, tmp_path: Path, rolled: Path
) -> None:
    """As a user calls it, in another time zone."""
    command = [sys.executable, "-m", "spark_rollups.main", "--archive", str(three_days)]
    done = subprocess.run(
        [*command, "--out", str(tmp_path / "out"), "--master", "local[2]", *COMMAND_CONF],
        cwd=ROOT, capture_output=True, text=True, check=False,
        env={**os.environ, "TZ": "America/St_Johns"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "3 days written from 216 rows" in done.stdout
    assert "forecasts as of 2026-09-30" in done.stdout
    assert "Spark UI: http://" in done.stderr
    assert "rollup 2026-09-28 to 2026-09-30: hours to days" in done.stderr
    assert "WARN" not in done.stderr
    assert all_rows(tmp_path / "out") == all_rows(rolled)


def test_rollups_of_a_newer_program_are_refused(archive: RollupArchive, out: Path) -> None:
    log = max((out / "daily" / "_delta_log").glob("*.json"))
    log.write_text(log.read_text().replace('\\"format\\": 3', '\\"format\\": 4'))
    for crc in (out / "daily" / "_delta_log").glob("*.crc"):
        crc.unlink()
    with pytest.raises(RollupError, match="format 4 is newer than this program, which reads 3"):
        run(None, archive.path, out)
