"""One connection of a sender: where its last request ended is where its next one should begin."""

from __future__ import annotations

import numpy as np

from archive.remote_write.v1.span_cache import CachedSpan


class ConnectionCursor:
    """Nothing but a guess, so requests of different senders may share one."""

    __slots__ = ("growing", "plain", "row", "span")

    def __init__(self) -> None:
        self.span = CachedSpan((), np.empty(0, np.int64))
        """The run that was read last, and the row behind what was read of it."""
        self.row = 0
        self.growing = CachedSpan((), np.empty(0, np.int64))
        """The run that takes in new series."""
        self.plain = True
        """Whether the last request was nothing but plain samples, and all of them were kept."""
