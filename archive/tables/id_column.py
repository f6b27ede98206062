"""A number for each series id, in pages: ids without one, or forgotten, take no memory."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from archive.tables.sample_columns import Int64s

_SHIFT: Final = 6
_PAGE: Final = 1 << _SHIFT
_MASK: Final = _PAGE - 1
NONE: Final = -1

Ids = NDArray[np.signedinteger[Any]] | NDArray[np.unsignedinteger[Any]]


class IdColumn:
    """NONE for ids that were never set. It takes 4 bytes per 64 ids below the highest."""

    def __init__(self) -> None:
        self._rows = np.zeros(1, np.int32)  # of each page; 0 is the page without numbers
        self._pages = np.full((1, _PAGE), NONE, np.int64)
        self._used = 1

    def __getitem__(self, ids: Ids) -> Int64s:
        pages = ids >> _SHIFT
        self._grow(pages)
        found: Int64s = self._pages[self._rows[pages], ids & _MASK]
        return found

    def __setitem__(self, ids: Ids, numbers: Ids) -> None:
        pages = ids >> _SHIFT
        self._grow(pages)
        new = np.unique(pages[self._rows[pages] == 0])
        self._rows[new] = np.arange(self._used, self._used + len(new))
        self._used += len(new)
        if self._used > len(self._pages):
            more = max(self._used, 2 * len(self._pages)) - len(self._pages)
            self._pages = np.concatenate((self._pages, np.full((more, _PAGE), NONE, np.int64)))
        self._pages[self._rows[pages], ids & _MASK] = numbers

    def ids(self) -> Int64s:
        """Ids with a number, in ascending order."""
        pages = np.flatnonzero(self._rows)
        page, place = np.nonzero(self._pages[self._rows[pages]] != NONE)
        return (pages[page] << _SHIFT) + place

    def _grow(self, pages: Ids) -> None:
        more = int(pages.max(initial=0)) + 1 - len(self._rows)
        if more > 0:
            self._rows = np.append(self._rows, np.zeros(max(more, len(self._rows)), np.int32))
