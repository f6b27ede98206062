"""Tables out of arrays: the identity columns, rows by place, and numbers that may be unknown. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from spark_rollups.report.cell_values import Level, Value, known
from spark_rollups.report.facts.assets import Assets, Mask
from spark_rollups.report.facts.source import Floats
from spark_rollups.report.findings.finding import Subject
from spark_rollups.report.model import Column, Row

Cells = Floats | Sequence[Value]  # one column of a table


def identity(labels: Sequence[str]) -> tuple[Column, ...]:
    return tuple(Column(label, label.capitalize()) for label in labels)


def rows_of(
    assets: Assets,
    mask: Mask,
    columns: Sequence[Cells],
    levels: Sequence[Level] | None = None,
) -> list[Row]:
    """One row for each asset of the mask, its name first."""
    rows = []
    for place in np.flatnonzero(mask).tolist():
        values = (_cell(column[place]) for column in columns)
        level = Level.CALM if levels is None else levels[place]
        rows.append(Row((*assets.names[place], *values), level))
    return rows


def _cell(value: Value) -> Value:
    return known(value) if isinstance(value, float) else value  # numpy's floats are floats


def by_column(column: int, falling: bool = True) -> Callable[[Row], float | None]:
    """A key for sorted_rows: the value of a column, the identity counted."""

    def key(row: Row) -> float | None:
        value = row.values[column]
        if not isinstance(value, int | float):
            return None
        return float(value) if falling else -float(value)

    return key


def subject_of(assets: Assets, place: int) -> Subject:
    named = dict(zip(assets.labels, assets.names[place], strict=True))
    return Subject(**{name: named.get(name, "") for name in Subject.__slots__})


def divided(part: Floats, whole: Floats) -> Floats:
    """NaN where the whole is nothing or unknown."""
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio: Floats = np.where(whole > 0, part / whole, np.nan)
    return ratio


def limit_of(limit: Floats, seen: Floats) -> Floats:
    """A limit that is absent of an asset that was seen is none at all: infinity."""
    none: Floats = np.where(np.isnan(limit) & ~np.isnan(seen), np.inf, limit)
    return none


def total(values: Floats) -> float | None:
    """Of what is known; None when nothing is."""
    there = values[~np.isnan(values)]
    return float(there.sum()) if len(there) else None


def highest(values: Floats) -> float | None:
    there = values[~np.isnan(values)]
    return float(there.max()) if len(there) else None
