"""Runs one after the other: what is read again, what stays, and what a failure leaves behind."""

import json
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path

import pytest
from support.rollups.archive import DAY, HOUR, MINUTE, MONDAY, RollupArchive, Sample, labels, spoil

from archive.maintenance.retention import without_days
from archive.tables.archive_tables import open_tables
from spark_rollups.filesystem import RollupError, Root
from spark_rollups.forecasting.snapshot import batches
from spark_rollups.jobs import cleanup
from spark_rollups.jobs import rollup as rollup_run
from spark_rollups.jobs.rollup import Result, rollup
from spark_rollups.jobs.settings import RollupSettings
from spark_rollups.jobs.worker_tasks import LocalRunner
from spark_rollups.progress import SilentProgress
from spark_rollups.rollup.tables.manifest import newest_manifest
from spark_rollups.rollup.tables.reader import open_rollups
from spark_rollups.spark_errors import SparkFailedError

pytestmark = pytest.mark.slow

EVER = date(2000, 1, 1), date(2100, 1, 1)
NAMES = ("2026-09-28", "2026-09-29", "2026-09-30")


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


def file_of(archive: RollupArchive, table: str, day: str) -> Path:
    """The one that the table has."""
    (file,) = open_tables(archive.path).read().of_day(table, day)
    return archive.path / file.path


def remove(archive: RollupArchive, table: str, days: Sequence[str]) -> None:
    published = open_tables(archive.path)
    published.logs[table].commit(without_days(published.read(), days)[table], {})


class Recorded(LocalRunner):
    """Records the days of its tasks, and fails for a given day."""

    def __init__(self, fails: str = "") -> None:
        self.days: set[str] = set()
        self._fails = fails

    def run(self, tasks: Sequence[str]) -> Iterator[tuple[int, str]]:
        for index, result in super().run(tasks):
            days = {json.loads(each)["day"] for each in json.loads(result)}
            self.days |= days
            if self._fails in days:
                raise KeyboardInterrupt
            yield index, result


def run(archive: RollupArchive, runner: LocalRunner | None = None, **more: object) -> Result:
    out = str(archive.path.parent / "out")
    settings = RollupSettings(str(archive.path), out, **more)  # type: ignore[arg-type]
    return rollup(settings, lambda: runner or LocalRunner(), SilentProgress())


def tables(archive: RollupArchive) -> dict[str, object]:
    rollups = open_rollups(str(archive.path.parent / "out"))
    return {name: rollups.table(name, *EVER) for name in ("daily", "hourly", "shares", "quantiles")}


def never() -> LocalRunner:
    raise AssertionError("Spark must not be started")


def test_where_nothing_changed_nothing_is_read_and_spark_is_not_started(
    archive: RollupArchive,
) -> None:
    first = run(archive)
    out = str(archive.path.parent / "out")
    second = rollup(RollupSettings(str(archive.path), out), never, SilentProgress())
    assert first.read == list(NAMES)
    assert second.read == []
    assert second.manifest == first.manifest


def test_only_days_that_changed_are_read_again(archive: RollupArchive) -> None:
    run(archive)
    late = [(identity, time + MINUTE, value) for identity, time, value in day_of(1)[:3]]
    archive.add(late, now=MONDAY + 5 * DAY)
    runner = Recorded()
    again = run(archive, runner)
    assert again.read == [NAMES[1]]
    assert runner.days - {""} == {NAMES[1]}
    assert again.manifest.number == 4, "two of each run: days, then forecasts"


def test_a_new_day_is_added_and_the_others_are_kept(archive: RollupArchive) -> None:
    run(archive)
    archive.add(day_of(3), now=MONDAY + 6 * DAY)
    again = run(archive)
    assert again.read == ["2026-10-01"]
    assert sorted(again.manifest.days) == [*NAMES, "2026-10-01"]


def test_another_setting_reads_every_day_again(archive: RollupArchive) -> None:
    run(archive)
    assert run(archive, from_raw=True).read == list(NAMES)
    assert run(archive, from_raw=True, folded=("stream",)).read == list(NAMES)


