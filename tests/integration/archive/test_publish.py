"""From the real log to Parquet, read back by a reader that knows nothing but the format."""

import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
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
from archive.maintenance.vacuum import unnamed_files
from archive.settings.publishing import PublishSettings
from archive.tables.arrow import pafs
from archive.tables.manifest_store import ManifestError
from archive.tables.schema import LATEST_TIME
from archive.tables.storage import Storage, StorageError, open_storage

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


def test_a_segment_stays_until_all_its_hours_are_published(folder: ArchiveFolder) -> None:
    early, late = regular("up", MONDAY, 3), regular("up", MONDAY + HOUR, 3)
    folder.send([*early, *late])
    folder.publish_due(MONDAY + HOUR + 10 * MINUTE)
    assert folder.samples() == truth_of(early)
    assert len(folder.wal.sealed_segments()) == 1
    assert folder.publish_due(MONDAY + HOUR + 30 * MINUTE).hours == 0
    later = ("up", MONDAY + 1, 9.0)
    folder.send([later])
    done = folder.publish_due(MONDAY + 2 * HOUR + 10 * MINUTE)
    assert (done.hours, done.samples) == (2, len(late) + 1)
    assert folder.publisher.totals.repeated == 0
    assert folder.samples() == truth_of([*early, *late, later])
    assert folder.wal.sealed_segments() == []


def test_late_samples_rewrite_their_hour(folder: ArchiveFolder) -> None:
    first = [*regular("up", MONDAY, 5), *regular("other", MONDAY, 5)]
    late = [("up", MONDAY + 15_000, 77.0), ("new", MONDAY + 1, 1.0)]
    folder.send(first)
    folder.publish_due(MONDAY + 2 * HOUR)
    before = folder.manifest
    folder.send(late)
    folder.publish_all()
    assert folder.samples() == truth_of([*first, *late])
    (entry,) = folder.manifest.days["2026-09-28"].samples
    assert entry.path != before.days["2026-09-28"].samples[0].path
    assert [each.path for each in folder.manifest.retired if "samples" in each.path] == [
        before.days["2026-09-28"].samples[0].path
    ]


def test_late_samples_are_collected_before_a_rewrite(folder: ArchiveFolder) -> None:
    folder.send(regular("up", MONDAY, 5))
    now = MONDAY + HOUR + 10 * MINUTE
    folder.publish_due(now)
    folder.send([("up", MONDAY + 1, 9.0)])
    folder.wal.seal()
    assert folder.publish_due(now + 10 * MINUTE - 1).hours == 0
    assert folder.publish_due(now + 10 * MINUTE).hours == 1


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
        folder.send([each for each in reported if each[1] // HOUR == MONDAY // HOUR + hour])
        folder.publish_due(MONDAY + (hour + 1) * HOUR + 10 * MINUTE)
    assert len(folder.manifest.days["2026-09-28"].samples) == 4
    done = folder.publish_due(MONDAY + DAY + 10 * MINUTE)
    day = folder.manifest.days["2026-09-28"]
    assert done.compacted == 1
    assert [len(files) for files in (day.samples, day.hourly)] == [1, 1]
    assert folder.samples() == truth_of(reported)
    late = [("up", MONDAY + 2 * HOUR + 1, 5.0), ("up", MONDAY + 9 * HOUR, 6.0)]
    folder.send(late)
    folder.publish_all(MONDAY + 2 * DAY)
    folder.publish_due(MONDAY + 2 * DAY)
    assert folder.samples() == truth_of([*reported, *late])
    assert len(folder.manifest.days["2026-09-28"].samples) == 1


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
    rows = [
        (row["kind"], row["name"], row["hour"], row["time"], row["data"])
        for row in published_rows(folder.path, "opaque")
    ]
    assert rows == [
        ("metadata", None, MONDAY, None, b"help"),
        ("histogram", "h/a", MONDAY, MONDAY + 5, b"buckets"),
    ]


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
    shutil.rmtree(tmp_path / "wal")
    with ArchiveFolder(tmp_path) as folder:
        assert folder.manifest.least_segment > 1
        folder.send([("new", MONDAY + 9, 2.0), ("up", MONDAY + 10, 2.0)])
        folder.publish_all()
        assert set(folder.samples()) == {"new/a", "up/a"}
        assert len(folder.samples()["up/a"]) == 4


def test_two_logs_on_one_store_lose_nothing(tmp_path: Path) -> None:
    """An easy error with an object store: it must be reported, and lose no sample."""
    store = open_storage(tmp_path / "store")
    reported: list[Reported] = []
    errors = []
    with (
        ArchiveFolder(tmp_path / "one", storage=store) as one,
        ArchiveFolder(tmp_path / "two", storage=store) as two,
    ):
        for step in range(6):
            folder = (one, two)[step % 2]
            sample: Reported = ("up", MONDAY + step, float(step))
            reported.append(sample)
            folder.send([sample])
            try:
                folder.publish_all()
            except ManifestError as error:
                errors.append(str(error))
                folder.publish_all()  # from what the other one has published
    assert published_samples(tmp_path / "store") == truth_of(reported)
    assert len(errors) == 4  # each but the first two finds what the other one did
    assert all("another process publishes here" in error for error in errors)


def test_a_store_that_is_no_folder_gets_the_same_archive(tmp_path: Path) -> None:
    """By pyarrow's interface alone, as with S3, GCS and Azure; the log stays on this machine."""
    inner = pafs.SubTreeFileSystem((tmp_path / "far").as_posix(), pafs.LocalFileSystem())
    (tmp_path / "far").mkdir()
    reported = [*regular("up", MONDAY, 30), *regular("up", MONDAY + HOUR, 30)]
    late = [("up", MONDAY + 1, 5.0)]
    store = Storage(inner, "bucket/prefix")
    with ArchiveFolder(tmp_path / "near", PublishSettings(grace=0.0), store) as folder:
        folder.send(reported)
        folder.publish_all()
        folder.send(late)
        folder.publish_all()
        assert folder.publish_due(MONDAY + 2 * DAY).compacted == 1
        folder.publish_due(MONDAY + 2 * DAY)
        assert unnamed_files(store, folder.manifest) == []
    far = tmp_path / "far" / "bucket" / "prefix"
    assert published_samples(far) == truth_of([*reported, *late])
    files = [path for path in far.rglob("*.parquet") if "series" not in str(path)]
    assert len(files) == 2
    assert [path.name for path in (tmp_path / "near").iterdir()] == ["wal"]


def test_files_of_series_are_merged_when_there_are_many(folder: ArchiveFolder) -> None:
    reported = [(f"m{number}", MONDAY + number, 1.0) for number in range(SERIES_FILES + 1)]
    for sample in reported:
        folder.send([sample])
        folder.publish_all()
    assert len(folder.manifest.series) == SERIES_FILES + 1
    folder.publish_due(MONDAY + HOUR)
    assert len(folder.manifest.series) == 1
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
    (entry,) = folder.manifest.days["2026-09-28"].samples
    whole = (folder.path / entry.path).read_bytes()
    (folder.path / entry.path).write_bytes(whole[: len(whole) // 2])
    late, new = [("up", MONDAY + 1, 9.0)], regular("up", MONDAY + DAY, 5)
    for reported in (late, new):
        folder.send(reported)
        folder.wal.seal()
    with pytest.raises(StorageError, match=entry.path):
        folder.publish_all()
    assert len(folder.wal.sealed_segments()) == 1
    (folder.path / entry.path).write_bytes(whole)
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
