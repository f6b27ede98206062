"""The series table of a data folder: ids and labels, in little memory.

Each pair of label name and value is stored once; a series is the list of its pair ids.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Callable, Iterable, Iterator
from typing import cast

from archive.batch import SeriesDefinition

Pair = tuple[str, str]
Labels = tuple[Pair, ...]
Permit = Callable[[], object]

# Labels have no empty names, so this name marks the replica among the pairs.
_REPLICA = ""
_HOLE = b""


class SeriesConflictError(ValueError):
    """One id for two series, or ids out of order."""


class SeriesTable:
    """Append-only. One thread adds; other threads may read existing entries."""

    def __init__(self) -> None:
        self._pairs: list[Pair] = []
        self._pair_numbers: dict[Pair, int] = {}
        self._keys: list[bytes] = []
        self._ids: dict[bytes, int] = {}

    def __len__(self) -> int:
        """The id of the next new series."""
        return len(self._keys)

    @property
    def known(self) -> int:
        """The number of series, without skipped ids."""
        return len(self._ids)

    def find(self, labels: Labels, replica: str = "") -> int | None:
        """`labels` as in SeriesDefinition: sorted, unique, without the replica label."""
        found = list(map(self._pair_numbers.get, ((_REPLICA, replica), *labels)))
        return None if None in found else self._ids.get(_key(cast(list[int], found)))

    def identify(self, labels: Labels, replica: str = "", permit: Permit = bool) -> int:
        """The id of this series; a new id for a new series.

        `permit` is called before a series is added, and may raise an error.
        """
        pairs = ((_REPLICA, replica), *labels)
        numbers = list(map(self._pair_numbers.get, pairs))
        if None in numbers:
            permit()
            add = self._pair_number
            filled = [add(pair) if n is None else n for pair, n in zip(pairs, numbers, strict=True)]
            return self._add(_key(filled))
        return self.identify_key(_key(cast(list[int], numbers)), permit)

    def identify_key(self, key: bytes, permit: Permit = bool) -> int:
        """`identify` by the key of a series: `replica_key` and `key` of its labels."""
        found = self._ids.get(key)
        if found is None:
            permit()
            found = self._add(key)
        return found

    def key(self, labels: Iterable[Pair]) -> bytes:
        """Adjacent in keys like the labels in a series; adds unknown pairs."""
        return _key(self.pair_numbers(labels))

    def replica_key(self, replica: str) -> bytes:
        return _key([self._pair_number((_REPLICA, replica))])

    def definition(self, series: int) -> SeriesDefinition:
        """Raises KeyError for an unknown id."""
        key = self._keys[series] if 0 <= series < len(self._keys) else _HOLE
        if not key:
            raise KeyError(series)
        (_, replica), *labels = (self._pairs[number] for number in _numbers(key))
        return SeriesDefinition(series, tuple(labels), replica)

    def __iter__(self) -> Iterator[SeriesDefinition]:
        for series in range(len(self._keys)):
            if self._keys[series]:
                yield self.definition(series)

    def adopt(self, definitions: Iterable[SeriesDefinition]) -> None:
        """Adds series with given ids; checks those that are present."""
        for each in definitions:
            if each.id > len(self._keys):
                raise SeriesConflictError(f"series {each.id} before series {len(self._keys)}")
            self._adopt(each.id, self.replica_key(each.replica) + self.key(each.labels))

    def adopt_rows(self, ids: list[int], rows: list[bytes]) -> None:
        """`adopt` for many series, where ids may be missing because they were lost.

        A row consists of ids from `pair_numbers`.
        """
        if ids and self._are_new(ids, rows):
            self.skip_to(ids[0])
            self._ids.update(zip(rows, ids, strict=True))
            self._keys.extend(rows)
            return
        for series, key in zip(ids, rows, strict=True):
            self._adopt(series, key)

    def _are_new(self, ids: list[int], rows: list[bytes]) -> bool:
        """The common case at a start, where many series are loaded at once."""
        in_a_row = ids == list(range(ids[0], ids[0] + len(ids)))
        distinct = len(set(rows)) == len(rows)
        return ids[0] >= len(self) and in_a_row and distinct and self._ids.keys().isdisjoint(rows)

    def pair_numbers(self, pairs: Iterable[Pair]) -> list[int]:
        return [self._pair_number(pair) for pair in pairs]

    def rows(self, first: int, end: int) -> tuple[list[int], list[bytes]]:
        """Ids and rows of the series from `first` to before `end`, without skipped ids."""
        ids = [series for series in range(first, end) if self._keys[series]]
        return ids, [self._keys[series] for series in ids]

    def pairs(self, numbers: Iterable[int]) -> list[Pair]:
        return [self._pairs[number] for number in numbers]

    def skip_to(self, series: int) -> None:
        """Skips ids that were assigned and lost: they must never be assigned again."""
        self._keys.extend([_HOLE] * (series - len(self._keys)))

    def _adopt(self, series: int, key: bytes) -> None:
        known = self._ids.get(key)
        if known == series:
            return
        if known is not None:
            raise SeriesConflictError(f"series {known} comes again as series {series}")
        if series < len(self._keys):
            raise SeriesConflictError(f"series {series} is already another one, or was lost")
        self.skip_to(series)
        self._add(key)

    def _add(self, key: bytes) -> int:
        series = len(self._keys)
        self._ids[key] = series
        # Last, because the log writer takes everything in the list.
        self._keys.append(key)
        return series

    def _pair_number(self, pair: Pair) -> int:
        number = self._pair_numbers.get(pair)
        if number is None:
            # A label that cannot be encoded must fail here for one series, not later for a group.
            for text in pair:
                text.encode()
            number = len(self._pairs)
            self._pairs.append(pair)
            self._pair_numbers[pair] = number
        return number


def _key(numbers: list[int]) -> bytes:
    return array("I", numbers).tobytes()


def _numbers(key: bytes) -> tuple[int, ...]:
    return struct.unpack(f"={len(key) // 4}I", key)
