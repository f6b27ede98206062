"""The rows of one hour: merges new samples into the published ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from archive.publishing.deduplication import Deduplicated, deduplicate_hour
from archive.tables.arrow import Table, pa, pq
from archive.tables.chunk_decoder import hours_of, one_array, samples_of, value_lists
from archive.tables.chunk_encoder import cut, rows
from archive.tables.data_file import DataFile
from archive.tables.hourly_history import HourlyHistory
from archive.tables.hourly_statistics import hourly_rows, statistics
from archive.tables.sample_columns import Int32s, Mask, Samples, joined
from archive.tables.schema import SAMPLES_SCHEMA
from archive.tables.series import SeriesRegistry
from archive.tables.storage import Storage

_KEY = ("metric", "series", "hour")


@dataclass(frozen=True, slots=True)
class FreshHour:
    """Complete rows of the changed series; they replace the published ones."""

    rows: Table
    deduplicated: Deduplicated
    changed: Int32s  # series whose last value is new or changed


def fresh_hour(
    hour: int,
    samples: Samples,
    replicas: Sequence[str],
    published: Table,
    registry: SeriesRegistry,
    history: HourlyHistory,
) -> FreshHour:
    """`published` are the old rows of the series; adds the new statistics to `history`."""
    old, old_replicas = samples_of(published)
    names = sorted({"", *replicas, *old_replicas})
    deduplicated = deduplicate_hour(
        joined([_renamed(old, old_replicas, names), _renamed(samples, replicas, names)]),
        registry.ranks(),
    )
    chunks = cut(deduplicated.samples)
    table = rows(chunks, registry.metrics(chunks.series), names)
    found = statistics(chunks.values, chunks.counts, history.before(hour, chunks.series))
    before = history.hour(hour).of(chunks.series)
    history.add(hour, hourly_rows(table.select(_KEY), found))
    now = np.where(found.count > 0, found.last, np.nan)
    same = (now == before) | (np.isnan(now) & np.isnan(before))
    return FreshHour(table, deduplicated, chunks.series[~same])


def refresh_statistics(hour: int, published: Table, history: HourlyHistory) -> None:
    """Recomputes the statistics of unchanged chunks after the value before them changed."""
    values, counts = value_lists(published)
    numbers = one_array(published, "series").to_numpy()
    found = statistics(values, counts, history.before(hour, numbers))
    history.add(hour, hourly_rows(published.select(_KEY), found))


def read_chunks(storage: Storage, files: Sequence[DataFile], hour: int, series: Int32s) -> Table:
    """The published rows of these series in this hour; skips row groups without any."""
    parts = [SAMPLES_SCHEMA.empty_table()]
    for file in files:
        if file.may_hold(hour):
            with storage.open(file.path) as source:
                parts += _matching(pq.ParquetFile(source), hour, series)
    return pa.concat_tables(parts)


def _matching(file: pq.ParquetFile, hour: int, series: Int32s) -> list[Table]:
    found = []
    first = 0
    wanted = _wanted(file.read(columns=["series", "hour"]), hour, series)
    for group in range(file.num_row_groups):
        end = first + file.metadata.row_group(group).num_rows
        if wanted[first:end].any():
            found.append(file.read_row_group(group).filter(pa.array(wanted[first:end])))
        first = end
    return found


def _wanted(keys: Table, hour: int, series: Int32s) -> Mask:
    here: Mask = hours_of(one_array(keys, "hour")) == hour
    return here & np.isin(one_array(keys, "series").to_numpy(), series)


def _renamed(samples: Samples, names: Sequence[str], ordered: Sequence[str]) -> Samples:
    place = np.array([ordered.index(name) for name in names], np.int32)
    return Samples(
        samples.series, place[samples.replica], samples.times, samples.bits, samples.starts
    )
