"""Verifies the series table: unique ids, sorted labels, fingerprints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from archive.tables.arrow import Array, Table, pc
from archive.tables.chunk_decoder import one_array
from archive.tables.data_file import DataFile
from archive.tables.id_column import NONE, IdColumn
from archive.tables.sample_columns import Int32s, Mask
from archive.tables.series import SeriesRegistry, fingerprint, metric_of, read_series
from archive.tables.storage import Storage


class KnownNames:
    """The series of the archive and their metrics, for checks of other tables."""

    def __init__(self, storage: Storage, files: Sequence[DataFile]) -> None:
        self.registry = SeriesRegistry(storage, files)

    def ranks(self) -> IdColumn:
        return self.registry.ranks()

    def unknown(self, series: Int32s) -> Mask:
        missing: Mask = (series < 0) | (self.ranks()[np.maximum(series, 0)] == NONE)
        return missing

    def misnamed(self, table: Table) -> int:
        """Rows whose metric is not that of their series."""
        wanted = self.registry.metrics(one_array(table, "series").to_numpy())
        return int(
            pc.sum(pc.not_equal(_text(one_array(table, "metric")), _text(wanted))).as_py() or 0
        )


def _text(names: Array) -> Array:
    return names.cast("string")


def series_faults(storage: Storage, files: Sequence[DataFile], end: int) -> Iterator[str]:
    """`end` is the first id that was never assigned, by the log of the table."""
    seen: set[int] = set()
    for file in files:
        table = read_series(storage, [file])
        for row in table.to_pylist():
            number, labels = row["series"], tuple(row["labels"])
            for text in _row_faults(number, labels, row, end):
                yield f"{file.path}: series {number} {text}"
            if number in seen:
                yield f"{file.path}: series {number} comes twice"
            seen.add(number)


def _row_faults(
    number: int, labels: tuple[tuple[str, str], ...], row: dict[str, Any], end: int
) -> Iterator[str]:
    names = [name for name, _ in labels]
    if names != sorted(set(names)):
        yield "has labels out of order or twice"
    if row["metric"] != metric_of(labels):
        yield f"is filed under metric {row['metric']}"
    if row["fingerprint"] != fingerprint(labels):
        yield "has a fingerprint that its labels do not make"
    if not 0 <= number < end:
        yield f"has an id that was never assigned (the next one is {end})"
    if row["first_day"] > row["last_day"]:
        yield "has a first day after its last"