def test_running_days_again_gives_the_same_tables(archive: RollupArchive, tmp_path: Path) -> None:
    run(archive)
    once = tables(archive)
    run(archive, folded=("job",))
    run(archive)
    twice = tables(archive)
    for name, table in once.items():
        assert table.equals(twice[name]), name  # type: ignore[attr-defined]
        assert table.num_rows > 0  # type: ignore[attr-defined]


def test_days_that_left_the_archive_stay_in_the_rollups(archive: RollupArchive) -> None:
    run(archive)
    for table in ("samples", "hourly"):
        remove(archive, table, NAMES[:1])
    assert sorted(run(archive).manifest.days) == list(NAMES)


def test_a_broken_run_leaves_the_old_result_and_the_next_takes_it_up(
    archive: RollupArchive,
) -> None:
    run(archive, last=date(2026, 9, 28))
    old = tables(archive)
    with pytest.raises(KeyboardInterrupt):
        run(archive, Recorded(fails=NAMES[2]))
    assert open_rollups(str(archive.path.parent / "out")).days() == [date(2026, 9, 28)]
    assert tables(archive) == old
    runner = Recorded()
    again = run(archive, runner)
    assert again.resumed == [NAMES[1]]
    assert runner.days - {""} == {NAMES[2]}
    assert sorted(again.manifest.days) == list(NAMES)


def test_what_a_broken_run_finished_is_read_again_when_its_files_are_gone(
    archive: RollupArchive,
) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(archive, Recorded(fails=NAMES[2]))
    for path in (archive.path.parent / "out" / "daily").rglob("*.parquet"):
        path.unlink()
    assert run(archive).resumed == []


def test_an_unreadable_file_is_named_and_leaves_the_old_result(archive: RollupArchive) -> None:
    run(archive, last=date(2026, 9, 28))
    path = file_of(archive, "hourly", NAMES[1])
    path.write_bytes(path.read_bytes()[:-1000])
    with pytest.raises(RollupError, match=path.name):
        run(archive)
    assert open_rollups(str(archive.path.parent / "out")).days() == [date(2026, 9, 28)]


def test_a_fault_within_a_file_is_found_by_the_work_and_other_days_are_kept(
    archive: RollupArchive,
) -> None:
    path = file_of(archive, "samples", NAMES[1])
    spoil(path)
    with pytest.raises(RollupError, match=f"{path.name}.*; there is no result yet"):
        run(archive)
    assert newest_manifest(Root(str(archive.path.parent / "out"))) is None
    assert run(archive, first=date(2026, 9, 30)).resumed == [NAMES[2]]


def test_a_missing_file_is_named(archive: RollupArchive) -> None:
    path = file_of(archive, "hourly", NAMES[1])
    path.unlink()
    with pytest.raises(RollupError, match=f"cannot read .*{path.name}"):
        run(archive)


@pytest.mark.parametrize(
    ("first", "last", "message"),
    [
        (date(2026, 9, 1), None, "has no day 2026-09-01 .it has 2026-09-28 to 2026-09-30"),
        (None, date(2026, 10, 9), "has no day 2026-10-09"),
        (date(2026, 9, 30), date(2026, 9, 28), "--from 2026-09-30 is after --to 2026-09-28"),
    ],
)
def test_a_day_that_the_archive_does_not_have_is_an_error(
    archive: RollupArchive, first: date | None, last: date | None, message: str
) -> None:
    with pytest.raises(RollupError, match=message):
        run(archive, first=first, last=last)


class RecordedProgress(SilentProgress):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def log(self, line: str) -> None:
        self.lines.append(line)


def test_days_missing_in_between_are_reported(archive: RollupArchive) -> None:
    archive.add(day_of(5), now=MONDAY + 8 * DAY)
    progress = RecordedProgress()
    out = str(archive.path.parent / "out")
    rollup(RollupSettings(str(archive.path), out), LocalRunner, progress)
    assert progress.lines == ["missing in the archive: 2026-10-01 to 2026-10-02"]


