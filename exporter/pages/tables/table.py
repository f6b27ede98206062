"""A table of all assets of one kind: searched, sorted and cut into pages on the server."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar
from urllib.parse import urlencode

from exporter.pages.status.level import Level
from exporter.pages.status.wording import UNKNOWN

PAGE_ROWS = 100
_MAX_QUERY = 200  # characters of a search

Row = TypeVar("Row")
# Of all rows at once: without a Python step for each, 100,000 take a third of the time.
Values = Callable[[Sequence[Row]], Iterable[Any]]


def by(key: Callable[[Row], Any]) -> Values[Row]:
    return partial(map, key)


@dataclass(frozen=True, slots=True)
class Cell:
    text: str
    small: str = ""  # after the text
    href: str = ""
    level: Level | None = None


@dataclass(frozen=True, slots=True)
class Column(Generic[Row]):
    key: str  # part of links
    title: str
    sort: Values[Row]  # None sorts last in both directions
    hint: str = ""
    numeric: bool = False


@dataclass(frozen=True, slots=True)
class Query:
    """What the address asks for; nonsense is replaced by the default."""

    system: str = ""
    search: str = ""
    sort: str = ""  # the key of a column; with a minus descending
    page: int = 1

    @classmethod
    def of(cls, given: Mapping[str, str]) -> Query:
        page = given.get("page", "1")
        number = int(page) if page.isdecimal() and len(page) < 10 else 1
        search = given.get("q", "").strip()[:_MAX_QUERY]
        return cls(given.get("system", ""), search, given.get("sort", ""), max(1, number))

    def link(self, **changes: str | int) -> str:
        values = {"system": self.system, "q": self.search, "sort": self.sort, "page": self.page}
        chosen = {**values, **changes}
        return "?" + urlencode({k: v for k, v in chosen.items() if v and (k, v) != ("page", 1)})


@dataclass(frozen=True, slots=True)
class Head:
    title: str
    hint: str
    numeric: bool
    href: str
    order: str  # of aria-sort; empty where it is not sorted by this


@dataclass(frozen=True, slots=True)
class TableView:
    kind: str
    query: Query
    heads: tuple[Head, ...]
    rows: tuple[tuple[Cell, ...], ...]
    found: int  # rows that match
    total: int
    pages: int
    first: int  # number of the first row on this page

    @property
    def extent(self) -> str:
        matches = f" of {self.total:,}" if self.found != self.total else ""
        if not self.found:
            return f"None of {self.total:,}"
        last = self.first + len(self.rows) - 1
        if len(self.rows) == self.found:
            return f"{self.found:,}{matches}"
        return f"{self.first:,} to {last:,} of {self.found:,}" + (
            f" that match, {self.total:,} in all" if matches else ""
        )


@dataclass(frozen=True, slots=True)
class Table(Generic[Row]):
    """Only the rows of one page are turned into cells."""

    kind: str
    columns: Sequence[Column[Row]]
    names: Values[Row]  # what a search looks at
    cells: Callable[[Row], tuple[Cell, ...]]
    gravest_first: Values[Row]  # the order without a choice

    def view(self, rows: Sequence[Row], query: Query) -> TableView:
        found = self._matching(rows, query.search.lower())
        column = next((each for each in self.columns if each.key == query.sort.lstrip("-")), None)
        keys = [*(column.sort if column else self.gravest_first)(found)]
        order = _order(keys, descending=column is not None and query.sort.startswith("-"))
        pages = max(1, -(-len(found) // PAGE_ROWS))
        page = min(query.page, pages)
        start = (page - 1) * PAGE_ROWS
        asked = Query(query.system, query.search, query.sort if column else "", page)
        return TableView(
            self.kind,
            asked,
            tuple(_head(column, asked) for column in self.columns),
            tuple(self.cells(found[place]) for place in order[start : start + PAGE_ROWS]),
            len(found),
            len(rows),
            pages,
            start + 1,
        )

    def _matching(self, rows: Sequence[Row], wanted: str) -> Sequence[Row]:
        if not wanted:
            return rows
        named = zip(rows, self.names(rows), strict=True)
        return [row for row, names in named if wanted in names.lower()]


def _order(keys: list[Any], *, descending: bool) -> list[int]:
    """The places of the sorted keys."""
    places = range(len(keys))
    if None not in keys:
        return sorted(places, key=keys.__getitem__, reverse=descending)
    known = [place for place in places if keys[place] is not None]
    known.sort(key=keys.__getitem__, reverse=descending)
    return known + [place for place in places if keys[place] is None]


def _head(column: Column[Any], query: Query) -> Head:
    """A click sorts numbers from the largest and names from the first; another one turns it."""
    now = query.sort.lstrip("-") == column.key
    descending = query.sort.startswith("-")
    down = not descending if now else column.numeric
    order = ("descending" if descending else "ascending") if now else ""
    href = query.link(sort=("-" if down else "") + column.key, page=1)
    return Head(column.title, column.hint, column.numeric, href, order)


def number_cell(value: float | None, small: str = "") -> Cell:
    return Cell(UNKNOWN if value is None else f"{value:,}", small if value is not None else "")
