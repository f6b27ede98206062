"""Rows in the order of their names and their label texts, made once per asset and kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import add
from typing import Generic, TypeVar

from exporter.exposition.text_format import label_head

Row = TypeVar("Row")
Key = TypeVar("Key", bound=tuple[str, ...])
Told = TypeVar("Told")


@dataclass(frozen=True, slots=True)
class Table(Generic[Row, Key]):
    """Rows with their identities and their heads, in the order of the identities."""

    rows: list[Row]
    keys: list[Key]
    heads: list[str]

    def part(self, first: int, last: int) -> Table[Row, Key]:
        if last - first == len(self.rows):
            return self
        return Table(self.rows[first:last], self.keys[first:last], self.heads[first:last])


@dataclass(slots=True)
class RowCache(Generic[Row, Key]):
    """Keeps order and heads from poll to poll; what a poll does not name is forgotten.

    Sorting and writing heads for a hundred thousand rows takes longer than all that is done with
    them afterwards, and from one poll to the next hardly any row comes or goes.
    """

    names: tuple[str, ...]
    system: str
    identity: Callable[[Row], Key]
    _keys: list[Key] = field(default_factory=list)
    _heads: list[str] = field(default_factory=list)

    def table(self, rows: Iterable[Row]) -> Table[Row, Key]:
        by_key = {self.identity(row): row for row in rows}
        ordered = self._in_kept_order(by_key)
        if ordered is None:
            self._arrange(by_key)
            ordered = [by_key[key] for key in self._keys]
        return Table(ordered, self._keys, self._heads)

    def _in_kept_order(self, by_key: dict[Key, Row]) -> list[Row] | None:
        """None when somebody came or went."""
        if len(by_key) != len(self._keys):
            return None
        try:
            return list(map(by_key.__getitem__, self._keys))
        except KeyError:
            return None

    def _arrange(self, by_key: dict[Key, Row]) -> None:
        known = dict(zip(self._keys, self._heads, strict=True))
        stayed = [key for key in self._keys if key in by_key]
        # A sorted list with few others behind it is sorted anew in hardly more than one pass.
        self._keys = sorted([*stayed, *(key for key in by_key if key not in known)])
        self._heads = [known.get(key) or self._head(key) for key in self._keys]

    def _head(self, key: Key) -> str:
        return label_head(self.names, (self.system, *key))


@dataclass(frozen=True, slots=True)
class JoinedHeads:
    """Heads that are put together only when they are written: together they would be long."""

    heads: Sequence[str]
    endings: Sequence[str]

    def __iter__(self) -> Iterator[str]:
        return map(add, self.heads, self.endings)


def told_of(
    keys: Iterable[Key], heads: Sequence[str], found: Mapping[Key, Told]
) -> tuple[Sequence[str], list[Told]]:
    """What is told of those of whom anything is, with their heads."""
    if not found:
        return [], []
    told = [found.get(key) for key in keys]
    known = [one for one in told if one is not None]
    if len(known) < len(told):
        heads = [head for head, one in zip(heads, told, strict=True) if one is not None]
    return heads, known


def yes_no(value: bool) -> str:
    return "true" if value else "false"
