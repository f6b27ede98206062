"""Rows sorted by name with their label text, cached between polls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import add, attrgetter
from typing import Any, Generic, TypeVar

from exporter.exposition.text_format import label_head
from exporter.model import MALFORMED, Consumer, Stream

Row = TypeVar("Row")
Key = TypeVar("Key", bound=tuple[str, ...])
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Table(Generic[Row, Key]):
    """Rows with their keys and their label heads, sorted by key."""

    rows: list[Row]
    keys: list[Key]
    heads: list[str]

    def part(self, first: int, last: int) -> Table[Row, Key]:
        if last - first == len(self.rows):
            return self
        return Table(self.rows[first:last], self.keys[first:last], self.heads[first:last])


@dataclass(slots=True)
class RowCache(Generic[Row, Key]):
    """Keeps the order and the heads between polls.

    Sorting and writing heads for 100,000 rows takes longer than everything after it, and few
    rows come or go from one poll to the next. Sources list them in the same order.
    """

    names: tuple[str, ...]
    system: str
    identity: Callable[[Row], Key]
    _listed: list[Key] = field(default_factory=list)  # as the rows came
    _places: list[int] = field(default_factory=list)  # of the sorted keys in that list
    _keys: list[Key] = field(default_factory=list)
    _heads: list[str] = field(default_factory=list)

    def table(self, rows: Iterable[Row]) -> Table[Row, Key]:
        rows = tuple(rows)
        listed = list(map(self.identity, rows))
        if listed != self._listed:
            self._arrange(listed)
        return Table(list(map(rows.__getitem__, self._places)), self._keys, self._heads)

    def _arrange(self, listed: list[Key]) -> None:
        places = {key: place for place, key in enumerate(listed)}
        if places.keys() != set(self._keys):
            known = dict(zip(self._keys, self._heads, strict=True))
            remaining = [key for key in self._keys if key in places]
            # Sorting a sorted list with a few new items at its end takes about one pass.
            self._keys = sorted([*remaining, *(key for key in places if key not in known)])
            self._heads = [known.get(key) or self._head(key) for key in self._keys]
        self._listed, self._places = listed, [places[key] for key in self._keys]

    def _head(self, key: Key) -> str:
        return label_head(self.names, (self.system, *key))


@dataclass(frozen=True, slots=True)
class JoinedHeads:
    """Heads joined with their endings only when they are written, to save memory."""

    heads: Sequence[str]
    endings: Sequence[str]

    def __iter__(self) -> Iterator[str]:
        return map(add, self.heads, self.endings)


def each(rows: Iterable[object], name: str) -> Iterator[Any]:
    """That attribute of all rows, without a Python step for each."""
    return map(attrgetter(name), rows)


def known_rows(
    keys: Iterable[Key], heads: Sequence[str], found: Mapping[Key, Result]
) -> tuple[Sequence[str], list[Result]]:
    """The heads and the results of the keys that have a result."""
    if not found:
        return [], []
    results = [found.get(key) for key in keys]
    known = [one for one in results if one is not None]
    if len(known) < len(results):
        heads = [head for head, one in zip(heads, results, strict=True) if one is not None]
    return heads, known


def yes_no(value: bool) -> str:
    return "true" if value else "false"


def down_value(row: Stream | Consumer) -> int | None:
    """Of a row that is not up. None where it could not be decoded: it is not known to be down."""
    return None if row.reason == MALFORMED else 0
