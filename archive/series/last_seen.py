"""When each series last had a sample, by series id, in pages: forgotten ids take no memory."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

_SHIFT: Final = 14
_PAGE: Final = 1 << _SHIFT
_MASK: Final = _PAGE - 1


class LastSeen:
    """Times in milliseconds; 0 for a series without a sample."""

    def __init__(self) -> None:
        self._pages: dict[int, NDArray[np.int64]] = {}

    def mark(self, series: NDArray[np.int64], times: NDArray[np.int64] | int) -> None:
        if not len(series):
            return
        pages = series >> _SHIFT
        first = int(pages[0])
        if int(pages.min()) == int(pages.max()):  # the common case: neighbours arrive together
            self._page(first)[series & _MASK] = times
            return
        for number in np.unique(pages).tolist():
            here = pages == number
            given = times if isinstance(times, int) else times[here]
            self._page(number)[series[here] & _MASK] = given

    def of(self, series: NDArray[np.int64]) -> NDArray[np.int64]:
        found = np.zeros(len(series), np.int64)
        pages = series >> _SHIFT
        for number in np.unique(pages).tolist():
            page = self._pages.get(number)
            if page is not None:
                here = pages == number
                found[here] = page[series[here] & _MASK]
        return found

    def count_near(self, time: int, within: int) -> int:
        """How many series were seen less than `within` before or after this time."""
        pages = self._pages.copy().values()
        return sum(int(np.count_nonzero(abs(page - time) < within)) for page in pages)

    def forget(self, first: int, end: int) -> None:
        """Frees whole pages."""
        for number in range(first >> _SHIFT, end >> _SHIFT):
            self._pages.pop(number, None)

    def _page(self, number: int) -> NDArray[np.int64]:
        page = self._pages.get(number)
        if page is None:
            page = self._pages[number] = np.zeros(_PAGE, np.int64)
        return page
