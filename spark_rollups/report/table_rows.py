"""Builds table rows from arrays of assets."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from spark_rollups.report.cell_values import Level, Value
from spark_rollups.report.facts.arithmetic import known
from spark_rollups.report.facts.assets import Assets, Floats, Mask
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
    """One row per asset of the mask; its name comes first."""
    rows = []
    for index in np.flatnonzero(mask).tolist():
        values = (_cell(column[index]) for column in columns)
        level = Level.NORMAL if levels is None else levels[index]
        rows.append(Row((*assets.names[index], *values), level))
    return rows


def _cell(value: Value) -> Value:
    return known(value) if isinstance(value, float) else value  # numpy's floats are floats


def by_column(column: int, falling: bool = True) -> Callable[[Row], float | None]:
    """A key for sorted_rows: the value of a column, counted with the identity columns."""

    def key(row: Row) -> float | None:
        value = row.values[column]
        if not isinstance(value, int | float):
            return None
        return float(value) if falling else -float(value)

    return key
