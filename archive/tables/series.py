"""The archive's series ids, stored in the table `series`: finds ids and assigns new ones.

They differ from the ids of the log: a log may be lost, and has separate ids for replicas.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

import numpy as np

from archive.tables.arrow import Array, Table, pa
from archive.tables.chunk_decoder import one_array
from archive.tables.data_file import Change, DataFile
from archive.tables.id_column import NONE, IdColumn
from archive.tables.parquet_files import new_file, read_table
from archive.tables.sample_columns import Int32s, Int64s
from archive.tables.schema import DAY_MS, SERIES, SERIES_SCHEMA, day_time
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

    It keeps a few bytes per series, and none for a forgotten one; fingerprints are read only when
    needed.
    """

    def __init__(self, storage: Storage, files: Sequence[DataFile], least: int = 0) -> None:
        """`least` is the first id that was never assigned; a forgotten series leaves a hole."""
        table = read_series(storage, files, ("series", "metric", "first_day", "last_day"))
        numbers, metrics = one_array(table, "series").to_numpy(), one_array(table, "metric")
        self._storage, self._files = storage, files
        self._names: list[str] = metrics.dictionary.to_pylist()
        self._name_codes = {name: code for code, name in enumerate(self._names)}
        self._next = max(int(numbers.max()) + 1 if len(numbers) else 0, least)
        self._codes = IdColumn()  # of the metric
        self._codes[numbers] = metrics.indices.to_numpy()
        self._days = SeenDays()
        for name in ("first_day", "last_day"):
            self._days.add(numbers, one_array(table, name).cast(pa.int32()).to_numpy())
        self._days.is_changed = False
        self._found: dict[bytes, int] | None = None
        self._new: list[tuple[int, Labels, bytes]] = []
        self._new_codes: list[int] = []  # of the newest ids; not yet in the column
        self._ranks: IdColumn | None = None

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

    def ranks(self) -> IdColumn:
        """The rank of each id in the sort order of the files."""
        self._take_new_codes()
        if self._ranks is None:
            ids = self.by_rank()
            self._ranks = IdColumn()
            self._ranks[ids] = np.arange(len(ids))
        return self._ranks

    def by_rank(self) -> Int32s:
        """All ids in the sort order of the files: metric, then id."""
        self._take_new_codes()
        order = np.empty(len(self._names), np.int64)
        order[np.argsort(np.array([name.encode() for name in self._names], object))] = np.arange(
            len(self._names)
        )
        ids = self._codes.ids()
        return ids[np.lexsort((ids, order[self._codes[ids]]))].astype(np.int32)

    def metrics(self, numbers: Int32s) -> Array:
        """The metric names of these series, as a dictionary column."""
        self._take_new_codes()
        codes = self._codes[numbers].astype(np.int32)
        return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(self._names, pa.string()))

    def seen(self, numbers: Int32s, day: str) -> None:
        """Notes that these series have data on a day."""
        self._days.add(numbers, np.full(len(numbers), day_time(day) // DAY_MS, np.int32))

    def write(self, stamp: str) -> Change:
        """Writes the new rows; all rows again if a known series has a new first or last day."""
        new = self._new_rows()
        if not self._days.is_changed:
            return Change((), [write_series(self._storage, new, stamp)] if new.num_rows else ())
        known = read_series(self._storage, self._files).unify_dictionaries()
        numbers = one_array(known, "series").to_numpy()
        for name, days in self._days.columns(numbers).items():
            known = known.set_column(
                known.column_names.index(name), SERIES_SCHEMA.field(name), days
            )
        table = pa.concat_tables([known, new]).unify_dictionaries().combine_chunks()
        return Change(self._files, [write_series(self._storage, table, stamp)])

    def is_of(self, files: Sequence[DataFile], least: int) -> bool:
        """Whether it has the content of these files, and knows of all ids below `least`."""
        mine, theirs = ({file.path for file in each} for each in (self._files, files))
        return mine == theirs and self._next >= least

    def settle(self, files: Sequence[DataFile]) -> None:
        """Call it when the rows of `write` are published, with the files of the table."""
        self._files, self._found = files, None
        self._new.clear()
        self._days.is_changed = False

    def _take_new_codes(self) -> None:
        if self._new_codes:
            first = self._next - len(self._new_codes)
            self._codes[np.arange(first, self._next)] = np.array(self._new_codes)
            self._new_codes.clear()
            self._ranks = None

    def _new_rows(self) -> Table:
        numbers = np.array([number for number, _, _ in self._new], np.int32)
        return pa.table(
            {
                "series": numbers,
                "metric": self.metrics(numbers),
                "labels": pa.array(
                    [list(labels) for _, labels, _ in self._new], SERIES_SCHEMA.field("labels").type
                ),
                "fingerprint": pa.array([mark for _, _, mark in self._new], pa.binary()),
                **self._days.columns(numbers),
            },
            schema=SERIES_SCHEMA,
        )

    def _add(self, labels: Labels, mark: bytes) -> int:
        number, name = self._next, metric_of(labels)
        code = self._name_codes.setdefault(name, len(self._names))
        if code == len(self._names):
            self._names.append(name)
        self._new_codes.append(code)
        self._new.append((number, labels, mark))
        self._next += 1
        return number


class SeenDays:
    """The first and last day of each series, in days since 1970."""

    def __init__(self) -> None:
        self._first, self._last = IdColumn(), IdColumn()
        self.is_changed = False  # of a series that was known before

    def add(self, numbers: Int32s, days: Int32s) -> None:
        """A series that comes twice must have the same day."""
        first, last = self._first[numbers], self._last[numbers]
        known = last != NONE
        self.is_changed |= bool(np.any(known & ((days < first) | (days > last))))
        self._first[numbers] = np.where(known, np.minimum(first, days), days)
        self._last[numbers] = np.maximum(last, days)

    def columns(self, numbers: Int32s) -> dict[str, Array]:
        """A series whose samples were all dropped has no day: 1970."""
        first, last = (np.maximum(days[numbers], 0) for days in (self._first, self._last))
        return {"first_day": _dates(first), "last_day": _dates(last)}


def _dates(days: Int64s) -> Array:
    return pa.array(days.astype(np.int32)).cast(pa.date32())


def read_series(
    storage: Storage, files: Iterable[DataFile], columns: Sequence[str] | None = None
) -> Table:
    wanted = [SERIES_SCHEMA.field(name) for name in columns or SERIES_SCHEMA.names]
    tables = [read_table(storage, file.path, columns) for file in files]
    if not tables:
        return pa.schema(wanted).empty_table()
    return pa.concat_tables(tables)


def _fingerprints(storage: Storage, files: Sequence[DataFile]) -> dict[bytes, int]:
    table = read_series(storage, files, ("series", "fingerprint"))
    columns = (table.column(name).to_pylist() for name in ("fingerprint", "series"))
    return dict(zip(*columns, strict=True))


def write_series(storage: Storage, table: Table, stamp: str) -> DataFile:
    with new_file(storage, f"{SERIES}/{stamp}.parquet", SERIES) as file:
        file.write(table)
        return file.finish()
