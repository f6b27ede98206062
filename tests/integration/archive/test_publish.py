"""From the real log to the Delta tables, read back by deltalake alone."""

import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from deltalake import DeltaTable
from support.archive.folder import (
    DAY,
    HOUR,
    MONDAY,
    STALE,
    ArchiveFolder,
    Reported,
    published_rows,
    published_samples,
    truth_of,
)

from archive.batch import OpaqueKind
from archive.maintenance.compaction import SERIES_FILES
from archive.settings.publishing import PublishSettings
from archive.tables.schema import LATEST_TIME, SAMPLES, SERIES, TABLES
from archive.tables.storage import StorageError

MINUTE = 60_000


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[ArchiveFolder]:
    with ArchiveFolder(tmp_path) as made:
        yield made


def regular(
    name: str, start: int, count: int, step: int = 30_000, by: float = 1.0
) -> list[Reported]:
    return [(name, start + place * step, place * by) for place in range(count)]


def test_what_was_sent_is_published_value_by_value(folder: ArchiveFolder) -> None:
    reported = [
        *regular("up", MONDAY, 240),
        *regular("lag/b", MONDAY + HOUR, 120, by=0.25),
        ("up/c", MONDAY + 5, 1 / 3),
        ("up/c", MONDAY + 6, STALE),
        ("up/c", MONDAY + 7, float("inf")),
        ("up/d", MONDAY + 8, 0x7FF8_0000_0000_1234),
        ("up/d", MONDAY + 9, -0.0),
    ]
    folder.send(reported)
    done = folder.publish_all()
    assert (done.hours, done.samples) == (2, len(reported))
    assert folder.samples() == truth_of(reported)


def test_the_log_is_emptied_by_what_was_published(folder: ArchiveFolder) -> None:
    folder.send(regular("up", MONDAY, 3))
    folder.publish_all()
    assert folder.wal.sealed_segments() == []
    assert list((folder.path / "wal").glob("*.wal")) == []


def test_an_hour_waits_ten_minutes_after_its_end(folder: ArchiveFolder) -> None:
    folder.send(regular("up", MONDAY, 3))
    assert folder.publish_due(MONDAY + HOUR + 10 * MINUTE - 1).hours == 0
    assert folder.publish_due(MONDAY + HOUR + 10 * MINUTE).hours == 1
    assert folder.samples() == truth_of(regular("up", MONDAY, 3))


def test_a_publication_takes_the_whole_log_once_an_hour(folder: ArchiveFolder) -> None:
    """One position covers it, so the first minutes of the open hour are published with it."""
    early, opened = regular("up", MONDAY, 3), regular("up", MONDAY + HOUR, 3)
    folder.send(early)
    folder.send(opened, received=MONDAY + HOUR + 5 * MINUTE)
    assert folder.publish_due(MONDAY + HOUR + 10 * MINUTE).samples == 6
    assert folder.samples() == truth_of([*early, *opened])
    assert folder.wal.sealed_segments() == []
    rest = regular("up", MONDAY + HOUR + 20 * MINUTE, 9)
    folder.send(rest, received=MONDAY + HOUR + 20 * MINUTE)
    assert folder.publish_due(MONDAY + 2 * HOUR + 10 * MINUTE - 1).hours == 0
    assert folder.publish_due(MONDAY + 2 * HOUR + 10 * MINUTE).hours == 1
    assert folder.samples() == truth_of([*early, *opened, *rest])
    assert folder.publisher.totals.repeated == 0
    assert [len(folder.day_files(table)) for table in ("samples", "hourly")] == [2, 2]


def test_late_samples_replace_the_file_of_their_hour(folder: ArchiveFolder) -> None:
    first = [*regular("up", MONDAY, 5), *regular("other", MONDAY, 5)]
    late = [("up", MONDAY + 15_000, 77.0), ("new", MONDAY + 1, 1.0)]
    folder.send(first)
    folder.publish_due(MONDAY + 2 * HOUR)
    (before,) = folder.day_files(SAMPLES)
    folder.send(late)
    folder.publish_all()
    assert folder.samples() == truth_of([*first, *late])
    (after,) = folder.day_files(SAMPLES)
    assert after != before
    assert (folder.path / before).exists()  # for readers of the version before


