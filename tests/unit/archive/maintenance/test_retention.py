"""Retention: old and oversize days go, the newest and open ones never do."""

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from archive.maintenance.retention import expired_days, without_days
from archive.maintenance.vacuum import delete_retired, delete_unnamed, unnamed_files
from archive.settings.publishing import RetentionSettings
from archive.tables.manifest import DayEntry, FileEntry, Manifest, Retired
from archive.tables.schema import DAY_MS, day_name, day_time
from archive.tables.storage import open_storage

# A slow machine is no fault of the code.
unhurried = settings(deadline=None)

DAY = 86_400.0
DELAY = 600_000
START = day_time("2026-09-28")


def archive(sizes: list[int], first: int = START) -> Manifest:
    names = [day_name(first + number * DAY_MS) for number in range(len(sizes))]
    return Manifest(days={name: day(size) for name, size in zip(names, sizes, strict=True)})


def day(size: int) -> DayEntry:
    return DayEntry(samples=(FileEntry(path=f"{size}", size=size, sha256="", rows=1),))


def days_later(count: float) -> int:
    return START + round(count * DAY_MS)


def test_nothing_is_deleted_by_default() -> None:
    assert expired_days(archive([5] * 9), RetentionSettings(), days_later(999), DELAY) == []


def test_a_day_goes_when_its_end_is_old_enough() -> None:
    settings = RetentionSettings(age=2 * DAY)
    manifest = archive([1, 1, 1])
    assert expired_days(manifest, settings, days_later(3), DELAY) == []
    assert expired_days(manifest, settings, days_later(3) + 1, DELAY) == ["2026-09-28"]


def test_the_newest_day_stays_however_old_it_is() -> None:
    settings = RetentionSettings(age=DAY, size=1)
    assert expired_days(archive([9, 9]), settings, days_later(999), DELAY) == ["2026-09-28"]


def test_the_oldest_days_go_until_the_rest_fits() -> None:
    settings = RetentionSettings(size=25)
    doomed = expired_days(archive([10, 10, 10, 10]), settings, days_later(9), DELAY)
    assert doomed == ["2026-09-28", "2026-09-29"]


def test_an_open_day_is_not_touched() -> None:
    """Today is not the newest when a sender's clock is ahead."""
    manifest = archive([10, 10, 10])
    settings = RetentionSettings(size=1)
    assert expired_days(manifest, settings, days_later(1) + DELAY - 1, DELAY) == []
    assert expired_days(manifest, settings, days_later(1) + DELAY, DELAY) == ["2026-09-28"]


@unhurried
@given(
    st.lists(st.integers(1, 100), max_size=8),
    st.none() | st.integers(1, 9),
    st.none() | st.integers(1, 500),
    st.floats(0, 20),
)
def test_retention_is_idempotent_and_keeps_the_newest(
    sizes: list[int], age: int | None, size: int | None, later: float
) -> None:
    settings = RetentionSettings(age=None if age is None else age * DAY, size=size)
    manifest, now = archive(sizes), days_later(later)
    doomed = expired_days(manifest, settings, now, DELAY)
    kept = without_days(manifest, doomed, now)
    assert expired_days(kept, settings, now, DELAY) == []
    assert set(kept.days) | set(doomed) == set(manifest.days)
    if sizes:
        assert max(manifest.days) in kept.days
    for name in doomed:
        assert day_time(name) + DAY_MS + DELAY <= now
    # A day goes by size only when every older one that may go has gone.
    if age is None and doomed:
        assert max(doomed) < min(kept.days)


def test_replaced_files_are_deleted_after_their_grace(tmp_path: Path) -> None:
    storage = open_storage(tmp_path)
    for path in ("samples/old", "samples/new"):
        storage.write(path, b"x")
    retired = tuple(
        Retired(path=f"samples/{name}", since=at) for name, at in (("old", 5), ("new", 9))
    )
    left = delete_retired(storage, Manifest(retired=retired), now=15, grace=10)
    assert left.retired == (retired[1],)
    assert [stored.path for stored in storage.list("samples")] == ["samples/new"]
    assert delete_retired(storage, Manifest(retired=retired), now=15, grace=10) == left


def test_only_files_that_no_manifest_knows_are_rubbish(tmp_path: Path) -> None:
    storage = open_storage(tmp_path)
    named, retired = "samples/day=2026-09-28/a.parquet", "hourly/day=2026-09-28/b.parquet"
    rubbish = [
        "series/.tmp-0000000007-0123456789ab.parquet",
        "opaque/day=2026-09-28/05-0000000007-0123456789ab-0.parquet",
    ]
    strange = ["samples/mine.parquet", "samples/05-0000000007-ffffffff89ab-0.parquet"]
    others = ("manifest/x", "wal/0000000001.wal", "quarantine/y")
    for path in (named, retired, *rubbish, *strange, *others):
        storage.write(path, b"x")
    entry = FileEntry(path=named, size=1, sha256="", rows=1)
    manifest = Manifest(series=(entry,), retired=(Retired(path=retired, since=0),))
    assert sorted(unnamed_files(storage, manifest)) == sorted([*rubbish, *strange])
    assert delete_unnamed(storage, manifest, "01234567" + "f" * 24) == 2
    assert sorted(unnamed_files(storage, manifest)) == sorted(strange)
    assert (tmp_path / "wal/0000000001.wal").exists()
