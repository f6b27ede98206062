"""Rebuilds cache slots after a restart for series of the write-ahead log's series table.

Series ids follow the order of first arrival, and senders keep their order. When one series is
recognised, the slots of the next ids are built ahead, so that their labels need no decoding.
"""

from __future__ import annotations

import struct
from typing import Final, cast

import numpy as np

from archive.remote_write.messages import write_label
from archive.remote_write.protobuf import MalformedError, write_message
from archive.remote_write.v1.label_cache import VALUED, LabelCache, Slot, header_length
from archive.remote_write.v1.label_identity import LabelIdentities
from archive.remote_write.v1.span_cache import CachedSpan
from archive.series.labels import Label, LabelRules, RefusedError
from archive.series.live import LiveSeries, SeriesIds

_MAX_AHEAD: Final = 8_192
_MIN_AHEAD: Final = 64
_BLOCK: Final = 1_024
_MAX_CACHED: Final = 200_000  # single labels, which most series share
# After this many unknown series the request is taken to bring new ones.
_PATIENCE: Final = 8


class WarmStart:
    """Builds slots in blocks. Blocks for senders with another order are wasted, so the number of
    slots built ahead follows how many are used."""

    def __init__(self, numbers: SeriesIds, rules: LabelRules, live: LiveSeries) -> None:
        self._numbers = numbers
        self._rules = rules
        self._live = live
        self.identities = LabelIdentities(rules, numbers, live)
        self._built = np.zeros(len(numbers), np.bool_)
        self._remaining = len(numbers)
        self._encoded: dict[int, bytes] = {}  # by pair id
        self._odd: set[int] = set()  # ids of pairs whose label is the replica label now
        self._no_replica = -1  # the pair id of "no replica", once it is known
        self._ahead = _MAX_AHEAD
        self._last: list[range] = []
        self._tries = _PATIENCE
        self._room = self._ahead

    def forget_series(self) -> None:
        """Call it when the series table forgets series: pair ids change their meaning."""
        self.identities.forget()
        self._encoded.clear()
        self._odd.clear()
        self._no_replica = -1

    def update_lookahead(self) -> None:
        """Adapts the lookahead to how many slots the last requests used."""
        built = sum(map(len, self._last))
        if built:
            used = sum(self._live.seen(each.start, each.stop) for each in self._last)
            poor = used < built // 4
            self._ahead = self._ahead // 2 if poor else self._ahead * 2
            self._ahead = min(max(self._ahead, _MIN_AHEAD), _MAX_AHEAD)
            self._last = []

    def begin_request(self) -> None:
        self._room, self._tries = self._ahead, _PATIENCE

    def slot(self, raw: bytes, header: int, table: LabelCache) -> Slot | None:
        """A slot for labels that the cache does not have, built with those that should follow."""
        if (
            not self._remaining
            or not self._tries
            or self._room <= 0
            or len(table) >= self._live.cache_limit
        ):
            return None
        number = self._number(raw)
        if number is None or number >= len(self._built) or self._built[number]:
            self._tries -= 1
            return None
        self._make(number, min(_BLOCK, self._room), table)
        return table.get(raw, header)

    def _number(self, raw: bytes) -> int | None:
        try:
            identity = self._rules.identify(
                self.identities.labels.read(raw, self._rules.max_labels)
            )
        except (RefusedError, MalformedError, IndexError):
            return None  # reading the request field by field reports it
        return self._numbers.find(identity.labels, identity.replica)

    def _make(self, first: int, count: int, table: LabelCache) -> None:
        block = range(first, min(first + count, len(self._built)))
        ids = list(self._numbers.ids(block.start, block.stop))
        rows = self._numbers.rows(ids)
        slots, numbers = [], []
        for number, row in zip(ids, rows, strict=True):
            raw = None if self._built[number] else self._raw(row)
            header = header_length(len(raw) + VALUED) if raw else 0
            if raw and table.get(raw, header) is None:
                slots.append(table.stage(raw, header))
                numbers.append(number)
        if slots:
            table.fill(slots)
            table.ids[[slot.index for slot in slots]] = numbers
            for slot in slots:
                table.keep(slot)
            CachedSpan(slots, np.full(len(slots), VALUED))
        self._room -= len(block)
        self._last.append(block)
        self._remaining -= len(block) - int(np.count_nonzero(self._built[block.start : block.stop]))
        self._built[block.start : block.stop] = True
        if not self._remaining:
            self._encoded.clear()

    def _raw(self, row: bytes) -> bytes | None:
        """The labels as a sender encodes them, sorted; None when they break a limit."""
        replica, *labels = struct.unpack(f"={len(row) // 4}I", row)
        if len(labels) >= self._rules.max_labels:  # the replica label may be added
            return None
        parts = list(map(self._encoded.get, labels))
        if None in parts:
            parts = [self._encoded.get(number) or self._encode(number) for number in labels]
        if self._odd and not self._odd.isdisjoint(labels):
            return None
        if replica != self._no_replica:
            return self._raw_of_replica(replica, labels)
        raw = b"".join(cast(list[bytes], parts))
        return raw if len(raw) <= self._rules.max_bytes else None

    def _raw_of_replica(self, replica: int, labels: list[int]) -> bytes | None:
        ((_, name),) = self._numbers.pairs([replica])
        pairs = self._numbers.pairs(labels)
        if not name:
            self._no_replica = replica
        elif self._rules.replica:
            pairs.append((self._rules.replica, name))
        else:
            return None
        raw = b"".join(map(_written, sorted(pairs)))
        return raw if len(raw) <= self._rules.max_bytes else None

    def _encode(self, number: int) -> bytes:
        (pair,) = self._numbers.pairs([number])
        if len(self._encoded) >= _MAX_CACHED:
            self._encoded.clear()
        if pair[0] == self._rules.replica:
            self._odd.add(number)
        written = self._encoded[number] = _written(pair)
        return written


def _written(pair: Label) -> bytes:
    return write_message(1, write_label(pair))
