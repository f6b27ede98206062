"""Generated series of stream sizes with their future, for the forecast benchmark.

Twelve kinds with weekly and daily season, spikes and gaps; a seed gives the same set everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bench.forecast.kinds import AHEAD_DAYS, DAY_HOURS, KINDS, Random, rates_of

Floats = NDArray[np.float64]

_HOUR = 3600.0
_START = 1_767_225_600.0  # 2026-01-01


@dataclass(frozen=True)
class Series:
    kind: str
    times: Floats
    values: Floats  # measured: with spikes and gaps
    limit: float  # 1.02 to 1.5 times the newest level
    high_limit: float  # the same factor times the highest level of the last 14 days
    future: Floats  # hour by hour after the last time, without spikes


def series_set(count: int, seed: int) -> list[Series]:
    """`count` series, the kinds in rotation."""
    names = tuple(KINDS)
    return [
        _series(names[number % len(names)], np.random.default_rng((seed, number)))
        for number in range(count)
    ]


def _series(kind: str, random: Random) -> Series:
    days = int(random.integers(60, 121))
    hours = (days + AHEAD_DAYS) * DAY_HOURS
    whole = KINDS[kind](random, rates_of(random, hours), days)
    scale = 10 ** random.uniform(3, 11) / float(np.median(whole[: days * DAY_HOURS]))
    past, future = np.split(whole * scale, [days * DAY_HOURS])
    times = (_START + _HOUR * np.arange(len(past))).astype(np.float64)
    measured = _with_spikes(random, past)
    kept = _kept(random, len(past))
    factor = random.uniform(1.02, 1.5)
    highest = float(measured[-14 * DAY_HOURS :].max())
    return Series(
        kind, times[kept], measured[kept], factor * float(past[-1]), factor * highest, future
    )


def _with_spikes(random: Random, past: Floats) -> Floats:
    spiked = past.copy()
    for start in random.integers(0, len(past), random.poisson(3)):
        spiked[start : start + random.integers(1, 7)] *= random.uniform(1.05, 1.6)
    return spiked


def _kept(random: Random, hours: int) -> NDArray[np.bool_]:
    """Single hours are missing, and up to three gaps of days; never the last hour."""
    kept = random.random(hours) > 0.01
    for start in random.integers(0, hours, random.integers(0, 4)):
        kept[start : start + random.integers(1, 5) * DAY_HOURS] = False
    kept[-1] = True
    return kept