def test_one_publication_is_one_commit_to_each_table(folder: ArchiveFolder) -> None:
    folder.send(regular("up", MONDAY, 5))
    folder.publish_all()
    before = folder.snapshot.versions
    folder.send([*regular("up", MONDAY + 1, 5), *regular("new", MONDAY + 3 * DAY, 5)])
    folder.publish_all()
    assert folder.snapshot.versions == {table: before[table] + 1 for table in TABLES}
    folder.publish_all()
    assert folder.snapshot.versions == {table: before[table] + 1 for table in TABLES}


def test_every_table_has_the_position_of_the_log(folder: ArchiveFolder) -> None:
    folder.send(regular("up", MONDAY, 5))
    folder.publish_all()
    log = (folder.path / "wal" / "log-id").read_text()
    found = [DeltaTable(folder.path / table).transaction_version(f"wal-{log}") for table in TABLES]
    assert found == [1] * len(TABLES)


def test_series_have_the_first_and_the_last_day_of_their_data(folder: ArchiveFolder) -> None:
    folder.send([("up", MONDAY + DAY, 1.0), ("down", MONDAY, 1.0)])
    folder.publish_all()
    for day in (0, 3, 2):
        folder.send([("up", MONDAY + day * DAY, 2.0)])
        folder.publish_all()
    days = {
        row["name"]: (str(row["first_day"]), str(row["last_day"]))
        for row in published_rows(folder.path, SERIES)
    }
    assert days == {
        "up/a": ("2026-09-28", "2026-10-01"),
        "down/a": ("2026-09-28", "2026-09-28"),
    }


def test_a_repeated_request_doubles_nothing_and_is_counted(folder: ArchiveFolder) -> None:
    reported = regular("up", MONDAY, 10)
    folder.send(reported)
    folder.send(reported)
    folder.publish_all()
    folder.send(reported)
    folder.publish_all()
    assert folder.samples() == truth_of(reported)
    assert folder.publisher.totals.repeated == 20
    assert folder.publisher.totals.conflicting == 0


def test_of_two_values_for_one_time_the_last_acknowledged_stays(folder: ArchiveFolder) -> None:
    folder.send([("up", MONDAY, 1.0), ("down", MONDAY, 5.0)])
    folder.send([("up", MONDAY, 2.0), ("down", MONDAY, STALE)])
    folder.publish_all()
    assert folder.samples() == truth_of([("up", MONDAY, 2.0), ("down", MONDAY, STALE)])
    folder.send([("up", MONDAY, 3.0)])
    folder.publish_all()
    assert folder.samples()["up/a"] == truth_of([("up", MONDAY, 3.0)])["up/a"]
    assert folder.publisher.totals.conflicting == 3


