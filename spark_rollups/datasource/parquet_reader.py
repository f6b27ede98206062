"""Reads Parquet files of the archive in batches, and selects row groups by metric."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final

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
    """The row groups that may have these metrics: rows are sorted by them. None selects all."""
    every = range(metadata.num_row_groups)
    if metrics is None:
        return list(every)
    place = metadata.schema.names.index("metric")
    return [group for group in every if _may_have(metadata.row_group(group).column(place), metrics)]


def _may_have(column: Any, metrics: Collection[str]) -> bool:
    known = column.statistics
    if known is None or not known.has_min_max:
        return True
    return any(known.min <= metric <= known.max for metric in metrics)


def _batches(metadata: Any, groups: Sequence[int]) -> Iterator[list[int]]:
    held: list[int] = []
    rows = samples = 0
    for group in groups:
        held.append(group)
        rows += metadata.row_group(group).num_rows
        samples += _samples_in(metadata.row_group(group))
        if rows >= _BATCH_ROWS or samples >= _BATCH_SAMPLES:
            yield held
            held, rows, samples = [], 0, 0
    if held:
        yield held


def _samples_in(row_group: Any) -> int:
    columns = map(row_group.column, range(row_group.num_columns))
    return sum(each.num_values for each in columns if each.path_in_schema == _SAMPLES_COLUMN)
