"""Finds the series of labels that the cache does not have, without decoding each label.

Series of one target share all labels but the first, the metric name: the others are decoded once.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from itertools import pairwise
from typing import Final, NamedTuple

from archive.remote_write.label_reader import LABEL_TAG, LabelReader, end_of_labels
from archive.remote_write.protobuf import Buffer
from archive.remote_write.v1.label_cache import VALUED, ZERO
from archive.series.labels import NAME, Identity, Label, LabelRules
from archive.series.live import LiveSeries, SeriesIds

_MAX_CACHED: Final = 65_536
_MAX_CACHED_BYTES: Final = 16 << 20
_SAMPLE_TAG: Final = 0x12
_ONE_BYTE: Final = 0x80  # lengths below it have one byte


class _Labels:
    """A part of a label set that several series share."""

    __slots__ = ("count", "first_name", "has_metric", "key", "labels", "replica", "replica_key")

    def __init__(self, labels: Sequence[Label], replica_label: str) -> None:
        kept = [label for label in labels if label[0] != replica_label]
        names = [name for name, _ in kept]
        is_sorted = all(a < b for a, b in pairwise(names))
        is_unique = is_sorted and len(labels) - len(kept) <= 1
        is_plain = bool(names) and is_unique and all(name and value for name, value in kept)
        self.labels = tuple(kept) if is_plain else ()
        """Without the replica label. Empty when they are not sorted, unique and without blanks."""
        self.first_name = names[0] if names else ""
        self.count = len(labels)
        self.has_metric = NAME in names
        self.replica = "".join(value for name, value in labels if name == replica_label)
        self.key = self.replica_key = b""
        """In the series table; empty before the first series."""


class _Seen(Enum):
    """Instead of labels that are not decoded."""

    ONCE = 1
    AGAIN = 2


class Split(NamedTuple):
    """A label set that needs no sorting and no check."""

    first: _Labels
    others: _Labels


Unidentified = Split | list[Label]


class LabelIdentities:
    def __init__(self, rules: LabelRules, numbers: SeriesIds, live: LiveSeries) -> None:
        self.labels = LabelReader()
        self._rules = rules
        self._numbers = numbers
        self._live = live
        self._firsts: dict[bytes, _Labels] = {}
        self._others: dict[bytes, _Labels | _Seen] = {}
        self._bytes = 0

    def end_of_labels(self, buffer: Buffer, start: int, stop: int) -> int:
        """The end of the labels at the start of a series; known labels are not parsed."""
        length = buffer[start + 1] if start < stop else _ONE_BYTE
        if length >= _ONE_BYTE or buffer[start] != LABEL_TAG:
            return end_of_labels(buffer, start, stop)
        begin = start + 2 + length
        for size in (VALUED, ZERO):
            end = stop - size
            is_sample = buffer[end] == _SAMPLE_TAG and buffer[end + 1] == size - 2
            if begin <= end and is_sample and self._is_known(bytes(buffer[begin:end])):
                return end
        end = end_of_labels(buffer, begin, stop)
        if begin <= end <= stop:  # otherwise a length is wrong
            self._remember(bytes(buffer[begin:end]), _Seen.ONCE)
        return end

    def read(self, raw: bytes) -> Unidentified:
        """Raises RefusedError, MalformedError or IndexError when these are not labels."""
        end = 2 + raw[1] if raw and raw[1] < _ONE_BYTE else 0
        others = self._others.get(raw[end:])
        fits = end <= len(raw) <= self._rules.max_bytes
        if others is None or others is _Seen.ONCE or not fits:
            return self.labels.read(raw, self._rules.max_labels)
        if others is _Seen.AGAIN:
            others = self._read_others(raw[end:])
        first = self._firsts.get(raw[:end]) or self._read_first(raw[:end])
        if (
            first.labels
            and others.labels
            and first.first_name < others.first_name
            and others.count < self._rules.max_labels
            and (others.has_metric or first.has_metric)
        ):
            return Split(first, others)
        return self.labels.read(raw, self._rules.max_labels)

    def identify(self, given: Unidentified, now: int) -> int:
        """The id of the series. Raises RefusedError."""
        if not isinstance(given, Split):
            return self._live.identify(self._rules.identify(given), now)
        first, others = given
        if first.key and others.key:
            return self._live.identify_key(others.replica_key + first.key + others.key, now)
        labels = (*first.labels, *others.labels)
        series = self._live.identify(Identity(labels, others.replica), now)
        # After it: a refused series must not add pairs.
        first.key, others.key = map(self._numbers.key, (first.labels, others.labels))
        others.replica_key = self._numbers.replica_key(others.replica)
        return series

    def forget(self) -> None:
        """Call it when the series table forgets pairs: the keys contain their ids."""
        self._firsts.clear()
        self._others.clear()
        self._bytes = 0

    def _is_known(self, others: bytes) -> bool:
        found = self._others.get(others)
        if found is _Seen.ONCE:
            self._others[others] = _Seen.AGAIN
        return found is not None

    def _read_first(self, raw: bytes) -> _Labels:
        first = _Labels(self.labels.read(raw, 1), self._rules.replica)
        if len(self._firsts) >= _MAX_CACHED:
            self.forget()
        self._firsts[raw] = first
        return first

    def _read_others(self, raw: bytes) -> _Labels:
        others = _Labels(self.labels.read(raw, self._rules.max_labels), self._rules.replica)
        self._remember(raw, others)
        return others

    def _remember(self, raw: bytes, others: _Labels | _Seen) -> None:
        if len(self._others) >= _MAX_CACHED or self._bytes > _MAX_CACHED_BYTES:
            self.forget()
        self._others[raw] = others
        self._bytes += len(raw)