def test_a_day_that_is_over_becomes_one_file_of_each_table(folder: ArchiveFolder) -> None:
    reported = [sample for hour in range(4) for sample in regular("up", MONDAY + hour * HOUR, 120)]
    reported += [sample for hour in range(4) for sample in regular("a", MONDAY + hour * HOUR, 7)]
    for hour in range(4):
        of_hour = [each for each in reported if each[1] // HOUR == MONDAY // HOUR + hour]
        folder.send(of_hour, received=MONDAY + hour * HOUR)
        folder.publish_due(MONDAY + (hour + 1) * HOUR + 10 * MINUTE)
    assert len(folder.day_files(SAMPLES)) == 4
    done = folder.publish_due(MONDAY + DAY + 10 * MINUTE)
    assert done.compacted == 1
    assert [len(folder.day_files(table)) for table in ("samples", "hourly")] == [1, 1]
    assert folder.samples() == truth_of(reported)
    late = [("up", MONDAY + 2 * HOUR + 1, 5.0), ("up", MONDAY + 9 * HOUR, 6.0)]
    folder.send(late)
    folder.publish_all(MONDAY + 2 * DAY)
    folder.publish_due(MONDAY + 2 * DAY)
    assert folder.samples() == truth_of([*reported, *late])
    assert len(folder.day_files(SAMPLES)) == 1


def test_an_increase_runs_on_across_hours_days_and_resets(folder: ArchiveFolder) -> None:
    folder.send([("c_total", MONDAY + DAY - HOUR, 10.0), ("c_total", MONDAY + DAY - 1, 30.0)])
    folder.send([("c_total", MONDAY + DAY, 35.0), ("c_total", MONDAY + DAY + 3 * HOUR, 4.0)])
    folder.publish_all()
    found = [(row["increase"], row["resets"]) for _, row in sorted(folder.hourly().items())]
    assert found == [(20.0, 0), (5.0, 0), (4.0, 1)]


def test_late_samples_correct_the_increase_of_the_hour_after(folder: ArchiveFolder) -> None:
    folder.send([("c_total", MONDAY, 10.0), ("c_total", MONDAY + 5 * HOUR, 100.0)])
    folder.publish_all()
    following = ("c_total/a", MONDAY + 5 * HOUR)
    assert folder.hourly()[following]["increase"] == 90.0
    # The counter was at 400 in between, so it fell to 100: a reset that was not seen before.
    folder.send([("c_total", MONDAY + 2 * HOUR, 400.0)])
    folder.publish_all()
    row = folder.hourly()[following]
    assert (row["increase"], row["resets"]) == (100.0, 1)
    assert folder.hourly()["c_total/a", MONDAY + 2 * HOUR]["increase"] == 390.0


def test_a_step_is_not_counted_over_more_than_a_day(folder: ArchiveFolder) -> None:
    folder.send([("c_total", MONDAY, 10.0), ("c_total", MONDAY + 25 * HOUR, 100.0)])
    folder.publish_all()
    assert folder.hourly()["c_total/a", MONDAY + 25 * HOUR]["increase"] == 0.0


def test_replicas_become_one_series_and_fill_each_others_gaps(folder: ArchiveFolder) -> None:
    a = regular("up", MONDAY, 100)
    b = regular("up", MONDAY + 10_000, 120)
    folder.send(a, replica="r1")
    folder.send(b, replica="r2")
    folder.publish_all()
    # r2 has more samples and is chosen; r1 has nothing that r2 lacks but for what is near.
    assert folder.samples() == truth_of(b)
    assert folder.publisher.totals.other_replica == 100
    c = regular("up", MONDAY + HOUR, 20)
    d = regular("up", MONDAY + HOUR + 30 * MINUTE + 3, 40)
    folder.send(c, replica="r1")
    folder.send(d, replica="r2")
    folder.publish_all()
    assert folder.samples() == truth_of([*b, *c, *d])


def test_start_times_are_kept_beside_the_values(folder: ArchiveFolder) -> None:
    folder.send([("c_total", MONDAY, 1.0), ("up", MONDAY, 1.0)], starts=[MONDAY - 5, 0])
    folder.publish_all()
    rows = {row["name"]: row["starts"] for row in published_rows(folder.path, "samples")}
    assert rows == {"c_total/a": [MONDAY - 5], "up/a": None}


def test_opaque_messages_are_kept_once_each_with_their_series(folder: ArchiveFolder) -> None:
    messages = (
        (OpaqueKind.HISTOGRAM, "h", MONDAY + 5, b"buckets"),
        (OpaqueKind.METADATA, None, 0, b"help"),
    )
    for _ in range(2):
        folder.send([], opaque=messages, received=MONDAY + 7)
        folder.publish_all()
    rows = {
        table: [
            (row["name"], row["hour"], row["time"], row["data"])
            for row in published_rows(folder.path, table)
        ]
        for table in ("metadata", "histograms", "exemplars")
    }
    assert rows == {
        "metadata": [(None, MONDAY, None, b"help")],
        "histograms": [("h/a", MONDAY, MONDAY + 5, b"buckets")],
        "exemplars": [],
    }


def test_a_large_hour_is_published_in_batches(tmp_path: Path) -> None:
    reported = [
        sample
        for number in range(60)
        for sample in regular(f"m{number % 3}/{number}", MONDAY + number, 400, step=8000)
    ]
    settings = PublishSettings(batch_samples=10_000)
    with ArchiveFolder(tmp_path, settings) as folder:
        folder.send(reported)
        folder.publish_all()
        assert folder.samples() == truth_of(reported)
        late = [("m1/x", MONDAY + 7, 2.0), *(("m0/0", MONDAY + k, 9.0) for k in range(1, 11_000))]
        folder.send(late)
        folder.publish_all()
        assert folder.samples() == truth_of([*reported, *late])


def test_a_time_that_no_day_can_hold_is_dropped_loudly(
    folder: ArchiveFolder, caplog: pytest.LogCaptureFixture
) -> None:
    edges: list[Reported] = [("up", 0, 1.0), ("up", LATEST_TIME, 2.0)]
    folder.send([("up", -1, 1.0), ("up", 2**60, 1.0), *edges])
    folder.publish_all()
    assert folder.samples() == truth_of(edges)
    assert folder.publisher.totals.misplaced == 2
    assert "outside 1970 to 9998" in caplog.text
    assert folder.wal.sealed_segments() == []


def test_a_log_that_restarts_its_numbers_is_not_taken_for_a_published_one(tmp_path: Path) -> None:
    with ArchiveFolder(tmp_path) as folder:
        for place in range(3):
            folder.send([("up", MONDAY + place, 1.0)])
            folder.publish_all()
    kept = (tmp_path / "wal" / "log-id").read_text()
    for log in (None, kept):
        shutil.rmtree(tmp_path / "wal")
        if log is not None:
            (tmp_path / "wal").mkdir()
            (tmp_path / "wal" / "log-id").write_text(log)
        with ArchiveFolder(tmp_path) as folder:
            time = MONDAY + (9 if log is None else 10)
            folder.send([("new", time, 2.0), ("up", time, 2.0)])
            folder.publish_all()
            assert len(folder.samples()["new/a"]) == (1 if log is None else 2)
    assert len(published_samples(tmp_path)["up/a"]) == 5


def test_two_logs_on_one_store_take_turns_without_loss(tmp_path: Path) -> None:
    store = tmp_path / "store"
    reported: list[Reported] = []
    with (
        ArchiveFolder(tmp_path / "one", store=store) as one,
        ArchiveFolder(tmp_path / "two", store=store) as two,
    ):
        for step in range(6):
            folder = (one, two)[step % 2]
            sample: Reported = (f"up/{step % 3}", MONDAY + step, float(step))
            reported.append(sample)
            folder.send([sample])
            folder.publish_all()
        assert [*one.publisher.conflicts.values(), *two.publisher.conflicts.values()] == [0] * 4
    assert published_samples(store) == truth_of(reported)
    assert [path.name for path in (tmp_path / "one").iterdir()] == ["wal"]


def test_files_of_series_are_merged_when_there_are_many(folder: ArchiveFolder) -> None:
    reported = [(f"m{number}", MONDAY + number, 1.0) for number in range(SERIES_FILES + 1)]
    for sample in reported:
        folder.send([sample])
        folder.publish_all()
    assert len(folder.snapshot.files[SERIES]) == SERIES_FILES + 1
    folder.publish_due(MONDAY + HOUR)
    assert len(folder.snapshot.files[SERIES]) == 1
    folder.send([("m3", MONDAY + 99, 2.0), ("new", MONDAY + 99, 2.0)])
    folder.publish_all()
    assert folder.samples() == truth_of(
        [*reported, ("m3", MONDAY + 99, 2.0), ("new", MONDAY + 99, 2.0)]
    )


def test_two_calls_at_once_wait_for_each_other(folder: ArchiveFolder) -> None:
    reported = [sample for hour in range(6) for sample in regular("up", MONDAY + hour * HOUR, 50)]
    folder.send(reported)
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda _: folder.publish_all(), range(4)))
    assert sorted(each.samples for each in done) == [0, 0, 0, len(reported)]
    assert folder.samples() == truth_of(reported)


