"""What a forecast says: levels ahead, the date of exhaustion, and how far it can be trusted."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from spark_rollups.forecasting.models.candidates import Model
from spark_rollups.forecasting.models.daily_levels import Dropped

HORIZONS = (7, 30, 90)
QUANTILES = (0.1, 0.5, 0.9)


class Outlook(StrEnum):
    """The first that holds, from the most urgent on."""

    REACHED = "reached"  # the newest level is at the limit or above
    ACT = "act"  # even the low level reaches it within the horizon
    EXPECTED = "expected"  # the middle one does
    WATCH = "watch"  # only the high one does
    NOT_BEFORE = "not before"  # none does
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Level:
    """The level at the end of a day ahead. A low, a middle and a high one: QUANTILES."""

    days: int
    low: float
    median: float
    high: float


@dataclass(frozen=True, slots=True)
class Exhaustion:
    """When the limit is reached, in seconds since 1970. None: not before the horizon's end."""

    outlook: Outlook
    earliest: float | None = None
    median: float | None = None
    latest: float | None = None
    not_before: float | None = (
        None  # the horizon's end, where the level is not expected to reach it
    )
    reason: str = ""  # of an unknown one


@dataclass(frozen=True, slots=True)
class Accuracy:
    """How the chosen model and predict_linear did on the series' own past.

    Errors are mean absolute ones over all origins and leads, expressed at 30 days, as shares of
    the newest level (of the mean level where that is 0).
    """

    origins: int
    longest_lead_days: int
    error: float
    predict_linear_error: float | None  # None: too few points for it
    predict_linear_days: int | None  # the best of its windows: 1, 7 or 28 days


@dataclass(frozen=True, slots=True)
class Forecast:
    """Of one series. Without a model there are no levels, and `reason` says why."""

    exhaustion: Exhaustion
    dropped: Dropped
    observed_days: int
    as_of: float | None = None  # the newest point; horizons count from it
    level: float | None = None
    levels: tuple[Level, ...] = ()
    model: Model | None = None
    accuracy: Accuracy | None = None
    reason: str = ""
