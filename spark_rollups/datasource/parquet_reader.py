"""Reads Parquet files of the archive in batches of row groups."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from archive.tables.schema import FORMAT_VERSION, META_FORMAT
from spark_rollups.filesystem import RollupError, Root

# Size of a batch.
_BATCH_ROWS: Final = 262_144
_BATCH_SAMPLES: Final = 1_000_000
_SAMPLES_COLUMN: Final = "ts.list.element"


@contextlib.contextmanager
def opened(root: Root, path: str) -> Iterator[Any]:
    """Opens a file of the archive; raises for a newer format."""
    with root.open(path) as source:
        file = pq.ParquetFile(source)
        version = int((file.schema_arrow.metadata or {}).get(META_FORMAT, b"0"))
        if version > FORMAT_VERSION:
            raise RollupError(
                f"{root}/{path}: format {version} is newer than this program, "
                f"which reads {FORMAT_VERSION}"
            )
        yield file


def read_columns(root: Root, path: str, columns: Sequence[str]) -> Any:
    with opened(root, path) as file:
        return file.read(columns=list(columns), use_threads=False)


def row_batches(file: Any, columns: Sequence[str], groups: Sequence[int]) -> Iterator[Any]:
    """Tables of these row groups, some at a time."""
    for batch in _batches(file.metadata, groups):
        yield file.read_row_groups(batch, columns=list(columns), use_threads=False)


def groups_with(metadata: Any, metrics: Collection[str] | None) -> list[int]:
    """The row groups that may have these metrics; None selects all."""
    return [
        group
        for group in range(metadata.num_row_groups)
        if metrics is None or _may_hold(metric_range(metadata, group), metrics)
    ]


def _may_hold(span: tuple[str, str] | None, metrics: Collection[str]) -> bool:
    return span is None or any(span[0] <= metric <= span[1] for metric in metrics)


def metric_range(metadata: Any, group: int) -> tuple[str, str] | None:
    """The first and the last metric of a row group; None without statistics."""
    column = metadata.row_group(group).column(metadata.schema.names.index("metric"))
    found = column.statistics if column.is_stats_set else None
    return None if found is None or not found.has_min_max else (str(found.min), str(found.max))


def _batches(metadata: Any, groups: Sequence[int]) -> Iterator[list[int]]:
    held: list[int] = []
    rows = samples = 0
    for group in groups:
        held.append(group)
        rows += metadata.row_group(group).num_rows
        samples += samples_of(metadata, group)
        if rows >= _BATCH_ROWS or samples >= _BATCH_SAMPLES:
            yield held
            held, rows, samples = [], 0, 0
    if held:
        yield held


def samples_of(metadata: Any, group: int) -> int:
    """The number of samples in a row group; 0 for the hourly table."""
    row_group = metadata.row_group(group)
    for index in range(row_group.num_columns):
        column = row_group.column(index)
        if column.path_in_schema == _SAMPLES_COLUMN:
            return int(column.num_values)
    return 0


def one_array(table: Any, name: str) -> Any:
    """A column as one array."""
    column = table.column(name)
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
