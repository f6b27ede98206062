"""The position of a connection in the span cache, where its next request is expected to begin."""

from __future__ import annotations

from archive.remote_write.v1.span_cache import CachedSpan


class ConnectionCursor:
    """A prediction only: a wrong cursor costs time, not correctness, so it may be shared."""

    __slots__ = ("growing", "plain", "row", "span")

    def __init__(self) -> None:
        self.span = CachedSpan()
        """The span that matched last; `row` is the first row behind the match."""
        self.row = 0
        self.growing = CachedSpan()
        """The span to which new series are appended."""
        self.plain = True
        """Whether the last request had only plain samples and none was refused."""
