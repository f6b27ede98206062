"""Verifies one day of an archive: row order, lists, names, and recomputed statistics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from archive.maintenance.merge import row_keys
from archive.tables.archive_tables import Snapshot
from archive.tables.arrow import Table, pa, pq
from archive.tables.chunk_decoder import hours_of, one_array
from archive.tables.data_file import DataFile
from archive.tables.hourly_history import HourlyHistory
from archive.tables.parquet_files import read_table
from archive.tables.sample_columns import Int64s
from archive.tables.schema import HOURLY, OPAQUE, SAMPLES, day_name
from archive.tables.storage import Storage
from archive.tools.verifying.hourly_rows import ExpectedStatistics
from archive.tools.verifying.sample_rows import list_faults
from archive.tools.verifying.series import KnownNames


def day_faults(storage: Storage, snapshot: Snapshot, day: str, names: KnownNames) -> Iterator[str]:
    statistics = ExpectedStatistics(
        [read_table(storage, file.path) for file in snapshot.of_day(HOURLY, day)],
        HourlyHistory(storage, snapshot),
        names.ranks(),
    )
    for file in snapshot.of_day(SAMPLES, day):
        yield from _prefixed(file.path, _samples_faults(storage, file, names, statistics))
    yield from _prefixed(f"hourly of {day}", statistics.leftover())
    for table in (HOURLY, *OPAQUE):
        for file in snapshot.of_day(table, day):
            yield from _prefixed(file.path, _plain_faults(storage, file, table, names))
    for table in (SAMPLES, HOURLY):
        twice = _twice(storage, snapshot.of_day(table, day), names)
        yield from _prefixed(f"{table} of {day}", twice)


def _samples_faults(
    storage: Storage, data: DataFile, names: KnownNames, statistics: ExpectedStatistics
) -> Iterator[str]:
    with storage.open(data.path) as source:
        file = pq.ParquetFile(source)
        last = -1
        for group in range(file.num_row_groups):
            table = file.read_row_group(group)
            faults = [*_key_faults(table, data.day, names), *list_faults(table)]
            yield from (f"row group {group}: {fault}" for fault in faults)
            if faults:
                continue  # further checks would repeat the same fault
            keys = row_keys(table, names.ranks())
            if not _ascending(np.concatenate(([last], keys))):
                yield f"row group {group}: rows are not in the order of metric, series and hour"
            last = int(keys[-1])
            yield from statistics.compare(table)


def _plain_faults(storage: Storage, data: DataFile, table: str, names: KnownNames) -> Iterator[str]:
    rows = read_table(storage, data.path)
    if table in OPAQUE:
        rows = rows.filter(rows.column("series").is_valid())
    yield from _key_faults(rows, data.day, names, named=table == HOURLY)
    if table == HOURLY and not _ascending(row_keys(rows, names.ranks())):
        yield "rows are not in the order of metric, series and hour"


def _key_faults(table: Table, day: str, names: KnownNames, *, named: bool = True) -> Iterator[str]:
    unknown = names.unknown(one_array(table, "series").to_numpy())
    if unknown.any():
        yield f"{int(np.count_nonzero(unknown))} rows of unknown series"
        return
    if named and (count := names.misnamed(table)):
        yield f"{count} rows have another metric than their series"
    hours = np.unique(hours_of(one_array(table, "hour"))).tolist()
    if any(day_name(hour) != day for hour in hours):
        yield "rows of another day"


def _twice(storage: Storage, files: Sequence[DataFile], names: KnownNames) -> Iterator[str]:
    tables = [read_table(storage, file.path, ("series", "hour")) for file in files]
    if len(tables) < 2:
        return
    keys = np.sort(row_keys(pa.concat_tables(tables), names.ranks()))
    doubles = int(np.count_nonzero(keys[1:] == keys[:-1]))
    if doubles:
        yield f"{doubles} series have an hour twice"


def _ascending(keys: Int64s) -> bool:
    return bool(np.all(keys[1:] > keys[:-1]))


def _prefixed(place: str, faults: Iterator[str]) -> Iterator[str]:
    return (f"{place}: {fault}" for fault in faults)
