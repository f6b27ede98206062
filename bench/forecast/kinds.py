"""The kinds of generated series: what is written each hour in, levels of a stream out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Random = np.random.Generator

DAY_HOURS = 24
AHEAD_DAYS = 90


def rates_of(random: Random, hours: int) -> Floats:
    """Rates with a sum of about one per day, with weekly and daily season and noise."""
    hour = np.arange(hours)
    weekend = (hour // DAY_HOURS + random.integers(7)) % 7 >= 5
    weekly = np.where(weekend, random.uniform(0.2, 1.0), 1.0)
    daily = 1 + random.uniform(0, 0.8) * np.sin(2 * np.pi * hour / DAY_HOURS)
    restless = np.repeat(random.lognormal(0, random.uniform(0.05, 0.3), hours // DAY_HOURS), 24)
    rates = weekly * daily * restless * random.lognormal(0, 0.2, hours)
    return np.asarray(rates / rates.mean() / DAY_HOURS)


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


def _bulk_loads(random: Random, rates: Floats, days: int) -> Floats:
    """Grows slowly, with a load of some days' growth once in a while."""
    loads = random.random(len(rates)) < 1 / (random.uniform(7, 40) * DAY_HOURS)
    return _base(random, days) + np.cumsum(
        rates + loads * random.lognormal(1.5, 0.5, len(rates)) * random.uniform(0.5, 2)
    )


def _saturating(random: Random, rates: Floats, days: int) -> Floats:
    """Saturates, like a set of keys."""
    pace = random.uniform(10, 60)
    return np.asarray(0.2 + 1 - np.exp(-np.cumsum(rates) / pace))


def _max_age(random: Random, rates: Floats, days: int) -> Floats:
    """The data written within max_age; the load wanders around its mean."""
    return _within(rates * _wander(random, len(rates)), int(random.integers(1, 15)) * DAY_HOURS)


def _max_age_of_more(random: Random, rates: Floats, days: int) -> Floats:
    """The same under a load that grows by 0.2 to 1.5 % of its first day each day."""
    more = 1 + random.uniform(0.002, 0.015) / DAY_HOURS * np.arange(len(rates))
    return _within(rates * more, int(random.integers(2, 15)) * DAY_HOURS)


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


def _sawtooth_by_retention(random: Random, rates: Floats, days: int) -> Floats:
    """Old data goes in whole pieces, whose age at that time varies."""
    piece, kept = random.uniform(1.5, 8), random.uniform(2, 10)
    written, gone = np.cumsum(rates * _wander(random, len(rates))) + kept, 0.0
    levels, due = np.empty(len(rates)), piece * random.uniform(0, 1)
    for hour, level in enumerate(written):
        if level - kept >= due:
            gone, due = level - kept, due + piece * random.uniform(0.6, 1.4)
        levels[hour] = level - gone
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


def _work_queue(random: Random, rates: Floats, days: int) -> Floats:
    """A backlog around a mean: what is written, less what consumers take in proportion to it."""
    taken = 1 / (random.uniform(1, 8) * DAY_HOURS)
    written = rates * _wander(random, len(rates))
    levels, level = np.empty(len(rates)), 1 / DAY_HOURS / taken
    for hour, rate in enumerate(written):
        level += rate - taken * level
        levels[hour] = level
    return levels


KINDS: dict[str, Callable[[Random, Floats, int], Floats]] = {
    "growth": _growth,
    "growth with purges": _growth_with_purges,
    "bulk loads": _bulk_loads,
    "saturating": _saturating,
    "max_age": _max_age,
    "max_age, load grows": _max_age_of_more,
    "sawtooth": _sawtooth,
    "sawtooth by retention": _sawtooth_by_retention,
    "change of slope": _change_of_slope,
    "exponential": _exponential,
    "random walk": _random_walk,
    "work queue": _work_queue,
}


def _base(random: Random, days: int) -> float:
    """The level on the first day."""
    return float(random.uniform(0.1, 2)) * days


def _within(rates: Floats, window: int) -> Floats:
    """The sum of the last `window` hours."""
    written = np.cumsum(np.concatenate([np.full(window, rates[:window].mean()), rates]))
    return np.asarray(written[window:] - written[:-window])


def _wander(random: Random, hours: int) -> Floats:
    """A factor around one that returns to it within days to weeks."""
    memory, spread = np.exp(-1 / random.uniform(2, 15)), random.uniform(0.05, 0.4)
    shocks = random.normal(0, spread * np.sqrt(1 - memory**2), hours // DAY_HOURS)
    value, values = random.normal(0, spread), np.empty(len(shocks))
    for day, shock in enumerate(shocks):
        value = memory * value + shock
        values[day] = value
    return np.repeat(np.exp(values - spread**2 / 2), DAY_HOURS)
