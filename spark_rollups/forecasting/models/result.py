"""The result of a forecast: levels, date of exhaustion and accuracy."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from spark_rollups.forecasting.models.candidates import Model
from spark_rollups.forecasting.models.daily_levels import Dropped

HORIZONS = (7, 30, 90)
QUANTILES = (0.1, 0.5, 0.9)


class Outlook(StrEnum):
    """The first that applies, from the most urgent on."""

    REACHED = "reached"  # the newest level is at the limit or above
    ACT = "act"  # even the low forecast reaches it within the horizon
    EXPECTED = "expected"  # the median forecast does
    WATCH = "watch"  # only the high forecast does
    NOT_BEFORE = "not before"  # none does
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Level:
    """The forecast for a day ahead: the QUANTILES."""

    days: int
    low: float
    median: float
    high: float


@dataclass(frozen=True, slots=True)
class Exhaustion:
    """When the limit is reached, in seconds since 1970. None: not within the horizon."""

    outlook: Outlook
    earliest: float | None = None
    median: float | None = None
    latest: float | None = None
    not_before: float | None = (
        None  # the end of the horizon, if the median does not reach the limit
    )
    reason: str = ""  # why it is unknown


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Backtest errors of the selected model and of predict_linear.

    Mean absolute errors over all origins and leads, scaled to 30 days, as shares of the newest
    level (of the mean level if that is 0).
    """

    origins: int
    longest_lead_days: int
    error: float
    predict_linear_error: float | None  # None: too few points
    predict_linear_days: int | None  # the best of its windows: 1, 7 or 28 days


@dataclass(frozen=True, slots=True)
class Forecast:
    """The forecast of one series. Without a model there are no levels; `reason` explains why."""

    exhaustion: Exhaustion
    dropped: Dropped
    observed_days: int
    as_of: float | None = None  # the newest point; horizons count from it
    level: float | None = None
    levels: tuple[Level, ...] = ()
    model: Model | None = None
    accuracy: Accuracy | None = None
    reason: str = ""