def test_no_archive_is_an_error_that_names_the_place(tmp_path: Path) -> None:
    with pytest.raises(RollupError, match=f"{tmp_path}: no archive here"):
        rollup(RollupSettings(str(tmp_path), str(tmp_path / "out")), LocalRunner, SilentProgress())


def test_a_damaged_log_of_a_table_is_an_error_that_names_it(archive: RollupArchive) -> None:
    path = max((archive.path / "hourly" / "_delta_log").glob("*.json"))
    path.write_text("{")
    with pytest.raises(RollupError, match=f"{archive.path}/hourly: "):
        run(archive)


def test_a_folder_without_tables_is_an_error_that_names_one(archive: RollupArchive) -> None:
    shutil.rmtree(archive.path / "series")
    with pytest.raises(RollupError, match=r"no archive here \(no table series\)"):
        run(archive)


def test_rollups_of_a_newer_program_are_refused(archive: RollupArchive) -> None:
    run(archive)
    path = archive.path.parent / "out" / "rollup" / "0000000002.json"
    path.write_text(path.read_text().replace('"format": 1', '"format": 2'))
    with pytest.raises(RollupError, match="format 2 is newer than this program, which reads 1"):
        run(archive)


def test_two_runs_at_once_do_not_overwrite_each_other(archive: RollupArchive) -> None:
    class Overtaken(LocalRunner):
        def run(self, tasks: Sequence[str]) -> Iterator[tuple[int, str]]:
            run(archive)
            yield from super().run(tasks)

    with pytest.raises(RollupError, match="another rollup wrote here at the same time"):
        run(archive, Overtaken())


