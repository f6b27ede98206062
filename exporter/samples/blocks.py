"""Columns -> blocks, within the series cap; what says the same as at the last poll is kept."""

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
class _Kept:
    heads: list[str] | JoinedHeads
    mark: bytes
    block: Block | None


@dataclass(slots=True)
class BlockCache:
    """The blocks of the last poll. Most columns of a large system hardly ever change, and to write
    and compress one takes ten times as long as to see that it has not."""

    _before: dict[str, _Kept] = field(default_factory=dict)
    _now: dict[str, _Kept] = field(default_factory=dict)

    def turn(self) -> None:
        """A new poll begins: what the last one did not use is forgotten."""
        self._before, self._now = self._now, {}

    def block(self, column: Column) -> Block | None:
        heads, values = column.heads, list(column.values)
        # Heads that are made for one poll only would be made to be compared.
        if not isinstance(heads, list | JoinedHeads):
            return render_block(replace(column, values=values))
        mark, name = _mark(values), column.metric.name
        kept = self._before.get(name)
        if kept is None or mark is None or kept.mark != mark or kept.heads != heads:
            kept = _Kept(heads, mark or b"", render_block(replace(column, values=values)))
        self._now[name] = kept
        return kept.block


def _mark(values: Sequence[Value]) -> bytes | None:
    """The same for the same values only; None where there is none."""
    try:
        return blake2b(_encode(values), digest_size=16).digest()
    except (OverflowError, TypeError):  # more than 64 bits, or no number: the writer says so
        return None


@dataclass(slots=True)
class Blocks:
    """Blocks written so far, and what is left of the cap."""

    wanted: frozenset[Metric]
    cap: int
    book: BlockCache
    done: list[Block] = field(default_factory=list)
    series: int = 0
    dropped: int = 0

    def take(self, columns: Iterable[Column]) -> None:
        for column in columns:
            if column.metric in self.wanted:
                block = self.book.block(column)
                if block is not None:
                    self.done.append(block)
                    self.series += block.lines

    def take_rows(self, columns: Rows, total: int) -> None:
        """Whole rows in order of their names, up to the cap; the rest is counted, not written."""
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
        """How many of the rows, which have so many series together, stay below the cap."""
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
