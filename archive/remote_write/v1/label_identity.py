"""Finds the series of labels that the cache does not have, without decoding each label.

Series of one target share all labels but the first, the metric name: the others are decoded once.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final

from archive.remote_write.label_reader import LABEL_TAG, LabelReader, end_of_labels
from archive.remote_write.result import REFUSED
from archive.remote_write.v1.label_cache import VALUED, ZERO
from archive.series.labels import NAME, Identity, Label, LabelRules, RefusedError
from archive.series.live import LiveSeries
from archive.series.table import SeriesTable

_MAX_CACHED: Final = 65_536
_MAX_CACHED_BYTES: Final = 16 << 20
_SAMPLE_TAG: Final = 0x12
_LAST: Final = chr(sys.maxunicode)
_ONE_BYTE: Final = 0x80  # lengths below it have one byte


class SharedLabels:
    """A part of a label set that several series share."""

    __slots__ = ("has_metric", "key", "labels", "last_name", "name", "replica", "replica_key")

    def __init__(self, labels: Sequence[Label], rules: LabelRules) -> None:
        kept = [label for label in labels if label[0] != rules.replica]
        names = [name for name, _ in kept]
        is_unique = len(set(names)) == len(names) and len(labels) - len(kept) <= 1
        is_plain = bool(names) and is_unique and names == sorted(names) and "" not in names
        is_plain = is_plain and "" not in [value for _, value in kept]
        is_plain = is_plain and len(labels) < rules.max_labels
        self.labels = tuple(kept)
        """Without the replica label."""
        # Names that no other follows, and that follow no other, when labels must be checked.
        self.name = names[0] if is_plain else ""
        self.last_name = names[-1] if is_plain else _LAST
        self.has_metric = NAME in names
        self.replica = "".join(value for name, value in labels if name == rules.replica)
        self.key = self.replica_key = b""
        """In the series table; empty before the first series."""


Split = tuple[SharedLabels, SharedLabels]
"""First label and the others, of a label set that needs no sorting and no check."""
Unidentified = Split | list[Label]


class LabelIdentities:
    def __init__(self, rules: LabelRules, numbers: SeriesTable, live: LiveSeries) -> None:
        self.labels = LabelReader()
        self._rules = rules
        self._numbers = numbers
        self._live = live
        self._firsts: dict[bytes, SharedLabels] = {}
        self._others: dict[bytes, SharedLabels] = {}
        self._bytes = 0

    def find(self, content: bytes) -> tuple[int, SharedLabels | None]:
        """The end of the labels at the start of a series; all but the first, if they are known."""
        stop = len(content)
        length = content[1] if stop > 1 else _ONE_BYTE
        if length < _ONE_BYTE and content[0] == LABEL_TAG:
            begin, known = 2 + length, self._others
            for size in (VALUED, ZERO):
                end = stop - size
                if begin <= end and content[end] == _SAMPLE_TAG:
                    others = known.get(content[begin:end])
                    if others is not None:
                        return end, others
        return end_of_labels(content, 0, stop), None

    def read(self, raw: bytes, others: SharedLabels | None) -> Unidentified:
        """`others` from `find`. Raises RefusedError, MalformedError or IndexError for other bytes."""
        begin = 2 + raw[1] if raw and raw[1] < _ONE_BYTE else 0
        first = self._firsts.get(raw[:begin]) or self._read(self._firsts, raw[:begin])
        others = others or self._read(self._others, raw[begin:])
        is_plain = first.last_name < others.name and (first.has_metric or others.has_metric)
        if is_plain and len(raw) <= self._rules.max_bytes:
            return first, others
        return self.labels.read(raw, self._rules.max_labels)

    def identify_all(
        self, given: Sequence[Unidentified], now: int
    ) -> tuple[list[int], dict[int, str]]:
        """The ids of the series, or REFUSED; why series are refused, by their position."""
        ids: list[int] = []
        reasons: dict[int, str] = {}
        numbers, live = self._numbers, self._live
        find, free = numbers.find_key, live.allowance(now, len(given))
        for parts in given:
            try:
                has_key = isinstance(parts, tuple) and parts[0].key and parts[1].key
                # A series that may be refused must not add pairs.
                if isinstance(parts, tuple) and (has_key or free > 0):
                    first, others = parts
                    if not has_key:
                        self._add_keys(first, others)
                    key = others.replica_key + first.key + others.key
                    series = find(key)
                    if series is None:
                        if free <= 0:
                            raise live.over_limit()
                        free -= 1
                        series = numbers.add_key(key)
                    ids.append(series)
                else:
                    ids.append(self._identify(parts, now))
                    free = live.allowance(now, len(given))
            except RefusedError as error:
                reasons[len(ids)] = str(error)
                ids.append(REFUSED)
        return ids, reasons

    def _identify(self, given: Unidentified, now: int) -> int:
        if isinstance(given, list):
            return self._live.identify(self._rules.identify(given), now)
        first, others = given
        return self._live.identify(Identity((*first.labels, *others.labels), others.replica), now)

    def _add_keys(self, first: SharedLabels, others: SharedLabels) -> None:
        first.key = first.key or self._numbers.key(first.labels)
        if not others.key:
            others.key = self._numbers.key(others.labels)
            others.replica_key = self._numbers.replica_key(others.replica)

    def forget(self) -> None:
        """Call it when the series table forgets pairs: the keys contain their ids."""
        self.labels = LabelReader()
        self._firsts.clear()
        self._others.clear()
        self._bytes = 0

    def _read(self, into: dict[bytes, SharedLabels], raw: bytes) -> SharedLabels:
        if len(into) >= _MAX_CACHED or self._bytes > _MAX_CACHED_BYTES:
            self.forget()
        labels = into[raw] = SharedLabels(
            self.labels.read(raw, self._rules.max_labels), self._rules
        )
        self._bytes += len(raw)
        return labels
