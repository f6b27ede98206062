"""Compaction: merges the files of a finished day per table, and the series files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from archive.maintenance.rewrite import rewriting
from archive.maintenance.rewrite_targets import Target
from archive.progress import NoProgress, Progress
from archive.publishing.opaque_rows import merged_opaque
from archive.tables.manifest import DayEntry, FileEntry, Manifest
from archive.tables.manifest_store import new_stamp
from archive.tables.sample_columns import Int64s
from archive.tables.schema import DAY_MS, HOURLY, OPAQUE, OPAQUE_SCHEMA, SAMPLES, day_time
from archive.tables.series import SeriesRegistry, read_series, write_series
from archive.tables.storage import Storage

# Maximum number of series files; each is read at every start.
SERIES_FILES: Final = 24


def scattered_days(manifest: Manifest, now: int, delay: int) -> list[str]:
    """Finished days with files to merge. `delay` as for publication."""
    return [
        name
        for name, day in manifest.days.items()
        if now >= day_time(name) + DAY_MS + delay and _is_scattered(day)
    ]


def compact_day(
    storage: Storage, manifest: Manifest, name: str, now: int, progress: Progress | None = None
) -> Manifest:
    """The next manifest, in which each table of the day is one file, or parts of one."""
    stamp, day = new_stamp(manifest), manifest.days[name]
    ranks = SeriesRegistry(storage, manifest.series).ranks()
    parts: dict[str, tuple[FileEntry, ...]] = {}
    with (progress or NoProgress()).work(f"compacting {name}", day.size) as step:
        for table, files in ((SAMPLES, day.samples), (HOURLY, day.hourly), (OPAQUE, day.opaque)):
            parts[table] = _compacted(storage, table, files, ranks, stamp)
            step(sum(entry.size for entry in files))
    new = replace(day, samples=parts[SAMPLES], hourly=parts[HOURLY], opaque=parts[OPAQUE])
    return manifest.after(now, days={**manifest.days, name: new})


def compact_series(storage: Storage, manifest: Manifest, now: int) -> Manifest | None:
    """None when there are few files."""
    if len(manifest.series) <= SERIES_FILES:
        return None
    table = read_series(storage, manifest.series).combine_chunks()
    entry = write_series(storage, table.unify_dictionaries(), new_stamp(manifest))
    return manifest.after(now, series=(entry,))


def _compacted(
    storage: Storage,
    table: str,
    files: Sequence[FileEntry],
    ranks: Int64s,
    stamp: str,
) -> tuple[FileEntry, ...]:
    if not _differ(files):
        return tuple(files)
    hours = sorted({hour for entry in files for hour in entry.hours})
    target = Target(table, tuple(files), tuple(hours))
    with rewriting(storage, target, ranks, stamp) as rewrite:
        if table == OPAQUE:
            rewrite.write(merged_opaque(rewrite.old, OPAQUE_SCHEMA.empty_table(), ranks))
        else:
            rewrite.add({}, ranks)
    return tuple(rewrite.result[1])


def _is_scattered(day: DayEntry) -> bool:
    return any(_differ(files) for files in (day.samples, day.hourly, day.opaque))


def _differ(files: Sequence[FileEntry]) -> bool:
    """Whether the files cover different hours; parts of one file cover the same."""
    return len({entry.hours for entry in files}) > 1
