"""Retention: old and oversize days go, the newest and open ones never do."""

from collections.abc import Iterable, Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from archive.maintenance.retention import expired_days, without_days
from archive.settings.publishing import RetentionSettings
from archive.tables.archive_tables import Snapshot
from archive.tables.data_file import Change, DataFile
from archive.tables.schema import DAY_MS, SAMPLES, TABLES, day_name, day_time

# A slow machine is no fault of the code.
unhurried = settings(deadline=None)

DAY = 86_400.0
DELAY = 600_000
START = day_time("2026-09-28")


def archive(sizes: list[int], first: int = START) -> Snapshot:
    days = [day_name(first + number * DAY_MS) for number in range(len(sizes))]
    return snapshot_of(
        DataFile(path=day, size=size, rows=1, day=day)
        for day, size in zip(days, sizes, strict=True)
    )


def snapshot_of(files: Iterable[DataFile]) -> Snapshot:
    none: dict[str, Sequence[DataFile]] = dict.fromkeys(TABLES, ())
    return Snapshot({**none, SAMPLES: list(files)}, dict.fromkeys(TABLES, 1))


def expired(snapshot: Snapshot, settings: RetentionSettings, now: int) -> list[str]:
    """With a clock that the data confirms."""
    return expired_days(snapshot, settings, now, DELAY, now)


def days_later(count: float) -> int:
    return START + round(count * DAY_MS)


def test_nothing_is_deleted_by_default() -> None:
    assert expired(archive([5] * 9), RetentionSettings(), days_later(999)) == []


def test_a_day_goes_when_its_end_is_old_enough() -> None:
    settings = RetentionSettings(age=2 * DAY)
    snapshot = archive([1, 1, 1])
    assert expired(snapshot, settings, days_later(3)) == []
    assert expired(snapshot, settings, days_later(3) + 1) == ["2026-09-28"]


def test_the_newest_day_stays_however_old_it_is() -> None:
    settings = RetentionSettings(age=DAY, size=1)
    assert expired(archive([9, 9]), settings, days_later(999)) == ["2026-09-28"]


def test_the_oldest_days_go_until_the_rest_fits() -> None:
    settings = RetentionSettings(size=25)
    doomed = expired(archive([10, 10, 10, 10]), settings, days_later(9))
    assert doomed == ["2026-09-28", "2026-09-29"]


def test_an_open_day_is_not_touched() -> None:
    """Today is not the newest when a sender's clock is ahead."""
    snapshot = archive([10, 10, 10])
    settings = RetentionSettings(size=1)
    assert expired(snapshot, settings, days_later(1) + DELAY - 1) == []
    assert expired(snapshot, settings, days_later(1) + DELAY) == ["2026-09-28"]


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
    snapshot, now = archive(sizes), days_later(later)
    doomed = expired(snapshot, settings, now)
    removed = without_days(snapshot, doomed).get(SAMPLES, Change()).removed
    kept = snapshot_of(file for file in snapshot.files[SAMPLES] if file not in removed)
    assert expired(kept, settings, now) == []
    assert set(kept.days) | set(doomed) == set(snapshot.days)
    if sizes:
        assert max(snapshot.days) in kept.days
    for name in doomed:
        assert day_time(name) + DAY_MS + DELAY <= now
    # A day goes by size only when every older one that may go has gone.
    if age is None and doomed:
        assert max(doomed) < min(kept.days)
