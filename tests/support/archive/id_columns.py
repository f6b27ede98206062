"""Columns by series id for tests."""

from collections.abc import Sequence

import numpy as np

from archive.tables.id_column import IdColumn


def id_column(numbers: Sequence[int]) -> IdColumn:
    """The numbers of the ids 0, 1, 2, ..."""
    made = IdColumn()
    made[np.arange(len(numbers))] = np.array(numbers, np.int64)
    return made
