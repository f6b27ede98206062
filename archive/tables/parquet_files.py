"""Reads and writes the Parquet files of the archive, with encodings and checksum."""

from __future__ import annotations

import contextlib
import hashlib
import inspect
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from archive.tables.arrow import Table, pq
from archive.tables.manifest import FileEntry
from archive.tables.schema import (
    HOURLY,
    META_MAX_TIME,
    META_MIN_TIME,
    OPAQUE,
    SAMPLES,
    SCHEMAS,
    SERIES,
)
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
            **dict.fromkeys(("min", "max", "sum", "first", "last", "p95", "increase"), _SPLIT),
        },
        OPAQUE: {"series": _DELTA, "hour": _DELTA, "time": _DELTA},
        SERIES: {"series": _DELTA, "fingerprint": "PLAIN"},
    }
)
_DICTIONARIES: Final = {
    SAMPLES: ["metric", "replica", "scale"],
    HOURLY: ["metric"],
    OPAQUE: ["kind", "data"],
    SERIES: ["metric", "labels.key_value.key", "labels.key_value.value"],
}
_HAS_BLOOM: Final = "bloom_filter_options" in inspect.signature(pq.ParquetWriter).parameters
# A row group has few metrics, since rows are sorted by metric.
_BLOOM: Final = {"bloom_filter_options": {"metric": {"ndv": 128, "fpp": 0.01}}}


class _Hashing:
    """A sink that computes size and checksum."""

    closed = False

    def __init__(self, sink: Any) -> None:
        self._sink = sink
        self._hash = hashlib.sha256()
        self.size = 0
        self.discarding = False

    def write(self, data: Any) -> int:
        if not self.discarding:
            self._hash.update(data)
            self.size += len(data)
            self._sink.write(data)
        return len(data)

    def flush(self) -> None:
        """Does nothing: the complete file is synced."""

    def hexdigest(self) -> str:
        return self._hash.hexdigest()


class TableFile:
    """A file being written; each `write` adds a row group."""

    def __init__(self, path: str, table: str, sink: Any, hours: Sequence[int]) -> None:
        self._path, self._table, self._hours = path, table, tuple(hours)
        self._sink = _Hashing(sink)
        self._writer = pq.ParquetWriter(self._sink, SCHEMAS[table], **_options(table))
        self._span: tuple[int, int] | None = None
        self.rows = 0

    def write(self, table: Table, span: tuple[int, int] | None = None) -> None:
        """`span` is the first and the last time of the rows."""
        if table.num_rows == 0:
            return
        self._writer.write_table(table, row_group_size=table.num_rows)
        self.rows += table.num_rows
        if span is not None:
            known = self._span or span
            self._span = min(known[0], span[0]), max(known[1], span[1])

    def finish(self) -> FileEntry:
        if self._span is not None:
            first, last = (str(time).encode() for time in self._span)
            self._writer.add_key_value_metadata({META_MIN_TIME: first, META_MAX_TIME: last})
        self._writer.close()
        return FileEntry(
            path=self._path,
            size=self._sink.size,
            sha256=self._sink.hexdigest(),
            rows=self.rows,
            hours=self._hours,
        )

    def abandon(self) -> None:
        """Closes the writer, and discards the footer that it writes."""
        self._sink.discarding = True
        self._writer.close()


@contextlib.contextmanager
def new_file(
    storage: Storage, path: str, table: str, hours: Sequence[int] = ()
) -> Iterator[TableFile]:
    """The file gets its name when the block ends; call `finish` within it."""
    with storage.create(path) as sink:
        file = TableFile(path, table, sink, hours)
        try:
            yield file
        except BaseException:
            file.abandon()
            raise


def read_table(storage: Storage, path: str, columns: Sequence[str] | None = None) -> Table:
    with storage.open(path) as source:
        return pq.ParquetFile(source).read(columns=None if columns is None else list(columns))


def _options(table: str) -> dict[str, Any]:
    bloom = _BLOOM if _HAS_BLOOM and table in (SAMPLES, HOURLY) else {}
    return {
        "compression": "zstd",
        "compression_level": _ZSTD_LEVEL,
        "use_dictionary": _DICTIONARIES[table],
        "column_encoding": dict(_ENCODINGS[table]),
        "write_page_index": True,
        "store_schema": True,
        **bloom,
    }
