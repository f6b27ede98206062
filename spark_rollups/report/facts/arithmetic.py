"""Arithmetic on arrays in which NaN means unknown."""

from __future__ import annotations

import math

import numpy as np

from spark_rollups.report.facts.assets import Floats


def divided(part: Floats, whole: Floats) -> Floats:
    """NaN where the whole is 0 or unknown."""
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio: Floats = np.where(whole > 0, part / whole, np.nan)
    return ratio


def limit_of(limit: Floats, seen: Floats) -> Floats:
    """Infinity where an asset was seen and has no limit."""
    none: Floats = np.where(np.isnan(limit) & ~np.isnan(seen), np.inf, limit)
    return none


def total(values: Floats) -> float | None:
    """The sum of the known values; None if there are none."""
    there = values[~np.isnan(values)]
    return float(there.sum()) if len(there) else None


def highest(values: Floats) -> float | None:
    there = values[~np.isnan(values)]
    return float(there.max()) if len(there) else None


def known(value: float | None) -> float | None:
    """None for NaN."""
    return None if value is None or math.isnan(value) else float(value)
