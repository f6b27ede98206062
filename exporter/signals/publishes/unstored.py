"""How many of the received publishes were not stored, from numbers that are never read at once."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class UnstoredBounds:
    """The number received and the last sequence come from two requests, with publishes between.

    With the sequence read before the counter, and again when all that it counted is settled, what
    was not stored lies between two bounds, both off by the same unknown start:
    received - later <= unstored <= received - before. So from one look to another it grew at least
    by the lower bound of the later one minus the upper bound of the earlier one. Of all earlier
    looks the best counts; one in a quiet moment makes the number exact.
    """

    unstored: int = 0  # at least so many since the first look
    _start: int | None = None  # the best one seen: unstored at a look minus its upper bound
    _last_lower: int | None = None

    def start_at_zero(self, received: int) -> None:
        """The stream is new: when so many had been received its sequence was 0."""
        self._start, self._last_lower = self.unstored - received, None

    def forget_start(self) -> None:
        """The sequence may have gone back: what was known of the start holds no more."""
        self._start = self._last_lower = None

    def look(self, received: int, last_seq_before: int) -> None:
        start = self.unstored - (received - last_seq_before)
        self._start = start if self._start is None else max(self._start, start)

    def agree(self, lower: int | None) -> None:
        """The lower bound of a look after which nothing waited to be stored, else None.

        One alone may still be a moment in which a quorum was slow; the same again is the truth.
        """
        if lower is not None and self._last_lower is not None:
            self._raise(min(lower, self._last_lower))
        self._last_lower = lower

    def settle(self, received: int, last_seq_later: int) -> None:
        """Later: by now all that was received then is stored, or never will be."""
        self._raise(received - last_seq_later)

    def _raise(self, lower: int) -> None:
        if self._start is not None:
            self.unstored = max(self.unstored, self._start + lower)
