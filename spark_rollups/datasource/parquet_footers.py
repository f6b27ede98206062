"""The number of rows or samples per metric, from Parquet footers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from archive.tables.schema import SAMPLES
from spark_rollups.datasource.parquet_reader import metric_range, opened, samples_of
from spark_rollups.filesystem import Root

# Reading footers of an object store is mostly waiting.
_THREADS: Final = 8

Weights = Mapping[str, int]  # rows, or samples, by metric


def weights_of(
    root: Root, paths: Sequence[str], table: str, metrics: Sequence[str]
) -> dict[str, Weights]:
    """By file. A row group of several metrics is divided equally."""
    known = sorted(metrics)

    def one(path: str) -> Weights:
        with opened(root, path) as file:
            return _weights(file.metadata, table, known)

    with ThreadPoolExecutor(_THREADS) as threads:
        return dict(zip(paths, threads.map(one, paths), strict=True))


def _weights(metadata: Any, table: str, known: Sequence[str]) -> Weights:
    found: Counter[str] = Counter()
    for group in range(metadata.num_row_groups):
        span = metric_range(metadata, group)
        inside = [name for name in known if span is None or span[0] <= name <= span[1]]
        size = (
            samples_of(metadata, group) if table == SAMPLES else metadata.row_group(group).num_rows
        )
        for name in inside:
            found[name] += -(-size // len(inside))
    return found


def added_up(weights: Iterable[Weights]) -> Weights:
    total: Counter[str] = Counter()
    for each in weights:
        total.update(each)
    return total
