"""The month of each consumer: lag, redelivery, loss and time by state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
from numpy.typing import NDArray

from exporter import catalog as c
from exporter.metric import Metric
from spark_rollups.report.facts.arithmetic import divided, total
from spark_rollups.report.facts.assets import Assets, Mask, Statistic, rows_between
from spark_rollups.report.facts.monthly_facts import Facts
from spark_rollups.report.facts.source import (
    Floats,
    slices,
)

HEALTHY = ("ok", "idle", "paused", "busy with long jobs")  # verdicts that need no action

_CAUSES = ("", "acked too late", "nak", "no ack", "few messages in a loop")


@dataclass(frozen=True, slots=True)
class ConsumerMonth:
    """Arrays with one entry per consumer."""

    lag: Floats
    lag_before: Floats
    lag_day: list[date | None]
    redelivery: Floats  # share of the deliveries
    redelivery_before: Floats
    deliveries: Floats
    lost: Floats
    lost_before: Floats
    verdicts: NDArray[np.float64]  # seconds; one column per verdict
    verdicts_before: NDArray[np.float64]
    causes: NDArray[np.float64]

    @property
    def not_well(self) -> Floats:
        return not_well(self.verdicts)


def consumer_month(facts: Facts) -> ConsumerMonth:
    now, before = facts.consumers.now, facts.consumers.before
    lag = now.column(c.CONSUMER_LAG_SECONDS, Statistic.MAX)
    return ConsumerMonth(
        lag=lag,
        lag_before=before.column(c.CONSUMER_LAG_SECONDS, Statistic.MAX),
        lag_day=_day_of(facts, now, c.CONSUMER_LAG_SECONDS, lag),
        redelivery=redelivery(now),
        redelivery_before=redelivery(before),
        deliveries=now.column(c.CONSUMER_DELIVERIES, Statistic.INCREASE),
        lost=now.column(c.CONSUMER_LOST_MESSAGES, Statistic.INCREASE),
        lost_before=before.column(c.CONSUMER_LOST_MESSAGES, Statistic.INCREASE),
        verdicts=seconds_in(facts, now, c.CONSUMER_VERDICT, len(c.VERDICTS), facts.days),
        verdicts_before=seconds_in(
            facts, before, c.CONSUMER_VERDICT, len(c.VERDICTS), facts.days_before
        ),
        causes=seconds_in(facts, now, c.CONSUMER_REDELIVERY_CAUSE, len(_CAUSES), facts.days),
    )


def redelivery(assets: Assets) -> Floats:
    """Redeliveries per delivery; NaN without deliveries."""
    again = assets.column(c.CONSUMER_REDELIVERIES, Statistic.INCREASE)
    return divided(again, assets.column(c.CONSUMER_DELIVERIES, Statistic.INCREASE))


def seconds_in(
    facts: Facts, assets: Assets, metric: Metric, states: int, days: Sequence[date]
) -> NDArray[np.float64]:
    """Seconds in each state; a row of zeros where nothing is known."""
    result = np.zeros((len(assets), states))
    for first, last in slices(days):
        table = rows_between(
            facts.source, assets, metric, first, last, ("value", "seconds"), "states"
        )
        indexes = assets.indexes(table)
        values = table["value"].to_numpy()
        seconds = table["seconds"].to_numpy()
        valid = (indexes >= 0) & (values >= 0) & (values < states)
        np.add.at(result, (indexes[valid], values[valid].astype(int)), seconds[valid])
    return result


def shares_of(seconds: NDArray[np.float64]) -> NDArray[np.float64]:
    """NaN where nothing is known."""
    whole = seconds.sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        shares: NDArray[np.float64] = np.where(whole > 0, seconds / whole, np.nan)
    return shares


def not_well(seconds: NDArray[np.float64]) -> Floats:
    bad = [index for index, verdict in enumerate(c.VERDICTS) if verdict not in HEALTHY]
    found: Floats = shares_of(seconds)[:, bad].sum(axis=1)
    return found


def worst_state(seconds: NDArray[np.float64]) -> list[str | None]:
    """The state other than HEALTHY that lasted longest; "" if there was none."""
    bad = [index for index, verdict in enumerate(c.VERDICTS) if verdict not in HEALTHY]
    return [
        None if not row.any() else c.VERDICTS[bad[int(row[bad].argmax())]] if row[bad].any() else ""
        for row in seconds
    ]


def main_cause(seconds: NDArray[np.float64]) -> list[str | None]:
    return [_CAUSES[int(row.argmax())] if row.any() else None for row in seconds]


def _day_of(facts: Facts, assets: Assets, metric: Metric, peak: Floats) -> list[date | None]:
    """The first day on which the month's peak was reached."""
    found: list[date | None] = [None] * len(assets)
    for first, last in slices(facts.days):
        table = rows_between(facts.source, assets, metric, first, last, ("day", "max"))
        indexes = assets.indexes(table)
        highs = pc.fill_null(table["max"], float("nan")).to_numpy()
        at_peak = np.flatnonzero((indexes >= 0) & (highs == peak[indexes]) & (highs > 0))
        days = table["day"].take(pa.array(at_peak)).to_pylist()
        for index, day in zip(indexes[at_peak].tolist(), days, strict=True):
            found[index] = min(filter(None, (found[index], day)))
    return found


def usual_p95(facts: Facts, assets: Assets, metric: Metric) -> Floats:
    """The median over the days of each day's 95th percentile."""
    indexes, values = [np.empty(0, int)], [np.empty(0)]
    for first, last in slices(facts.days):
        table = rows_between(facts.source, assets, metric, first, last, ("p95",), "quantiles")
        indexes.append(assets.indexes(table))
        values.append(pc.fill_null(table["p95"], float("nan")).to_numpy())
    found = pa.table({"place": np.concatenate(indexes), "p95": np.concatenate(values)})
    medians = found.group_by("place").aggregate([("p95", "approximate_median")])
    result = np.full(len(assets), np.nan)
    at = medians["place"].to_numpy()
    result[at[at >= 0]] = medians["p95_approximate_median"].to_numpy()[at >= 0]
    return result


def with_abandoned_messages(facts: Facts) -> Mask:
    """Consumers with abandoned messages, in the stream or reported by an advisory."""
    now = facts.consumers.now
    peak = now.column(c.CONSUMER_EXHAUSTED_MESSAGES, Statistic.MAX)
    exhausted = now.column(c.CONSUMER_EXHAUSTED, Statistic.INCREASE)
    found: Mask = (np.nan_to_num(peak) > 0) | (np.nan_to_num(exhausted) > 0)
    return found


def redelivered(assets: Assets) -> float | None:
    again = total(assets.column(c.CONSUMER_REDELIVERIES, Statistic.INCREASE))
    whole = total(assets.column(c.CONSUMER_DELIVERIES, Statistic.INCREASE))
    return again / whole if again is not None and whole else None


def share_not_well(seconds: Floats) -> float | None:
    """Share of the time of all consumers in states other than HEALTHY."""
    whole = float(seconds.sum())
    bad = [index for index, verdict in enumerate(c.VERDICTS) if verdict not in HEALTHY]
    return float(seconds[:, bad].sum()) / whole if whole else None
