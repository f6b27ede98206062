"""Rolling backtest of the models on the history of a series.

At each origin the models see only the days up to it. Errors are divided by a power of the lead,
which makes those of different leads comparable.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spark_rollups.forecasting.models.candidates import MODELS, Model
from spark_rollups.forecasting.models.daily_levels import DAY, Days, Points
from spark_rollups.forecasting.models.known_history import History, history_of
from spark_rollups.forecasting.models.predict_linear import WINDOWS, predict_linear
from spark_rollups.forecasting.models.projected_path import GROWTH, Path, growth_of_error
from spark_rollups.forecasting.models.purge_cycle import cycle_of
from spark_rollups.forecasting.models.slope import last_change

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

ORIGINS = 12
ORIGIN_STEP_DAYS = 5
LONGEST_LEAD_DAYS = 30
LEAST_TRAINING_DAYS = 14
# One origin does not show the spread of errors.
LEAST_ORIGINS = 2
# The power of the lead for the choice of a model: long leads count more than with GROWTH.
_CHOICE = 0.5


@dataclass(frozen=True, slots=True)
class Origin:
    """A day of the history, the predictions made on it, and the actual levels after it."""

    day: int
    actual: Floats  # of days 1, 2, ... after it; NaN where missing
    peaks: Floats  # the highest so far of these days, without spikes
    foreseeable: Flags  # days before an unpredictable purge or change of growth
    unchanged: Flags  # days before a change of growth
    predictions: dict[Model, Path]  # of each model that fits


@dataclass(frozen=True, slots=True)
class Backtest:
    origins: tuple[Origin, ...]

    def models(self) -> tuple[Model, ...]:
        """Models that fit at enough origins."""
        return tuple(m for m in MODELS if self.times_fitting(m) >= LEAST_ORIGINS)

    def times_fitting(self, model: Model) -> int:
        return sum(model in origin.predictions for origin in self.origins)

    def best(self, among: Iterable[Model]) -> Model | None:
        """The model with the smallest error on foreseeable days; the simplest of equals."""
        models = [model for model in self.models() if model in among]
        return min(models, key=self._score, default=None)

    def error(self, model: Model) -> float:
        """The mean absolute error over all days, scaled by lead."""
        return mean_error(
            scaled(origin.actual - path.levels.values) for origin, path in self._paths(model)
        )

    def level_errors(self, model: Model) -> list[Floats]:
        """By origin, scaled by the spread of the path, before growth changed."""
        return _known([(p.levels.errors(o.actual), o.unchanged) for o, p in self._paths(model)])

    def peak_errors(self, model: Model) -> list[Floats]:
        return _known([(p.peaks.errors(o.peaks), o.unchanged) for o, p in self._paths(model)])

    def _paths(self, model: Model) -> Iterator[tuple[Origin, Path]]:
        return ((o, o.predictions[model]) for o in self.origins if model in o.predictions)

    def _score(self, model: Model) -> float:
        score = mean_error(
            scaled(origin.actual - path.levels.values, _CHOICE)[origin.foreseeable]
            for origin, path in self._paths(model)
        )
        # With a purge right after each origin no day is foreseeable: then all days count.
        return self.error(model) if np.isnan(score) else score


def backtest(days: Days, history: History) -> Backtest:
    """`history` is that of the newest day: it has the purges and changes after the origins."""
    purges = history.purges if cycle_of(history) is None else history.purges[:0]
    change, tops = _change(history), history.tops
    return Backtest(
        tuple(_origin(days, tops, day, purges, change) for day in origins_of(days.closes))
    )


def _change(history: History) -> NDArray[np.intp]:
    """The index of the last change of growth, if any; exponential growth is no change."""
    kept = np.flatnonzero(history.growing)
    place = last_change(history.increments[kept])
    if (
        place
        and history.levels.min() > 0
        and not last_change(np.diff(np.log(history.levels))[kept])
    ):
        place = 0
    return kept[place : place + 1] if place else kept[:0]


def origins_of(closes: Floats) -> list[int]:
    """Days with a level, in steps back from the newest."""
    seen = np.flatnonzero(~np.isnan(closes))
    newest = len(closes) - 1
    found: list[int] = []
    for step in range(1, ORIGINS + 1):
        known = seen[seen <= newest - step * ORIGIN_STEP_DAYS]
        if len(known) >= LEAST_TRAINING_DAYS and int(known[-1]) not in found:
            found.append(int(known[-1]))
    return found


def _origin(
    days: Days, tops: Floats, day: int, purges: NDArray[np.intp], change: NDArray[np.intp]
) -> Origin:
    after = slice(day + 1, day + 1 + LONGEST_LEAD_DAYS)
    actual, peaks = days.closes[after], np.maximum.accumulate(tops[after])
    known = history_of(days.closes[: day + 1], days.highs[: day + 1])
    paths = {model: draw(known, len(actual)) for model, draw in MODELS.items()}
    predictions = {model: path for model, path in paths.items() if path is not None}
    # increments[day] is the step from that day to the next, its first lead.
    unpurged, unchanged = (_before(each, day, len(actual)) for each in (purges, change))
    return Origin(day, actual, peaks, unpurged & unchanged, unchanged, predictions)


def _before(events: NDArray[np.intp], day: int, leads: int) -> Flags:
    """The leads before the first event after a day."""
    ahead = events[events >= day]
    return np.arange(leads) < (int(ahead[0]) - day if len(ahead) else leads)


def predict_linear_errors(
    points: Points, days: Days, origins: Iterable[Origin]
) -> dict[int, float]:
    """The mean error of predict_linear by window, at the same origins."""
    errors: dict[int, list[Floats]] = {window: [] for window in WINDOWS}
    for origin in origins:
        at = days.end - (len(days.closes) - 1 - origin.day) * DAY
        leads = np.arange(1.0, len(origin.actual) + 1)
        for window in WINDOWS:
            predictions = predict_linear(points, at, window, leads)
            if predictions is not None:
                errors[window].append(scaled(origin.actual - predictions))
    return {window: mean_error(found) for window, found in errors.items() if found}


def scaled(errors: Floats, power: float = GROWTH) -> Floats:
    """Scales errors of leads 1, 2, ... to lead 1."""
    return np.asarray(errors / growth_of_error(len(errors), power))


def mean_error(errors: Iterable[Floats]) -> float:
    """The mean absolute error of all known days; NaN without one."""
    known = np.concatenate(list(errors))
    known = known[~np.isnan(known)]
    return float(np.abs(known).mean()) if len(known) else float("nan")


def _known(errors: list[tuple[Floats, Flags]]) -> list[Floats]:
    """By origin, those before a change of growth; all where too few origins have such."""
    before = _not_missing([each[unchanged] for each, unchanged in errors])
    return before if len(before) >= LEAST_ORIGINS else _not_missing([each for each, _ in errors])


def _not_missing(errors: list[Floats]) -> list[Floats]:
    return [kept for each in errors if len(kept := each[~np.isnan(each)])]
