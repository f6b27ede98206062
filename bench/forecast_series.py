"""Generated series of stream sizes with their future, for the forecast benchmark.

Eight kinds with weekly and daily season, spikes and gaps; a seed gives the same set everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Random = np.random.Generator

HOUR = 3600.0
DAY_HOURS = 24
AHEAD_DAYS = 90
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
    names = tuple(_KINDS)
    return [
        _series(names[number % len(names)], np.random.default_rng((seed, number)))
        for number in range(count)
    ]


def _series(kind: str, random: Random) -> Series:
    days = int(random.integers(60, 121))
    hours = (days + AHEAD_DAYS) * DAY_HOURS
    whole = _KINDS[kind](random, _rates(random, hours), days)
    scale = 10 ** random.uniform(3, 11) / float(np.median(whole[: days * DAY_HOURS]))
    past, future = np.split(whole * scale, [days * DAY_HOURS])
    times = (_START + HOUR * np.arange(len(past))).astype(np.float64)
    measured = _with_spikes(random, past)
    kept = _kept(random, len(past))
    factor = random.uniform(1.02, 1.5)
    highest = float(measured[-14 * DAY_HOURS :].max())
    return Series(
        kind, times[kept], measured[kept], factor * float(past[-1]), factor * highest, future
    )


# --- rates: data written in each hour -------------------------------------------------------------


def _rates(random: Random, hours: int) -> Floats:
    """Rates with a sum of about one per day, with weekly and daily season and noise."""
    hour = np.arange(hours)
    weekend = (hour // DAY_HOURS + random.integers(7)) % 7 >= 5
    weekly = np.where(weekend, random.uniform(0.2, 1.0), 1.0)
    daily = 1 + random.uniform(0, 0.8) * np.sin(2 * np.pi * hour / DAY_HOURS)
    restless = np.repeat(random.lognormal(0, random.uniform(0.05, 0.3), hours // DAY_HOURS), 24)
    rates = weekly * daily * restless * random.lognormal(0, 0.2, hours)
    return np.asarray(rates / rates.mean() / DAY_HOURS)


# --- the kinds: rates in, levels out --------------------------------------------------------------


def _growth(random: Random, rates: Floats, days: int) -> Floats:
    return _base(random, days) + np.cumsum(rates)


def _growth_with_purges(random: Random, rates: Floats, days: int) -> Floats:
    """Grows, with a partial purge every three to twelve weeks."""
    levels, level = np.empty(len(rates)), _base(random, days)
    purge = random.integers(10, 84) * DAY_HOURS
    for hour, rate in enumerate(rates):
        if hour == purge:
            level *= random.uniform(0.3, 0.9)
            purge += random.integers(21, 85) * DAY_HOURS
        level += rate
        levels[hour] = level
    return levels


def _saturated(random: Random, rates: Floats, days: int) -> Floats:
    """Saturates, like a set of keys."""
    pace = random.uniform(10, 60)
    return np.asarray(0.2 + 1 - np.exp(-np.cumsum(rates) / pace))


def _steady_by_retention(random: Random, rates: Floats, days: int) -> Floats:
    """The data written within max_age."""
    window = int(random.integers(2, 15)) * DAY_HOURS
    written = np.cumsum(np.concatenate([np.full(window, 1 / DAY_HOURS), rates]))
    return np.asarray(written[window:] - written[:-window])


def _sawtooth(random: Random, rates: Floats, days: int) -> Floats:
    """Purged by calendar or by size."""
    by_calendar, every = random.random() < 0.5, random.uniform(3, 20)
    floor, level, since = random.uniform(0.05, 1), 0.0, int(random.integers(0, 72))
    levels = np.empty(len(rates))
    for hour, rate in enumerate(rates):
        since += 1
        level += rate
        if (since >= round(every) * DAY_HOURS) if by_calendar else (level >= every):
            level, since = 0.0, 0
        levels[hour] = floor + level
    return levels


def _change_of_slope(random: Random, rates: Floats, days: int) -> Floats:
    """The load changes on one day; sometimes to zero."""
    change = (days - int(random.integers(5, 50))) * DAY_HOURS
    factor = np.where(np.arange(len(rates)) < change, 1.0, random.choice([0, 0.3, 0.5, 2, 3]))
    return _base(random, days) + np.cumsum(rates * factor)


def _exponential(random: Random, rates: Floats, days: int) -> Floats:
    """Doubles in two months to a year."""
    growth = random.uniform(0.002, 0.012)
    return np.asarray(np.exp(growth * np.cumsum(rates)))


def _random_walk(random: Random, rates: Floats, days: int) -> Floats:
    steps = random.normal(0, random.uniform(0.002, 0.02) / np.sqrt(DAY_HOURS), len(rates))
    return np.asarray(np.exp(np.cumsum(steps)))


_KINDS: dict[str, Callable[[Random, Floats, int], Floats]] = {
    "growth": _growth,
    "growth with purges": _growth_with_purges,
    "saturated": _saturated,
    "steady by retention": _steady_by_retention,
    "sawtooth": _sawtooth,
    "change of slope": _change_of_slope,
    "exponential": _exponential,
    "random walk": _random_walk,
}


def _base(random: Random, days: int) -> float:
    """The level on the first day."""
    return float(random.uniform(0.1, 2)) * days


# --- how it is measured ---------------------------------------------------------------------------


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
