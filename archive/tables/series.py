"""The archive's series ids, stored in the table `series`: finds ids and assigns new ones.

They differ from the ids of the log: a log may be lost, and has separate ids for replicas.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import numpy as np

from archive.tables.arrow import Array, Table, pa, pc, pq
from archive.tables.chunk_decoder import one_array
from archive.tables.data_file import Change, DataFile
from archive.tables.id_column import NONE, IdColumn
from archive.tables.parquet_files import new_file, read_table
from archive.tables.sample_columns import Int32s, Int64s
from archive.tables.schema import DAY_MS, SERIES, SERIES_SCHEMA, day_time
from archive.tables.storage import Storage

Labels = tuple[tuple[str, str], ...]

NAME_LABEL = "__name__"
# A table of millions of series is read and written in parts.
_GROUP_ROWS = 32_768
_DAYS = ("first_day", "last_day")


def fingerprint(labels: Labels) -> bytes:
    """A 128-bit hash of a label set, equal in every archive. UTF-8 contains no 0xFF and 0xFE."""
    text = b"".join(name.encode() + b"\xfe" + value.encode() + b"\xff" for name, value in labels)
    return hashlib.blake2b(text, digest_size=16).digest()


def metric_of(labels: Labels) -> str:
    return dict(labels).get(NAME_LABEL, "")


class SeriesRegistry:
    """The series of an archive during publication; discarded when a publication fails.

    It keeps the metric and the rank of each series, and nothing of a forgotten one. The rest is
    read when it is needed.
    """

    def __init__(self, storage: Storage, files: Sequence[DataFile], least: int = 0) -> None:
        """`least` is the first id that was never assigned; a forgotten series leaves a hole."""
        table = read_series(storage, files, ("series", "metric"))
        numbers, metrics = one_array(table, "series").to_numpy(), one_array(table, "metric")
        self._storage, self._files = storage, files
        self._names: list[str] = metrics.dictionary.to_pylist()
        self._name_codes = {name: code for code, name in enumerate(self._names)}
        self._next = max(int(numbers.max()) + 1 if len(numbers) else 0, least)
        self._codes = IdColumn()  # of the metric
        self._codes[numbers] = metrics.indices.to_numpy()
        self._days = SeenDays()
        self._found: dict[bytes, int] = {}  # ids by fingerprint, of this publication
        self._new: list[tuple[int, Labels, bytes]] = []
        self._new_codes: list[int] = []  # of the newest ids; not yet in the column
        self._ranks: IdColumn | None = None

    @property
    def next_number(self) -> int:
        return self._next

    def numbers(self, given: Sequence[Labels]) -> list[int]:
        """The ids of these series; a new id for a new series. Each call reads all fingerprints."""
        marks = list(map(fingerprint, given))
        wanted = pa.array({mark for mark in marks if mark not in self._found}, pa.binary())
        files = self._files if len(wanted) else ()
        for part in series_parts(self._storage, files, ("series", "fingerprint")):
            known = part.filter(pc.is_in(part["fingerprint"], wanted))
            columns = (known[name].to_pylist() for name in ("fingerprint", "series"))
            self._found.update(zip(*columns, strict=True))
        for mark, labels in zip(marks, given, strict=True):
            if mark not in self._found:
                self._found[mark] = self._add(labels, mark)
        return [self._found[mark] for mark in marks]

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
        self._days.add(numbers, day_time(day) // DAY_MS)

    def write(self, stamp: str) -> Change:
        """Writes the new rows; all rows again if a known series has a new first or last day."""
        new = [self._new_rows()] if self._new else []
        every = ("series", *_DAYS)
        if not any(map(self._days.change, series_parts(self._storage, self._files, every))):
            return Change((), [write_series(self._storage, new, stamp)] if new else ())
        known = map(self._days.merged, series_parts(self._storage, self._files))
        return Change(self._files, [write_series(self._storage, chain(known, new), stamp)])

    def is_of(self, files: Sequence[DataFile], least: int) -> bool:
        """Whether it has the content of these files, and knows of all ids below `least`."""
        mine, theirs = ({file.path for file in each} for each in (self._files, files))
        return mine == theirs and self._next >= least

    def settle(self, files: Sequence[DataFile]) -> None:
        """Call it when the rows of `write` are published, with the files of the table."""
        self._files, self._days = files, SeenDays()
        self._found.clear()
        self._new.clear()

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
    """The first and last day on which series were seen, in days since 1970."""

    def __init__(self) -> None:
        self._first, self._last = IdColumn(), IdColumn()

    def add(self, numbers: Int32s, day: int) -> None:
        first = self._first[numbers]
        self._first[numbers] = np.where(first == NONE, day, np.minimum(first, day))
        self._last[numbers] = np.maximum(self._last[numbers], day)

    def columns(self, numbers: Int32s) -> dict[str, Array]:
        """A series whose samples were all dropped has no day: 1970."""
        days = (np.maximum(days[numbers], 0) for days in (self._first, self._last))
        return dict(zip(_DAYS, map(_dates, days), strict=True))

    def merged(self, rows: Table) -> Table:
        """The rows with these days too."""
        numbers = rows["series"].to_numpy()
        known = [rows[name].cast(pa.int32()).to_numpy() for name in _DAYS]
        first, last = self._first[numbers], np.maximum(self._last[numbers], known[1])
        first = np.where(first == NONE, known[0], np.minimum(first, known[0]))
        for name, days in zip(_DAYS, (first, last), strict=True):
            place = rows.column_names.index(name)
            rows = rows.set_column(place, SERIES_SCHEMA.field(name), _dates(days))
        return rows

    def change(self, rows: Table) -> bool:
        return not self.merged(rows).equals(rows)


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


def series_parts(
    storage: Storage, files: Iterable[DataFile], columns: Sequence[str] = SERIES_SCHEMA.names
) -> Iterator[Table]:
    """The rows of `read_series` in bounded memory."""
    for file in files:
        with storage.open(file.path) as source:
            for batch in pq.ParquetFile(source).iter_batches(_GROUP_ROWS, columns=[*columns]):
                yield pa.Table.from_batches([batch])


def write_series(storage: Storage, parts: Iterable[Table], stamp: str) -> DataFile:
    held: list[Table] = []
    with new_file(storage, f"{SERIES}/{stamp}.parquet", SERIES) as file:
        for part in parts:
            for low in range(0, part.num_rows, _GROUP_ROWS):
                held.append(part.slice(low, _GROUP_ROWS))
                if sum(each.num_rows for each in held) >= _GROUP_ROWS:
                    file.write(_joined(held))
                    held.clear()
        if held:
            file.write(_joined(held))
        return file.finish()


def _joined(parts: Sequence[Table]) -> Table:
    return pa.concat_tables(parts).unify_dictionaries().combine_chunks()
