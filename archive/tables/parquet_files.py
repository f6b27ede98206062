"""Reads and writes the Parquet files of the archive, with encodings and statistics."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from archive.tables.arrow import Array, Table, pa, pc, pq
from archive.tables.data_file import INDEXED, DataFile
from archive.tables.schema import HOURLY, OPAQUE, SAMPLES, SCHEMAS, SERIES
from archive.tables.storage import Storage

_DELTA: Final = "DELTA_BINARY_PACKED"
_SPLIT: Final = "BYTE_STREAM_SPLIT"
# Two percent smaller than level 3, for a few hundredths of a CPU second per million samples.
_ZSTD_LEVEL: Final = 9

_ENCODINGS: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType(
    {
        SAMPLES: {
            "series": _DELTA,
            "hour": _DELTA,
            "ts.list.element": _DELTA,
            "iv.list.element": _DELTA,
            "fv.list.element": _SPLIT,
            "stale.list.element": _DELTA,
            "starts.list.element": _DELTA,
        },
        HOURLY: {
            "series": _DELTA,
            "hour": _DELTA,
            "count": _DELTA,
            "resets": _DELTA,
            # Smaller than byte streams split, which Spark 4.2 cannot read in vectors.
            **dict.fromkeys(("min", "max", "sum", "first", "last", "p95", "increase"), "PLAIN"),
        },
        SERIES: {"series": _DELTA, "fingerprint": "PLAIN"},
        **{key: {"series": _DELTA, "hour": _DELTA, "time": _DELTA} for key in OPAQUE},
    }
)
_DICTIONARIES: Final = {
    SAMPLES: ["metric", "replica", "scale"],
    HOURLY: ["metric"],
    SERIES: [
        "metric", "labels.key_value.key", "labels.key_value.value", "first_day", "last_day",
    ],
    **{key: ["data"] for key in OPAQUE},
}  # fmt: skip
_HAS_BLOOM: Final = "bloom_filter_options" in inspect.signature(pq.ParquetWriter).parameters
# A row group has few metrics, since rows are sorted by metric.
_BLOOM: Final = {"bloom_filter_options": {"metric": {"ndv": 128, "fpp": 0.01}}}


class TableFile:
    """A file being written; each `write` adds a row group."""

    def __init__(self, path: str, table: str, sink: Any, day: str) -> None:
        self._path, self._day, self._sink = path, day, sink
        self._writer = pq.ParquetWriter(sink, SCHEMAS[table], **_options(table))
        self._low: dict[str, Any] = {}
        self._high: dict[str, Any] = {}
        self._nulls = {name: 0 for name in INDEXED if name in SCHEMAS[table].names}
        self.rows = 0

    def write(self, table: Table) -> None:
        if table.num_rows == 0:
            return
        self._writer.write_table(table, row_group_size=table.num_rows)
        self.rows += table.num_rows
        for name in self._nulls:
            column = table.column(name)
            self._nulls[name] += column.null_count
            low, high = column_bounds(column)
            if low is not None:
                self._low[name] = min(self._low.get(name, low), low)
                self._high[name] = max(self._high.get(name, high), high)

    def abandon(self) -> None:
        """Closes the writer while the sink is open; the file is deleted or never committed."""
        with contextlib.suppress(Exception):
            self._writer.close()

    def finish(self) -> DataFile:
        self._writer.close()
        return DataFile(
            path=self._path, size=self._sink.tell(), rows=self.rows, day=self._day,
            low=self._low, high=self._high, nulls=self._nulls,
        )  # fmt: skip


@contextlib.contextmanager
def new_file(storage: Storage, path: str, table: str, day: str = "") -> Iterator[TableFile]:
    """Call `finish` within the block; a commit then makes the file part of the table."""
    with storage.create(path) as sink:
        file = TableFile(path, table, sink, day)
        try:
            yield file
        except BaseException:
            file.abandon()
            raise


def read_table(storage: Storage, path: str, columns: Sequence[str] | None = None) -> Table:
    with storage.open(path) as source:
        return pq.ParquetFile(source).read(columns=None if columns is None else list(columns))


def column_bounds(column: Array) -> tuple[Any, Any]:
    """Minimum and maximum; strings in the order of their UTF-8 bytes, hours in milliseconds."""
    if pa.types.is_dictionary(column.type):
        used = pc.unique(column.unify_dictionaries().combine_chunks()).cast(pa.string())
        return min(used.to_pylist(), default=None), max(used.to_pylist(), default=None)
    if pa.types.is_timestamp(column.type):
        column = pc.divide(column.cast(pa.int64()), 1000)
    found = pc.min_max(column)
    return found["min"].as_py(), found["max"].as_py()


def _options(table: str) -> dict[str, Any]:
    bloom = _BLOOM if _HAS_BLOOM and table in (SAMPLES, HOURLY) else {}
    return {
        "compression": "zstd",
        "compression_level": _ZSTD_LEVEL,
        "use_dictionary": _DICTIONARIES[table],
        "column_encoding": dict(_ENCODINGS[table]),
        "write_page_index": True,
        "write_page_checksum": True,
        "store_schema": True,
        **bloom,
    }
