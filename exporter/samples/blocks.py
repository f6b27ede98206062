"""Blocks of exposition text from columns, within the series cap; unchanged blocks are reused."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b

import msgspec

from exporter.exposition.histogram import Histogram
from exporter.exposition.text_format import Block, Column, Value, render_block
from exporter.metric import Metric
from exporter.samples.rows import JoinedHeads

Rows = Callable[[int, int], Iterator[Column]]  # the columns of some rows, from first to last
_encode = msgspec.msgpack.Encoder().encode


@dataclass(frozen=True, slots=True)
class _Cached:
    heads: list[str] | JoinedHeads
    digest: bytes
    block: Block | None


@dataclass(slots=True)
class BlockCache:
    """The blocks of the last poll.

    Most columns of a large system rarely change. Writing and compressing a column takes ten
    times as long as comparing it.
    """

    _before: dict[str, _Cached] = field(default_factory=dict)
    _now: dict[str, _Cached] = field(default_factory=dict)

    def start_poll(self) -> None:
        """Drops the blocks that the previous poll did not use."""
        self._before, self._now = self._now, {}

    def block(self, column: Column) -> Block | None:
        heads, values = column.heads, list(column.values)
        # Generated heads are made for one poll only: comparing them would cost more.
        if not isinstance(heads, list | JoinedHeads):
            return render_block(replace(column, values=values))
        digest, name = _digest(values), column.metric.name
        cached = self._before.get(name)
        if (
            cached is None
            or digest is None
            or cached.digest != digest
            # Nearly always the same list, which need not be compared item by item.
            or (cached.heads is not heads and cached.heads != heads)
        ):
            cached = _Cached(heads, digest or b"", render_block(replace(column, values=values)))
        self._now[name] = cached
        return cached.block


def _digest(values: Sequence[Value]) -> bytes | None:
    """A hash of the values; None where they cannot be encoded."""
    try:
        return blake2b(_encode(values), digest_size=16).digest()
    except (OverflowError, TypeError):  # more than 64 bits, or no number: the writer reports it
        return None


@dataclass(slots=True)
class Blocks:
    """Blocks written so far, within the cap."""

    wanted: frozenset[Metric]
    cap: int
    cache: BlockCache
    done: list[Block] = field(default_factory=list)
    series: int = 0
    dropped: int = 0

    def take(self, columns: Iterable[Column]) -> None:
        for column in columns:
            if column.metric in self.wanted:
                block = self.cache.block(column)
                if block is not None:
                    self.done.append(block)
                    self.series += block.lines

    def take_rows(self, columns: Rows, total: int) -> None:
        """Writes whole rows in order of their names, up to the cap, and counts the dropped series."""
        blocks, before = len(self.done), self.series
        self.take(columns(0, total))
        if self.series <= self.cap:
            return
        wanted = self.series - before
        del self.done[blocks:]
        self.series = before
        self.take(columns(0, self._fitting(columns, total, wanted)))
        self.dropped += before + wanted - self.series

    def _fitting(self, columns: Rows, rows: int, series: int) -> int:
        """How many of the rows fit below the cap; `series`: their number of series."""
        left = self.cap - self.series
        while rows > 0 and series > left:
            rows = min(rows - 1, rows * max(0, left) // series)
            series = self._count(columns(0, rows))
        return rows

    def _count(self, columns: Iterable[Column]) -> int:
        return sum(
            sum(map(_series_of, column.values))
            for column in columns
            if column.metric in self.wanted
        )


def _series_of(value: Value) -> int:
    if value is None:
        return 0
    return len(value.counts) + 2 if isinstance(value, Histogram) else 1