def test_files_of_earlier_results_are_deleted_when_no_reader_can_use_them(
    archive: RollupArchive, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(archive)
    out = archive.path.parent / "out"
    first = set(out.glob("daily/*/*.parquet"))
    for turn in range(3):
        run(archive, from_raw=turn % 2 == 0)
    assert first <= set(out.glob("daily/*/*.parquet")), (
        "a young file may belong to a running rollup"
    )
    monkeypatch.setattr(cleanup, "GRACE_MS", -HOUR)
    last = run(archive, from_raw=True, folded=())
    left = {path.relative_to(out).as_posix() for path in out.glob("daily/*/*.parquet")}
    assert not first & set(out.glob("daily/*/*.parquet"))
    assert {path for path in last.manifest.paths() if path.startswith("daily/")} <= left
    assert len(list((out / "rollup").glob("*.json"))) == cleanup.KEPT_MANIFESTS


def test_what_killed_runs_left_half_done_goes_when_it_is_old(archive: RollupArchive) -> None:
    run(archive)
    out = archive.path.parent / "out"
    old, young = f"{MONDAY:013d}-abcdef", f"{time.time() * 1000:013.0f}-abcdef"
    scratch = ".tmp-0a1b2c3d-"
    left, kept = [
        [
            f"daily/day=2026-09-28/{scratch}{stamp}-0.parquet",
            f"inputs/{stamp}-trends-2026-09-28-00000.arrow",
            f"inputs/{scratch}{stamp}-trends-2026-09-28-00001.arrow",
            f"rollup/{scratch}{stamp}.json",
            f"{scratch}{stamp}.prom",
        ]
        for stamp in (old, young)
    ]
    plain = ["rollup/.tmp-0a1b2c3d-unfinished.json", ".tmp-0a1b2c3d-streamgauge_rollup.prom"]
    recent = ["rollup/.tmp-ffffffff-unfinished.json", "rollup/notes.txt", "inputs/notes.txt"]
    for path in (*left, *kept, *plain, *recent):
        (out / path).parent.mkdir(exist_ok=True)
        (out / path).write_bytes(b"half")
    for path in (*plain, "rollup/notes.txt"):
        os.utime(out / path, (MONDAY / 1000, MONDAY / 1000))
    run(archive, from_raw=True)
    assert [path for path in (*left, *plain) if (out / path).exists()] == []
    assert [path for path in (*kept, *recent) if not (out / path).exists()] == []


def test_days_that_changed_without_forecasts_are_not_hidden_from_later_runs(
    archive: RollupArchive,
) -> None:
    first = run(archive)
    late = [(identity, time + MINUTE, value) for identity, time, value in day_of(1)[:3]]
    archive.add(late, now=MONDAY + 5 * DAY)
    between = run(archive, forecasts=False)
    assert between.snapshots == []
    assert between.manifest.asof == first.manifest.asof
    last = run(archive)
    assert last.read == []
    assert last.snapshots == [NAMES[2]]
    assert run(archive).snapshots == []


def test_days_are_there_for_readers_even_when_no_forecast_can_be_made(
    archive: RollupArchive, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object) -> None:
        raise RollupError("cannot be made")

    with monkeypatch.context() as patched:
        patched.setattr(rollup_run, "make_snapshots", failing)
        with pytest.raises(RollupError, match="cannot be made"):
            run(archive)
    opened = open_rollups(str(archive.path.parent / "out"))
    assert [day.isoformat() for day in opened.days()] == list(NAMES)
    assert opened.snapshot_days() == []
    again = run(archive)
    assert again.read == again.resumed == []
    assert again.snapshots == [NAMES[2]]


class SparkFails(LocalRunner):
    """At the tasks that have this word."""

    def __init__(self, at: str) -> None:
        self._at = at

    def run(self, tasks: Sequence[str]) -> Iterator[tuple[int, str]]:
        if any(self._at in json.loads(task) for task in tasks):
            raise SparkFailedError("java.lang.OutOfMemoryError: Java heap space")
        yield from super().run(tasks)


def failure_message(archive: RollupArchive, at: str, **more: object) -> str:
    with pytest.raises(SparkFailedError, match="Java heap space") as raised:
        run(archive, SparkFails(at), **more)
    assert raised.value.story == "java.lang.OutOfMemoryError: Java heap space"
    return str(raised.value).partition("; ")[2]


def test_a_failure_of_spark_reports_the_result_that_readers_see(
    archive: RollupArchive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "FEW_BATCHES", 0)
    assert failure_message(archive, "units") == "there is no result yet"
    first = run(archive, last=date(2026, 9, 28), forecasts=False).manifest
    assert failure_message(archive, "units") == "the old result is unchanged"
    root = Root(str(archive.path.parent / "out"))
    assert newest_manifest(root) == first
    left = "the days are written, forecasts are unchanged"
    assert failure_message(archive, "batch") == left
    found = newest_manifest(root)
    assert found is not None
    assert (sorted(found.days), found.asof) == (list(NAMES), {})
    assert failure_message(archive, "batch") == left  # no day has changed since
    assert newest_manifest(root) == found


def test_days_without_statistics_are_made_from_the_samples(archive: RollupArchive) -> None:
    """An archive that another program wrote may have none."""
    run(archive)
    wanted = tables(archive)
    remove(archive, "hourly", NAMES)
    again = run(archive)
    assert again.read == list(NAMES)
    assert all(day.raw for day in again.manifest.days.values())
    assert tables(archive) == wanted


def test_days_without_samples_have_days_and_say_that_quantiles_are_not_known(
    archive: RollupArchive,
) -> None:
    remove(archive, "samples", NAMES[1:2])
    found = run(archive).manifest.days[NAMES[1]]
    assert not found.samples
    assert found.tables["daily"]
    assert found.tables["quantiles"] == ()


def test_hours_with_data_are_kept_as_bits(archive: RollupArchive) -> None:
    archive.add([each for each in day_of(3) if each[1] < MONDAY + 3 * DAY + 2 * HOUR],
                now=MONDAY + 4 * DAY)  # fmt: skip
    rollups_days = run(archive).manifest.days
    assert rollups_days[NAMES[0]].hours == (1 << 24) - 1
    assert rollups_days["2026-10-01"].hours == 0b11
