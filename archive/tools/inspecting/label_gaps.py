"""Hours in which a value of a label has no samples, for example one of several senders."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from archive.progress import Progress
from archive.tables.chunk_decoder import hours_of, one_array
from archive.tables.parquet_files import read_table
from archive.tables.schema import HOUR_MS, HOURLY, SERIES
from archive.tables.series import read_series
from archive.tools.archive_view import View
from archive.tools.errors import ToolError


@dataclass(frozen=True, slots=True)
class LabelGap:
    value: str
    start: int
    end: int


def gaps_by_label(view: View, label: str, progress: Progress) -> Iterator[LabelGap]:
    """Whole hours without a sample, between the first and the last hour of each value."""
    seen = _hours_of_values(view, label, progress)
    for value, hours in sorted(seen.items()):
        ordered = sorted(hours)
        for before, after in pairwise(ordered):
            if after - before > HOUR_MS:
                yield LabelGap(value, before + HOUR_MS, after)


def _hours_of_values(view: View, label: str, progress: Progress) -> dict[str, set[int]]:
    values = _values(view, label)
    codes = {value: code for code, value in enumerate(sorted(set(values.values())))}
    code_of = np.full(_next_series(view), -1, np.int32)
    code_of[list(values)] = [codes[value] for value in values.values()]
    names = list(codes)
    seen: dict[str, set[int]] = defaultdict(set)
    files = view.snapshot.files[HOURLY]
    with progress.work("reading hours", sum(file.size for file in files)) as step:
        for file in files:
            table = read_table(view.storage, file.path, ("series", "hour"))
            hours = hours_of(one_array(table, "hour")) // HOUR_MS
            pairs = np.stack((code_of[one_array(table, "series").to_numpy()], hours))
            for code, hour in np.unique(pairs, axis=1).T.tolist():
                if code >= 0:
                    seen[names[code]].add(hour * HOUR_MS)
            step(file.size)
    return seen


def _next_series(view: View) -> int:
    return max((int(file.high["series"]) for file in view.snapshot.files[SERIES]), default=-1) + 1


def _values(view: View, label: str) -> dict[int, str]:
    """The value of each series with the label."""
    table = read_series(view.storage, view.snapshot.files[SERIES], ("series", "labels"))
    columns = (table.column(name).to_pylist() for name in ("series", "labels"))
    found = {
        series: value
        for series, labels in zip(*columns, strict=True)
        if (value := dict(labels).get(label)) is not None
    }
    if not found:
        raise ToolError(f"--by: no series has the label {label}")
    return found
