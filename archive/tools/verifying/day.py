"""Verifies one day of an archive: row order, lists, names, and recomputed statistics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from archive.maintenance.merge import row_keys
from archive.publishing.hour_counts import HourCounter
from archive.tables.arrow import Table, pa, pq
from archive.tables.chunk_decoder import hours_of, one_array
from archive.tables.hourly_history import HourlyHistory
from archive.tables.manifest import FileEntry, HourEntry, Manifest
from archive.tables.parquet_files import read_table
from archive.tables.sample_columns import Int64s
from archive.tables.schema import FORMAT_VERSION, META_FORMAT, SCHEMAS, day_name, day_time
from archive.tables.storage import Storage
from archive.tools.arguments import moment
from archive.tools.verifying.hourly_rows import ExpectedStatistics
from archive.tools.verifying.sample_rows import list_faults
from archive.tools.verifying.series import KnownNames


def day_faults(storage: Storage, manifest: Manifest, name: str, names: KnownNames) -> Iterator[str]:
    day = manifest.days[name]
    counter = HourCounter(day_time(name))
    statistics = ExpectedStatistics(
        [read_table(storage, entry.path) for entry in day.hourly],
        HourlyHistory(storage, manifest),
        names.ranks(),
    )
    for entry in day.samples:
        yield from _prefixed(
            entry.path, _samples_faults(storage, entry, name, names, counter, statistics)
        )
    yield from _prefixed(f"hourly of {name}", statistics.leftover())
    for table, files in (("hourly", day.hourly), ("opaque", day.opaque)):
        for entry in files:
            yield from _prefixed(entry.path, _plain_faults(storage, entry, table, name, names))
    yield from _prefixed(f"samples of {name}", _twice(storage, day.samples, names))
    yield from _prefixed(f"day {name}", _hour_faults(day.hours, counter.entries(0)))


def _samples_faults(
    storage: Storage,
    entry: FileEntry,
    day: str,
    names: KnownNames,
    counter: HourCounter,
    statistics: ExpectedStatistics,
) -> Iterator[str]:
    with storage.open(entry.path) as source:
        file = pq.ParquetFile(source)
        yield from _file_faults(file, entry, "samples")
        last = -1
        for group in range(file.num_row_groups):
            table = file.read_row_group(group)
            faults = [*_key_faults(table, day, entry, names), *list_faults(table)]
            yield from (f"row group {group}: {fault}" for fault in faults)
            if faults:
                continue  # further checks would repeat the same fault
            keys = row_keys(table, names.ranks())
            if not _ascending(np.concatenate(([last], keys))):
                yield f"row group {group}: rows are not in the order of metric, series and hour"
            last = int(keys[-1])
            counter.add(table)
            yield from statistics.compare(table)


def _plain_faults(
    storage: Storage, entry: FileEntry, table: str, day: str, names: KnownNames
) -> Iterator[str]:
    with storage.open(entry.path) as source:
        file = pq.ParquetFile(source)
        yield from _file_faults(file, entry, table)
        rows = file.read()
    if table == "opaque":
        rows = rows.filter(rows.column("series").is_valid())
    yield from _key_faults(rows, day, entry, names, named=table != "opaque")
    if table == "hourly" and not _ascending(row_keys(rows, names.ranks())):
        yield "rows are not in the order of metric, series and hour"


def _file_faults(file: pq.ParquetFile, entry: FileEntry, table: str) -> Iterator[str]:
    about = file.schema_arrow.metadata or {}
    if about.get(META_FORMAT) != str(FORMAT_VERSION).encode():
        yield f"is not marked as format {FORMAT_VERSION}"
    if not file.schema_arrow.equals(SCHEMAS[table]):
        yield "has other columns than the format"
    if file.metadata.num_rows != entry.rows:
        yield f"has {file.metadata.num_rows} rows, the manifest has {entry.rows}"


def _key_faults(
    table: Table, day: str, entry: FileEntry, names: KnownNames, *, named: bool = True
) -> Iterator[str]:
    unknown = names.unknown(one_array(table, "series").to_numpy())
    if unknown.any():
        yield f"{int(np.count_nonzero(unknown))} rows of unknown series"
        return
    if named and (count := names.misnamed(table)):
        yield f"{count} rows have another metric than their series"
    hours = {int(hour) for hour in np.unique(hours_of(one_array(table, "hour")))}
    if strange := sorted(hours - set(entry.hours)):
        yield f"rows of {len(strange)} hours that its manifest entry does not have"
    if any(day_name(hour) != day for hour in hours):
        yield "rows of another day"


def _twice(storage: Storage, files: Sequence[FileEntry], names: KnownNames) -> Iterator[str]:
    tables = [read_table(storage, entry.path, ("series", "hour")) for entry in files]
    if len(tables) < 2:
        return
    keys = np.sort(row_keys(pa.concat_tables(tables), names.ranks()))
    doubles = int(np.count_nonzero(keys[1:] == keys[:-1]))
    if doubles:
        yield f"{doubles} series have an hour twice"


def _hour_faults(
    recorded: Mapping[int, HourEntry], found: Mapping[int, HourEntry]
) -> Iterator[str]:
    for hour in sorted(set(recorded) | set(found)):
        expected, actual = recorded.get(hour), found.get(hour)
        if _facts(expected) != _facts(actual):
            yield f"{moment(hour)}: the manifest has {_facts(expected)}, the rows have {_facts(actual)}"


def _facts(entry: HourEntry | None) -> tuple[int, int, str] | None:
    return None if entry is None else (entry.samples, entry.series, entry.minutes)


def _ascending(keys: Int64s) -> bool:
    return bool(np.all(keys[1:] > keys[:-1]))


def _prefixed(place: str, faults: Iterator[str]) -> Iterator[str]:
    return (f"{place}: {fault}" for fault in faults)
