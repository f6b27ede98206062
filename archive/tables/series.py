"""The archive's series ids, stored in `series/`: finds ids and assigns new ones.

They differ from the ids of the log: a log may be lost, and has separate ids for replicas.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable, Sequence

import numpy as np

from archive.tables.arrow import Array, Table, pa
from archive.tables.chunk_decoder import one_array
from archive.tables.manifest import FileEntry
from archive.tables.parquet_files import new_file, read_table
from archive.tables.sample_columns import Int32s, Int64s
from archive.tables.schema import SERIES, SERIES_SCHEMA
from archive.tables.storage import Storage

Labels = tuple[tuple[str, str], ...]

NAME_LABEL = "__name__"


def fingerprint(labels: Labels) -> bytes:
    """A 128-bit hash of a label set, equal in every archive. UTF-8 contains no 0xFF and 0xFE."""
    text = b"".join(name.encode() + b"\xfe" + value.encode() + b"\xff" for name, value in labels)
    return hashlib.blake2b(text, digest_size=16).digest()


def metric_of(labels: Labels) -> str:
    return dict(labels).get(NAME_LABEL, "")


class SeriesRegistry:
    """The series of an archive during publication; discarded when a publication fails.

    It keeps a few bytes per series; fingerprints are read only when needed.
    """

    def __init__(self, storage: Storage, files: Sequence[FileEntry]) -> None:
        table = read_series(storage, files, ("series", "metric"))
        numbers, metrics = one_array(table, "series").to_numpy(), one_array(table, "metric")
        self._storage, self._files = storage, files
        self._names: list[str] = metrics.dictionary.to_pylist()
        self._name_codes = {name: code for code, name in enumerate(self._names)}
        self._next = int(numbers.max()) + 1 if len(numbers) else 0
        codes = np.full(self._next, -1, np.int32)
        codes[numbers] = metrics.indices.to_numpy()
        self._codes = array("i", codes.tolist())
        self._found: dict[bytes, int] | None = None
        self._new: list[tuple[int, Labels, bytes]] = []
        self._ranks: Int64s | None = None

    @property
    def next_number(self) -> int:
        return self._next

    def number(self, labels: Labels) -> int:
        """The id of a series; a new id for a new series."""
        mark = fingerprint(labels)
        if self._found is None:
            self._found = _fingerprints(self._storage, self._files)
        found = self._found.get(mark)
        if found is None:
            self._found[mark] = found = self._add(labels, mark)
        return found

    def ranks(self) -> Int64s:
        """The rank of each id in the sort order of the files: metric, then id."""
        if self._ranks is None or len(self._ranks) < self._next:
            order = np.empty(len(self._names), np.int64)
            order[np.argsort(np.array([name.encode() for name in self._names], object))] = (
                np.arange(len(self._names))
            )
            codes = np.frombuffer(self._codes, np.int32).astype(np.int64)
            metric = np.where(codes < 0, -1, order[codes]) if len(order) else codes
            ranks = np.empty(self._next, np.int64)
            ranks[np.lexsort((np.arange(self._next), metric))] = np.arange(self._next)
            self._ranks = ranks
        return self._ranks

    def metrics(self, numbers: Int32s) -> Array:
        """The metric names of these series, as a dictionary column."""
        codes = np.frombuffer(self._codes, np.int32)[numbers]
        return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(self._names, pa.string()))

    def new_rows(self) -> Table:
        """The new rows of `series/`."""
        numbers = [number for number, _, _ in self._new]
        return pa.table(
            {
                "series": pa.array(numbers, pa.int32()),
                "metric": self.metrics(np.array(numbers, np.int32)),
                "labels": pa.array(
                    [list(labels) for _, labels, _ in self._new], SERIES_SCHEMA.field("labels").type
                ),
                "fingerprint": pa.array([mark for _, _, mark in self._new], pa.binary(16)),
            },
            schema=SERIES_SCHEMA,
        )

    def settle(self, files: Sequence[FileEntry]) -> None:
        """Call it when the new rows are published, in the last of these files."""
        self._files, self._found = files, None
        self._new.clear()

    def _add(self, labels: Labels, mark: bytes) -> int:
        number, name = self._next, metric_of(labels)
        code = self._name_codes.setdefault(name, len(self._names))
        if code == len(self._names):
            self._names.append(name)
        self._codes.append(code)
        self._new.append((number, labels, mark))
        self._next += 1
        return number


def read_series(
    storage: Storage, files: Iterable[FileEntry], columns: Sequence[str] | None = None
) -> Table:
    wanted = [SERIES_SCHEMA.field(name) for name in columns or SERIES_SCHEMA.names]
    tables = [read_table(storage, entry.path, columns) for entry in files]
    if not tables:
        return pa.schema(wanted).empty_table()
    return pa.concat_tables(tables)


def _fingerprints(storage: Storage, files: Sequence[FileEntry]) -> dict[bytes, int]:
    table = read_series(storage, files, ("series", "fingerprint"))
    columns = (table.column(name).to_pylist() for name in ("fingerprint", "series"))
    return dict(zip(*columns, strict=True))


def write_series(storage: Storage, table: Table, stamp: str) -> FileEntry:
    with new_file(storage, f"{SERIES}/{stamp}.parquet", SERIES) as file:
        file.write(table)
        return file.finish()
