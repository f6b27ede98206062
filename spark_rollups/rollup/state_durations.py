"""Time in each state: a sample lasts until the next one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from archive.tables.chunk_statistics import Floats, Int64s

# The longest time a sample is valid; the lookback of Prometheus.
LONGEST_MS: Final = 300_000


@dataclass(frozen=True, slots=True)
class States:
    identity: Any
    value: Floats
    samples: Int64s
    seconds: Floats


def state_seconds(identity: Any, times: Int64s, values: Floats, day_end: int) -> States:
    """From samples sorted by identity and time, in milliseconds. NaN ends a state."""
    following = np.full(len(times), day_end, np.int64)
    same = identity[1:] == identity[:-1]
    following[:-1][same] = times[1:][same]
    held = np.minimum(following - times, LONGEST_MS)
    states = ~np.isnan(values)
    identity, values, held = (
        identity[states],
        values[states] + 0.0,
        held[states],
    )  # minus zero is zero
    known = np.unique(values)
    codes = np.searchsorted(known, values)
    keys = identity.astype(np.int64) * max(len(known), 1) + codes
    # A stable sort is fast here: keys have long spans of equal values.
    order = np.argsort(keys, kind="stable")
    keys, identity, values, held = keys[order], identity[order], values[order], held[order]
    starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])[: len(keys)])
    if len(starts) == 0:
        return States(identity, values, held, held.astype(np.float64))
    samples = np.diff(np.append(starts, len(identity)))
    return States(identity[starts], values[starts], samples, np.add.reduceat(held, starts) / 1000)
