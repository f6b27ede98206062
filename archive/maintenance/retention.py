"""Retention: days to delete by age and size, but never the newest or an open one."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from archive.settings.publishing import RetentionSettings
from archive.tables.archive_tables import Snapshot
from archive.tables.arrow import Table, pa, pc
from archive.tables.data_file import Change
from archive.tables.schema import DAY_MS, SERIES, TABLES, day_time
from archive.tables.series import series_parts, write_series
from archive.tables.storage import Storage


def expired_days(
    snapshot: Snapshot, settings: RetentionSettings, now: int, delay: int, proven: int
) -> list[str]:
    """Oldest first. A day is open until `delay` after its end. Age counts from `proven`."""
    over = [day for day in snapshot.days[:-1] if now >= day_time(day) + DAY_MS + delay]
    aged = [day for day in over if _is_aged(day, settings, proven)]
    return sorted({*aged, *_oversize(snapshot, over, settings.size)})


def without_days(snapshot: Snapshot, days: Collection[str]) -> dict[str, Change]:
    """The files to remove, by table."""
    found = {
        table: [file for file in snapshot.files[table] if file.day in days] for table in TABLES
    }
    return {table: Change(files) for table, files in found.items() if files}


def forgotten_series(storage: Storage, snapshot: Snapshot, until: str, stamp: str) -> Change:
    """Removes the series that were last seen at `until`, the newest deleted day, or before.

    Not every one from before the oldest day: another publisher commits late series before their
    samples.
    """
    files = snapshot.files[SERIES]
    first = min(day_time(snapshot.days[0]), day_time(until) + DAY_MS)
    oldest = pa.scalar(first // DAY_MS, pa.int32()).cast(pa.date32())

    def kept(rows: Table) -> Table:
        return rows.filter(pc.greater_equal(rows["last_day"], oldest))

    days = series_parts(storage, files, ("last_day",))
    if all(kept(part).num_rows == part.num_rows for part in days):
        return Change()
    rows = map(kept, series_parts(storage, files))
    return Change(files, [write_series(storage, rows, stamp)])


def _is_aged(day: str, settings: RetentionSettings, now: int) -> bool:
    return settings.age is not None and now - (day_time(day) + DAY_MS) > settings.age * 1000


def _oversize(snapshot: Snapshot, over: Sequence[str], limit: int | None) -> list[str]:
    if limit is None:
        return []
    size = sum(file.size for file in snapshot.every_file())
    found = []
    for day in over:
        if size <= limit:
            break
        size -= snapshot.day_size(day)
        found.append(day)
    return found
