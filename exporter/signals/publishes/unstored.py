"""How many received publishes were not stored, from values of different times."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class UnstoredBounds:
    """The received count and the last sequence come from two requests, with publishes in between.

    The sequence is read before the counter, and again when everything counted is settled. That
    gives two bounds, both off by the same unknown start:
    received - later <= unstored <= received - before. Between two polls the number grew at least
    by the later lower bound minus the earlier upper bound. The best earlier poll counts; one
    without traffic makes the number exact.
    """

    unstored: int = 0  # lower bound since the first poll
    _start: int | None = None  # the largest one: unstored at a poll minus its upper bound
    _last_lower: int | None = None

    def start_at_zero(self, received: int) -> None:
        """For a new stream: its sequence was 0 at this received count."""
        self._start, self._last_lower = self.unstored - received, None

    def forget_start(self) -> None:
        """The sequence may have gone back: the start is unknown again."""
        self._start = self._last_lower = None

    def observe(self, received: int, last_seq_before: int) -> None:
        start = self.unstored - (received - last_seq_before)
        self._start = start if self._start is None else max(self._start, start)

    def agree(self, lower: int | None) -> None:
        """`lower`: the lower bound of a poll without messages waiting to be stored, else None.

        One such poll may catch a slow quorum; two in a row are reliable.
        """
        if lower is not None and self._last_lower is not None:
            self._raise(min(lower, self._last_lower))
        self._last_lower = lower

    def settle(self, received: int, last_seq_later: int) -> None:
        """By now everything received at that poll is stored or never will be."""
        self._raise(received - last_seq_later)

    def _raise(self, lower: int) -> None:
        if self._start is not None:
            self.unstored = max(self.unstored, self._start + lower)
