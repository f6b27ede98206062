"""Compaction: merges the files of a finished day per table, and the series files."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final

from archive.maintenance.file_writer import PART_ROWS
from archive.maintenance.merge import DAY_GROUP_ROWS, merged_opaque
from archive.maintenance.rewrite import rewriting
from archive.maintenance.rewrite_targets import Target
from archive.tables.archive_tables import Snapshot
from archive.tables.data_file import Change, DataFile
from archive.tables.id_column import IdColumn
from archive.tables.schema import DAY_MS, OPAQUE, OPAQUE_SCHEMA, SERIES, TABLES, day_time
from archive.tables.series import series_parts, write_series
from archive.tables.storage import Storage

# Maximum number of series files; each is read at every start.
SERIES_FILES: Final = 24


def scattered_days(snapshot: Snapshot, now: int, delay: int) -> Iterator[tuple[str, str]]:
    """Tables and finished days with files to merge. `delay` as for publication."""
    for day in snapshot.days:
        if now >= day_time(day) + DAY_MS + delay:
            for table in TABLES:
                if is_scattered(snapshot.of_day(table, day)):
                    yield table, day


def compact_day(
    storage: Storage, table: str, files: Sequence[DataFile], ranks: IdColumn, stamp: str
) -> Change:
    """All files of a day as one, or as parts of one."""
    with rewriting(storage, Target(table, tuple(files), ()), ranks, stamp) as rewrite:
        if table in OPAQUE:
            rewrite.write(merged_opaque(rewrite.old, OPAQUE_SCHEMA.empty_table(), ranks))
        else:
            rewrite.add({}, ranks)
    return rewrite.change


def compact_series(storage: Storage, snapshot: Snapshot, stamp: str) -> Change:
    """No change when there are few files."""
    files = snapshot.files[SERIES]
    if len(files) <= SERIES_FILES:
        return Change()
    return Change(files, [write_series(storage, series_parts(storage, files), stamp)])


def is_scattered(files: Sequence[DataFile]) -> bool:
    """Whether compaction would leave fewer files."""
    least_part = PART_ROWS - DAY_GROUP_ROWS
    return len(files) > max(math.ceil(sum(file.rows for file in files) / least_part), 1)
