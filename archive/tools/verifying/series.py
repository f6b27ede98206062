"""Verifies the series table: unique ids, sorted labels, fingerprints."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from archive.tables.arrow import Array, Table, pc
from archive.tables.chunk_decoder import one_array
from archive.tables.manifest import Manifest
from archive.tables.sample_columns import Int32s, Int64s, Mask
from archive.tables.series import SeriesRegistry, fingerprint, metric_of, read_series
from archive.tables.storage import Storage


class KnownNames:
    """The series of the archive and their metrics, for checks of other tables."""

    def __init__(self, storage: Storage, manifest: Manifest) -> None:
        self.registry = SeriesRegistry(storage, manifest.series)
        table = read_series(storage, manifest.series, ("series",))
        self._known = np.zeros(manifest.next_series, np.bool_)
        numbers = one_array(table, "series").to_numpy()
        self._known[numbers[numbers < manifest.next_series]] = True

    def ranks(self) -> Int64s:
        return self.registry.ranks()

    def unknown(self, series: Int32s) -> Mask:
        outside = (series < 0) | (series >= len(self._known))
        inside = np.where(outside, 0, series)
        missing: Mask = outside | ~self._known[inside] if len(self._known) else outside
        return missing

    def misnamed(self, table: Table) -> int:
        """Rows whose metric is not that of their series."""
        wanted = self.registry.metrics(one_array(table, "series").to_numpy())
        return int(
            pc.sum(pc.not_equal(_text(one_array(table, "metric")), _text(wanted))).as_py() or 0
        )


def _text(names: Array) -> Array:
    return names.cast("string")


def series_faults(storage: Storage, manifest: Manifest) -> Iterator[str]:
    seen: set[int] = set()
    for entry in manifest.series:
        table = read_series(storage, [entry])
        if table.num_rows != entry.rows:
            yield f"{entry.path}: has {table.num_rows} rows, the manifest has {entry.rows}"
        for row in table.to_pylist():
            number, labels = row["series"], tuple(row["labels"])
            for text in _row_faults(number, labels, row, manifest.next_series):
                yield f"{entry.path}: series {number} {text}"
            if number in seen:
                yield f"{entry.path}: series {number} comes twice"
            seen.add(number)


def _row_faults(
    number: int, labels: tuple[tuple[str, str], ...], row: dict[str, object], end: int
) -> Iterator[str]:
    names = [name for name, _ in labels]
    if names != sorted(set(names)):
        yield "has labels out of order or twice"
    if row["metric"] != metric_of(labels):
        yield f"is filed under metric {row['metric']}"
    if row["fingerprint"] != fingerprint(labels):
        yield "has a fingerprint that its labels do not make"
    if not 0 <= number < end:
        yield f"is beyond the manifest's {end}"