def test_a_damaged_day_does_not_keep_others_from_being_published(folder: ArchiveFolder) -> None:
    """And nothing of it is lost: what came late for it waits in the log."""
    folder.send(regular("up", MONDAY, 5))
    folder.publish_all()
    (path,) = folder.day_files(SAMPLES)
    whole = (folder.path / path).read_bytes()
    (folder.path / path).write_bytes(whole[: len(whole) // 2])
    late, new = [("up", MONDAY + 1, 9.0)], regular("up", MONDAY + DAY, 5)
    for reported in (late, new):
        folder.send(reported)
        folder.wal.seal()
    with pytest.raises(StorageError, match=path):
        folder.publish_all()
    assert len(folder.wal.sealed_segments()) == 1
    folder.close()
    folder.open()
    with pytest.raises(StorageError, match=path):
        folder.publish_all()
    (folder.path / path).write_bytes(whole)
    assert folder.samples() == truth_of([*regular("up", MONDAY, 5), *new])
    folder.publish_all()
    assert folder.samples() == truth_of([*regular("up", MONDAY, 5), *late, *new])
    assert folder.wal.sealed_segments() == []


def test_the_readable_part_of_a_damaged_log_is_published(folder: ArchiveFolder) -> None:
    folder.send(regular("up", MONDAY, 5))
    folder.send(regular("up", MONDAY + HOUR, 5))
    segment = folder.wal.seal()
    assert segment is not None
    data = bytearray(segment.path.read_bytes())
    data[-3] ^= 1
    segment.path.write_bytes(data)
    folder.publish_all()
    assert folder.samples() == truth_of(regular("up", MONDAY, 5))
