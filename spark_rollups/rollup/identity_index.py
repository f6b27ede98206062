"""An index of identities: the rank of each series, and the columns of each rank.

Ranks have the order of identities, so that sorting by rank sorts a table.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from archive.tables.chunk_statistics import Int64s, Mask
from spark_rollups.filesystem import Root, root_at
from spark_rollups.rollup.rows import Ranks
from spark_rollups.rollup.series_identity import rises
from spark_rollups.rollup.tables.schemas import IDENTITY, SUBJECT_LABELS

_NAMES = ("metric", "kind", *SUBJECT_LABELS)


@dataclass(frozen=True, slots=True)
class Identities:
    table: Any  # the columns IDENTITY, one row per rank
    rank_of: Ranks  # by series id; -1 for series of other metrics
    order_of: Ranks  # by series id: the order of its fingerprint
    shared: Mask  # by rank: whether several series have this identity
    rising: Mask  # by rank: counters and parts of histograms
    smallest_series: Ranks  # by rank: the smallest id of its series

    def ranks(self, series: Any) -> Ranks:
        """The ranks of series ids; -1 for series of other metrics."""
        if len(self.rank_of) == 0:
            return np.full(len(series), -1, np.int32)
        known = np.minimum(series, len(self.rank_of) - 1)
        return np.where(series < len(self.rank_of), self.rank_of[known], np.int32(-1))

    def buckets(self, count: int) -> Any:
        """By rank: its bucket. A bucket is a range of series ids, the order of rows in files."""
        parts = np.empty(len(self.smallest_series), np.int64)
        parts[np.argsort(self.smallest_series, kind="stable")] = np.arange(
            len(self.smallest_series)
        )
        return parts * count // max(len(self.smallest_series), 1)

    def about(self, metrics: Collection[str]) -> Mask:
        """By rank: whether its metric is one of these."""
        selected = pc.is_in(self.table.column("metric"), pa.array(sorted(metrics), pa.string()))
        found: Mask = selected.to_numpy()
        return found

    def columns(self, ranks: Any) -> dict[str, Any]:
        """The identity columns of these ranks."""
        rows = self.table.take(pa.array(ranks))
        return {name: rows.column(name) for name in IDENTITY}


@lru_cache(maxsize=4)
def load_identities(
    root: str, paths: tuple[str, ...], metrics: tuple[str, ...] | None
) -> Identities:
    """Cached between the tasks of a worker. None selects all metrics."""
    where = root_at(root)
    parts = [_part(where, path, metrics) for path in paths]
    return identities_of(pa.concat_tables(parts).combine_chunks())


def metrics_of(root: Root, paths: Sequence[str]) -> tuple[str, ...]:
    """All metrics with a series, sorted."""
    found: set[str] = set()
    for path in paths:
        with root.named_errors("read", path), root.open(path) as source:
            file = pq.ParquetFile(source, read_dictionary=["metric"])
            column = file.read(columns=["metric"]).column("metric")
            found.update(column.unique().to_pylist())
    return tuple(sorted(found))


def _part(root: Root, path: str, metrics: Sequence[str] | None) -> Any:
    selected = None if metrics is None else pc.field("metric").isin(list(metrics))
    with root.named_errors("read", path):
        return pq.read_table(
            root.at(path),
            filesystem=root.files,
            filters=selected,
            partitioning=None,
            use_threads=False,
        )


def identities_of(rows: Any) -> Identities:
    """From a table of `identity_rows`."""
    keys = _keys(rows).dictionary_encode()
    order = pc.sort_indices(keys.dictionary).to_numpy()
    rank_of_code = np.empty(len(order), np.int32)
    rank_of_code[order] = np.arange(len(order), dtype=np.int32)
    ranks: Ranks = rank_of_code[keys.indices.to_numpy()]
    _, firsts = np.unique(ranks, return_index=True)
    table = rows.take(pa.array(firsts)).select(list(IDENTITY))
    kinds = table.column("kind").to_pylist()
    series = rows.column("series").to_numpy()
    by_mark: Int64s = pc.sort_indices(rows.column("fingerprint").cast(pa.binary())).to_numpy()
    return Identities(
        table=_with_dictionaries(table),
        rank_of=_by_number(series, ranks),
        order_of=_by_number(series[by_mark], np.arange(len(series), dtype=np.int32)),
        shared=np.bincount(ranks, minlength=len(order)) > 1,
        rising=np.array([rises(kind) for kind in kinds], bool),
        smallest_series=_smallest(ranks, series, len(order)),
    )


def _smallest(ranks: Ranks, series: Any, count: int) -> Ranks:
    found = np.full(count, np.iinfo(np.int32).max, np.int32)
    np.minimum.at(found, ranks, series)
    return found


def _by_number(series: Any, values: Ranks) -> Ranks:
    wide = np.full(int(series.max()) + 1 if len(series) else 0, -1, np.int32)
    wide[series] = values
    return wide


def _keys(rows: Any) -> Any:
    """A unique key per identity; 0xFE and 0xFF do not occur in UTF-8."""
    columns = [rows.column(name).cast(pa.binary()).combine_chunks() for name in _NAMES]
    labels = rows.column("labels").combine_chunks()
    pairs = pc.binary_join_element_wise(
        labels.keys.cast(pa.binary()), labels.items.cast(pa.binary()), pa.scalar(b"\xfe")
    )
    texts = pc.binary_join(
        pa.ListArray.from_arrays(labels.offsets, pairs), pa.scalar(b"\xff", pa.binary())
    )
    return pc.binary_join_element_wise(*columns, texts, pa.scalar(b"\xff"))


def _with_dictionaries(table: Any) -> Any:
    """Dictionary-encodes the columns: names repeat."""
    for index, name in enumerate(table.column_names):
        if name != "labels":
            table = table.set_column(index, name, table.column(name).dictionary_encode())
    return table.unify_dictionaries().combine_chunks()
