"""Collects the points of many series day by day and groups them by series.

All labels identify a series, so that two systems are never merged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
from numpy.typing import NDArray

from spark_rollups.rollup.tables.schemas import SUBJECT_LABELS

Floats = NDArray[np.float64]
Int64s = NDArray[np.int64]

_NAMED: Final = ("metric", *SUBJECT_LABELS)
# Separators of label names and values; servers reject them in names.
_EQUALS, _NEXT = "\x01", "\x02"
_TEXT: Final = pa.large_string()
_NONE: Final = pa.scalar("", _TEXT)


@dataclass(frozen=True, slots=True)
class Series:
    """One row of `identities` per series, and its points in the order of insertion."""

    identities: Any
    _offsets: Int64s
    _points: dict[str, Floats]

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def lists(self, name: str) -> Any:
        offsets = pa.array(self._offsets.astype(np.int32))
        return pa.ListArray.from_arrays(offsets, pa.array(self._points[name]))

    def newest(self, name: str) -> Floats:
        return self._points[name][self._offsets[1:] - 1]

    def slice(self, first: int, last: int) -> Series:
        """The series from `first` up to `last`, exclusive."""
        offsets = self._offsets[first : last + 1]
        points = slice(int(offsets[0]), int(offsets[-1]))
        return Series(
            self.identities.slice(first, last - first),
            offsets - offsets[0],
            {name: values[points] for name, values in self._points.items()},
        )

    def select(self, chosen: NDArray[np.bool_]) -> Series:
        """The series of the mask."""
        counts = np.diff(self._offsets)
        points = np.repeat(chosen, counts)
        return Series(
            self.identities.filter(pa.array(chosen)),
            np.append(0, np.cumsum(counts[chosen])),
            {name: values[points] for name, values in self._points.items()},
        )


@dataclass(slots=True)
class SeriesCollector:
    """Holds the points of all days, and one identity row per series."""

    columns: tuple[str, ...]
    _identities: list[Any] = field(default_factory=list)
    _known: Any = field(default_factory=lambda: pa.array([], _TEXT))  # by code
    _codes: list[NDArray[np.int32]] = field(default_factory=list)
    _counts: list[NDArray[np.int32]] = field(default_factory=list)
    _points: dict[str, list[Floats]] = field(default_factory=dict)

    def add(self, identities: Any, time: Floats, points: dict[str, Floats]) -> None:
        """Adds rows of one day in any order; `identities` has the identity columns."""
        codes = series_codes(identities)
        order = np.lexsort((time, codes))
        starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
        firsts = identities.take(pa.array(order[starts]))
        self._codes.append(self._coded(firsts))
        self._counts.append(np.diff(np.append(starts, len(order))).astype(np.int32))
        for name in self.columns:
            self._points.setdefault(name, []).append(points[name][order])

    def series(self) -> Series | None:
        """Days must have been added in order; None without rows."""
        if not len(self._known):
            return None
        codes = np.concatenate(self._codes)
        counts = np.concatenate(self._counts).astype(np.int64)
        by_series = np.argsort(codes, kind="stable")
        taken = _spans((np.cumsum(counts) - counts)[by_series], counts[by_series])
        sizes = np.bincount(codes, weights=counts).astype(np.int64)
        return Series(
            pa.concat_tables(self._identities),
            np.append(0, np.cumsum(sizes)),
            {name: np.concatenate(parts)[taken] for name, parts in self._points.items()},
        )

    def _coded(self, firsts: Any) -> NDArray[np.int32]:
        """The code of each series, the same on all days; adds new series."""
        names = series_names(firsts)
        codes = pc.index_in(names, value_set=self._known)
        new = pc.is_null(codes)
        found: NDArray[np.int32] = codes.fill_null(0).to_numpy(zero_copy_only=False).copy()
        is_new = new.to_numpy(zero_copy_only=False)
        if is_new.any():
            size = len(self._known)
            found[is_new] = np.arange(size, size + int(is_new.sum()), dtype=np.int32)
            self._known = pa.concat_arrays([self._known, names.filter(new)])
            self._identities.append(firsts.filter(new))
        return found


def _spans(starts: Int64s, counts: Int64s) -> Int64s:
    """The indexes of all spans, given their starts and lengths."""
    ends = np.cumsum(counts)
    return np.repeat(starts - (ends - counts), counts) + np.arange(int(counts.sum()))


def series_codes(identities: Any) -> Int64s:
    """A number per row; equal for rows with equal metric and labels."""
    code = np.zeros(identities.num_rows, np.int64)
    for column in _label_columns(identities):
        encoded = column.dictionary_encode()
        mine = encoded.indices.to_numpy(zero_copy_only=False)
        # Renumbered for each label, so that the codes fit 64 bits.
        code = np.unique(code * (len(encoded.dictionary) + 1) + mine, return_inverse=True)[1]
    return code.astype(np.int64)


def series_names(identities: Any) -> Any:
    """A text per row that identifies the series on every day."""
    # large_string: the names of a few million series exceed 32-bit offsets.
    columns = [identities.column(name).combine_chunks().cast(_TEXT) for name in _NAMED]
    parts = [pc.binary_join_element_wise(*columns, pa.scalar(_NEXT, _TEXT))]
    for name in label_names(identities):
        value = label(identities, name).cast(_TEXT)
        text = pc.binary_join_element_wise(
            pa.scalar(_NEXT + name, _TEXT), value, pa.scalar(_EQUALS, _TEXT)
        )
        parts.append(pc.if_else(pc.equal(value, _NONE), _NONE, text))
    return pc.binary_join_element_wise(*parts, _NONE)


def _label_columns(table: Any) -> Iterator[Any]:
    for name in _NAMED:
        yield table.column(name).combine_chunks()
    for name in label_names(table):
        yield label(table, name)


def label_names(table: Any) -> Sequence[str]:
    """The label names in the map `labels`, sorted."""
    found: list[str] = sorted(pc.unique(table.column("labels").combine_chunks().keys).to_pylist())
    return found


def label(table: Any, name: str) -> Any:
    """The value of a label per row; "" where it is absent."""
    found = pc.map_lookup(table.column("labels").combine_chunks(), pa.scalar(name), "first")
    return pc.fill_null(found, "")
