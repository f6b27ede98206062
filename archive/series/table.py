"""The series table of a data folder: ids and labels, in little memory.

Each pair of label name and value is stored once; a series is the list of its pair ids.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Collection, Iterable, Iterator
from itertools import pairwise
from typing import Final, cast

import numpy as np

from archive.batch import SeriesDefinition
from archive.series.last_seen import LastSeen

Pair = tuple[str, str]
Labels = tuple[Pair, ...]

# Labels have no empty names, so this name marks the replica among the pairs.
_REPLICA = ""
_HOLE = b""
_PAGE: Final = 1 << 14
_FREE: Final = ("", "")  # of a forgotten pair


class SeriesConflictError(ValueError):
    """One id for two series, or ids out of order."""


class SeriesTable:
    """One thread adds and forgets; other threads may read the entries of known series.

    Ids only grow. Keys are in pages, so that forgotten ids take no memory.
    """

    def __init__(self) -> None:
        self._last_seen = LastSeen()
        self._pairs: list[Pair] = []
        self._pair_numbers: dict[Pair, int] = {}
        self._free_pairs: list[int] = []
        self._pages: dict[int, list[bytes]] = {}
        self._next = 0
        self._ids: dict[bytes, int] = {}
        self.find_key = self._ids.get
        """The id of a series by its key: `replica_key` and `key` of its labels."""

    def __len__(self) -> int:
        """The id of the next new series."""
        return self._next

    @property
    def last_seen(self) -> LastSeen:
        return self._last_seen

    @property
    def known(self) -> int:
        """The number of series, without skipped and forgotten ids."""
        return len(self._ids)

    def find(self, labels: Labels, replica: str = "") -> int | None:
        """`labels` as in SeriesDefinition: sorted, unique, without the replica label."""
        found = list(map(self._pair_numbers.get, ((_REPLICA, replica), *labels)))
        return None if None in found else self._ids.get(_key(cast(list[int], found)))

    def identify(self, labels: Labels, replica: str = "") -> int:
        """The id of this series; a new id for a new series."""
        key = self.replica_key(replica) + self.key(labels)
        series = self.find_key(key)
        return self.add_key(key) if series is None else series

    def key(self, labels: Iterable[Pair]) -> bytes:
        """Adjacent in keys like the labels in a series; adds unknown pairs."""
        return _key(self.pair_numbers(labels))

    def replica_key(self, replica: str) -> bytes:
        return _key([self._pair_number((_REPLICA, replica))])

    def definition(self, series: int) -> SeriesDefinition:
        """Raises KeyError for an unknown id."""
        key = self._key_of(series)
        if not key:
            raise KeyError(series)
        (_, replica), *labels = (self._pairs[number] for number in _numbers(key))
        return SeriesDefinition(series, tuple(labels), replica)

    def __iter__(self) -> Iterator[SeriesDefinition]:
        return map(self.definition, self.ids(0, self._next))

    def adopt(self, definitions: Iterable[SeriesDefinition]) -> None:
        """Adds series with given ids; checks those that are present."""
        for each in definitions:
            if each.id > self._next:
                raise SeriesConflictError(f"series {each.id} before series {self._next}")
            self._adopt(each.id, self.replica_key(each.replica) + self.key(each.labels))

    def adopt_rows(self, ids: list[int], rows: list[bytes]) -> None:
        """`adopt` for many series, where ids may be missing because they were lost or forgotten.

        A row consists of ids from `pair_numbers`.
        """
        if ids and self._are_new(ids, rows):
            self._ids.update(zip(rows, ids, strict=True))
            for series, row in zip(ids, rows, strict=True):
                self._page(series)[series % _PAGE] = row
            self._next = ids[-1] + 1
            return
        for series, key in zip(ids, rows, strict=True):
            self._adopt(series, key)

    def _are_new(self, ids: list[int], rows: list[bytes]) -> bool:
        """The common case at a start, where many series are loaded at once."""
        ascending = all(a < b for a, b in pairwise(ids))
        distinct = len(set(rows)) == len(rows)
        return ids[0] >= self._next and ascending and distinct and self._ids.keys().isdisjoint(rows)

    def pair_numbers(self, pairs: Iterable[Pair]) -> list[int]:
        return [self._pair_number(pair) for pair in pairs]

    def ids(self, first: int, end: int) -> Iterator[int]:
        """The known ids from `first` to before `end`."""
        for number in range(first // _PAGE, -(-end // _PAGE)):
            page, begin = self._pages.get(number), number * _PAGE
            if page is not None:
                inside = range(max(first, begin), min(end, begin + _PAGE))
                yield from (series for series in inside if page[series - begin])

    def rows(self, ids: Iterable[int]) -> list[bytes]:
        """The keys of known series."""
        return [self._pages[series // _PAGE][series % _PAGE] for series in ids]

    def pairs(self, numbers: Iterable[int]) -> list[Pair]:
        return [self._pairs[number] for number in numbers]

    def skip_to(self, series: int) -> None:
        """Skips ids that were assigned and lost: they must never be assigned again."""
        self._next = max(self._next, series)

    def forget(self, ids: Collection[int]) -> None:
        """Frees these series and the pairs that no other series has; their ids stay used.

        Keys and pair ids from before are invalid afterwards.
        """
        for series in ids:
            del self._ids[self._key_of(series)]
            self._pages[series // _PAGE][series % _PAGE] = _HOLE
        for number in {series // _PAGE for series in ids}:
            if (number + 1) * _PAGE <= self._next and not any(self._pages[number]):
                del self._pages[number]
                self._last_seen.forget(number * _PAGE, (number + 1) * _PAGE)
        self._forget_pairs()

    def _forget_pairs(self) -> None:
        used = np.zeros(len(self._pairs), np.bool_)
        used[np.frombuffer(b"".join(self._ids), np.uint32)] = True
        used[self._free_pairs] = True  # they are free already
        for number in np.flatnonzero(~used).tolist():
            del self._pair_numbers[self._pairs[number]]
            self._pairs[number] = _FREE
            self._free_pairs.append(number)

    def _key_of(self, series: int) -> bytes:
        page = self._pages.get(series // _PAGE)
        return page[series % _PAGE] if page else _HOLE

    def _page(self, series: int) -> list[bytes]:
        return self._pages.get(series // _PAGE) or self._pages.setdefault(
            series // _PAGE, [_HOLE] * _PAGE
        )

    def _adopt(self, series: int, key: bytes) -> None:
        known = self._ids.get(key)
        if known == series:
            return
        if known is not None:
            raise SeriesConflictError(f"series {known} comes again as series {series}")
        if series < self._next:
            raise SeriesConflictError(f"series {series} is already another one, or was lost")
        self.skip_to(series)
        self.add_key(key)

    def add_key(self, key: bytes) -> int:
        """A new id for a key that is not in the table."""
        series = self._next
        page = self._pages.get(series // _PAGE) or self._page(series)
        self._ids[key] = series
        page[series % _PAGE] = key
        # Last, because the log writer takes everything below it.
        self._next = series + 1
        return series

    def _pair_number(self, pair: Pair) -> int:
        number = self._pair_numbers.get(pair)
        if number is None:
            # A label that cannot be encoded must fail here for one series, not later for a group.
            for text in pair:
                text.encode()
            if self._free_pairs:
                number = self._free_pairs.pop()
                self._pairs[number] = pair
            else:
                number = len(self._pairs)
                self._pairs.append(pair)
            self._pair_numbers[pair] = number
        return number


def _key(numbers: list[int]) -> bytes:
    return array("I", numbers).tobytes()


def _numbers(key: bytes) -> tuple[int, ...]:
    return struct.unpack(f"={len(key) // 4}I", key)
