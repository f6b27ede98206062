"""Verifies files against the log of their table: size, rows, statistics, page checksums."""

from __future__ import annotations

from collections.abc import Iterator

from archive.progress import Step
from archive.tables.arrow import pa, pq
from archive.tables.data_file import DataFile
from archive.tables.parquet_files import column_bounds
from archive.tables.schema import FORMAT_VERSION, META_FORMAT, SCHEMAS
from archive.tables.storage import Storage, StorageError


def file_faults(storage: Storage, data: DataFile, step: Step) -> Iterator[str]:
    """Reads every page; a damaged one fails its checksum."""
    try:
        with storage.open(data.path) as source:
            if source.size() != data.size:
                yield f"has {source.size()} bytes, the log of the table has {data.size}"
                return
            file = pq.ParquetFile(source, page_checksum_verification=True)
            faults = list(_schema_faults(file, data))
            if faults:
                yield from faults
                return
            for group in range(file.num_row_groups):
                # Validated too: the checksum of a page does not cover its header.
                file.read_row_group(group).validate(full=True)
            yield from _statistics_faults(file, data)
    except StorageError as error:
        yield str(error)
    except (pa.ArrowException, ValueError, OSError) as error:
        yield f"cannot be read: {error}"
    step(data.size)


def _schema_faults(file: pq.ParquetFile, data: DataFile) -> Iterator[str]:
    about = file.schema_arrow.metadata or {}
    if about.get(META_FORMAT) != str(FORMAT_VERSION).encode():
        yield f"is not marked as format {FORMAT_VERSION}"
    if not file.schema_arrow.equals(SCHEMAS[data.path.partition("/")[0]]):
        yield "has other columns than the format"
    if file.metadata.num_rows != data.rows:
        yield f"has {file.metadata.num_rows} rows, the log of the table has {data.rows}"


def _statistics_faults(file: pq.ParquetFile, data: DataFile) -> Iterator[str]:
    """Wrong bounds make an engine skip rows that it should read."""
    if not data.low:
        return
    table = file.read(columns=sorted(data.low))
    for name in sorted(data.low):
        found = column_bounds(table.column(name))
        recorded = data.low[name], data.high[name]
        if found != recorded:
            yield f"{name} is {found[0]} to {found[1]}, the log of the table has {recorded[0]} to {recorded[1]}"
