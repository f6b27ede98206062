"""Reads a paged list of the JetStream API until it is whole."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from exporter.errors import RequestError
from exporter.sources.decoding.row_by_row import UnreadRow
from exporter.sources.request_context import RequestContext

Row = TypeVar("Row")
_OVERLAP = 1
# So many rows may be removed between two pages before one is on neither.
_OVERLAP_AFTER_CHANGE = 32


@dataclass(frozen=True, slots=True)
class ListPage(Generic[Row]):
    total: int  # of the whole list; in CONSUMER.LIST of clusters before 2.9.21 of the page
    limit: int
    rows: tuple[tuple[str, Row], ...]  # by name; "" for a placeholder of a missing one
    missing: frozenset[str] = frozenset()  # its servers did not respond
    offline: frozenset[str] = frozenset()  # its server cannot run it
    unread: tuple[UnreadRow, ...] = ()

    def names(self) -> set[str]:
        named = {name for name, _ in self.rows} | {row.name for row in self.unread}
        return (named | self.missing | self.offline) - {""}

    @property
    def unnamed(self) -> int:
        return sum(not row.name for row in self.unread)


# Requests the page at an offset.
RequestPage = Callable[[int], Awaitable[ListPage[Row]]]


@dataclass(slots=True)
class _Reading:
    """All pages, once."""

    overlap: int  # rows of a page that the next one repeats
    names: set[str] = field(default_factory=set)
    offset: int = 0  # of the next page
    unnamed: int = 0
    total: int = 0  # of the last page with rows
    totals: set[int] = field(default_factory=set)
    shared: int = 0  # names that the next page repeats if no row moves
    moved: bool = False

    @property
    def received(self) -> int:
        return len(self.names) + self.unnamed

    def add(self, page: ListPage[Row]) -> bool:
        """Whether a further page is due."""
        names = page.names()
        is_new = not names <= self.names
        self.moved |= bool(names) and len(names & self.names) != self.shared
        self.names |= names
        self.unnamed += page.unnamed
        length = len(names) + page.unnamed  # the positions of the list that the page covers
        # Behind the end of a list, a cluster reports a total of 0.
        if length or not self.received:
            self.total = page.total
            if page.total >= self.received:
                self.totals.add(page.total)
        end = self.offset + length
        self.shared = min(self.overlap, length // 2)
        self.offset = end - self.shared
        # A full page whose total counts only its own rows says nothing about further pages.
        own_total = length >= page.limit > 0 and page.total == len(page.rows)
        return is_new and (end < page.total or own_total)

    @property
    def is_whole(self) -> bool:
        return self.received >= self.total >= 0

    @property
    def unchanged(self) -> bool:
        """Whether no row was seen to move to another page."""
        return not self.moved and len(self.totals) <= 1


async def read_pages(
    request: RequestPage[Row], what: str, context: RequestContext
) -> AsyncIterator[ListPage[Row]]:
    """Yields the pages; raises RequestError after the last one if rows are missing.

    Each page begins with the last row of the one before, which shows whether rows moved meanwhile.
    A list that is short, or that changed between its pages, is read once more, with pages that
    overlap more, and the rows of both readings are added up. A list that changes all the time is
    complete if it has as many rows as the smallest total of the second reading; rows created
    meanwhile follow at the next poll. A total below the number of rows is no difference, because it
    may be that of one page.
    """
    first, second = _Reading(_OVERLAP), _Reading(_OVERLAP_AFTER_CHANGE)
    try:
        async for page in _read_once(request, what, first, context):
            yield page
        if first.is_whole and first.unchanged:
            return
        async for page in _read_once(request, what, second, context):
            yield page
    except RequestError as error:
        if first.received:
            error.add_progress(_progress(first, second))
        raise
    changed = first.moved or second.moved or len(first.totals | second.totals) > 1
    received = max(len(first.names | second.names), second.received)
    enough = changed and received >= min(second.totals, default=second.total)
    if not second.is_whole and not enough:
        raise RequestError("partial", f"{what}: {_progress(first, second)}")


def _progress(first: _Reading, second: _Reading) -> str:
    received = max(len(first.names | second.names), first.received, second.received)
    total = second.total if second.received else first.total
    return f"{received} of {total} rows were received"


async def _read_once(
    request: RequestPage[Row], what: str, reading: _Reading, context: RequestContext
) -> AsyncIterator[ListPage[Row]]:
    more = True
    while more:
        if reading.received:
            context.check_deadline(what)
        page = await request(reading.offset)
        more = reading.add(page)
        yield page
