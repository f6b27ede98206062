"""The month of each consumer (lag, redelivery, loss, states), and its state at the end of the data."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exporter import catalog as c
from spark_rollups.report import formatting as fmt
from spark_rollups.report.facts.assets import (
    Assets,
    Floats,
    Mask,
    Name,
    Source,
    divided,
    limit_of,
    total,
)
from spark_rollups.report.facts.monthly_facts import ACK_BUCKET, Facts
from spark_rollups.report.facts.reading import DayRows
from spark_rollups.report.month import Progress, silent

HEALTHY = ("ok", "idle", "paused", "busy with long jobs")  # verdicts that need no action
_NOT_WELL = [number for number, verdict in enumerate(c.VERDICTS) if verdict not in HEALTHY]

_CAUSES = ("", "acked too late", "nak", "no ack", "few messages in a loop")
_STATES = {c.CONSUMER_VERDICT.name: len(c.VERDICTS), c.CONSUMER_REDELIVERY_CAUSE.name: len(_CAUSES)}


@dataclass(frozen=True, slots=True)
class ConditionTime:
    """How long a condition of a consumer held in the month."""

    consumer: int
    condition: str
    seconds: float
    share: float  # of the time in which the consumer was watched; NaN if that is unknown


@dataclass(frozen=True, slots=True)
class ConsumerMonth:
    """Arrays with one entry per consumer."""

    lag: Floats
    lag_before: Floats
    lag_day: list[date | None]
    lag_usual: Floats  # the median over the days of each day's 95th percentile
    redelivery: Floats  # share of the deliveries
    redelivery_before: Floats
    deliveries: Floats
    lost: Floats
    lost_before: Floats
    verdicts: NDArray[np.float64]  # seconds; one column per verdict
    verdicts_before: NDArray[np.float64]
    causes: NDArray[np.float64]
    conditions: list[ConditionTime]

    @property
    def not_well(self) -> Floats:
        return not_well(self.verdicts)


def consumer_month(facts: Facts, progress: Progress = silent) -> ConsumerMonth:
    now, before = facts.consumers.now, facts.consumers.before
    progress(f"reading states of {fmt.plural(len(now), 'consumer')}")
    states = seconds_by_state(facts.source, now, facts.days, _STATES)
    states_before = seconds_by_state(
        facts.source, now, facts.days_before, {c.CONSUMER_VERDICT.name: len(c.VERDICTS)}
    )
    progress("reading conditions")
    conditions = _conditions(facts, states[c.CONSUMER_VERDICT.name].sum(axis=1))
    progress("reading quantiles")
    return ConsumerMonth(
        lag=now.highest(c.CONSUMER_LAG_SECONDS),
        lag_before=before.highest(c.CONSUMER_LAG_SECONDS),
        lag_day=_day_of_peak(facts, now.daily(c.CONSUMER_LAG_SECONDS, "max")),
        lag_usual=_usual_lag(facts),
        redelivery=redelivery(now),
        redelivery_before=redelivery(before),
        deliveries=now.increase(c.CONSUMER_DELIVERIES),
        lost=now.increase(c.CONSUMER_LOST_MESSAGES),
        lost_before=before.increase(c.CONSUMER_LOST_MESSAGES),
        verdicts=states[c.CONSUMER_VERDICT.name],
        verdicts_before=states_before[c.CONSUMER_VERDICT.name],
        causes=states[c.CONSUMER_REDELIVERY_CAUSE.name],
        conditions=conditions,
    )


def redelivery(assets: Assets) -> Floats:
    """Redeliveries per delivery; NaN without deliveries."""
    again = assets.increase(c.CONSUMER_REDELIVERIES)
    return divided(again, assets.increase(c.CONSUMER_DELIVERIES))


def seconds_by_state(
    source: Source, assets: Assets, days: Sequence[date], states: Mapping[str, int]
) -> dict[str, NDArray[np.float64]]:
    """By metric, the seconds in each state; a row of zeros where nothing is known."""
    result = {name: np.zeros((len(assets), number)) for name, number in states.items()}
    columns = ["metric", *assets.labels, "value", "seconds"]
    for day in days:
        table = source.table("states", day, day, columns, list(states), encoded=True)
        part = DayRows(table, ())
        for name, number in states.items():
            rows = part.metrics_of({name: 0})[1]
            at, values = part.positions(rows, assets), part.number("value")[rows]
            valid = (at >= 0) & (values >= 0) & (values < number)
            np.add.at(
                result[name],
                (at[valid], values[valid].astype(int)),
                part.number("seconds")[rows][valid],
            )
    return result


def _conditions(facts: Facts, watched: Floats) -> list[ConditionTime]:
    """Longest first. Watched is the time with a verdict, else the known time of the rows."""
    now, held, known = facts.consumers.now, Counter[Name](), Counter[Name]()
    columns = ["metric", *now.labels, "labels", "seconds", "known_seconds"]
    metric = [c.CONSUMER_CONDITION_START_TIMESTAMP_SECONDS.name]
    for day in facts.days:
        part = DayRows(facts.source.table("states", day, day, columns, metric, encoded=True), ())
        rows = np.arange(len(part))
        codes, names = part.names(rows, (*now.labels, "condition"))
        for times, column in ((held, "seconds"), (known, "known_seconds")):
            sums = np.bincount(codes, np.nan_to_num(part.number(column)), len(names))
            times.update(dict(zip(names, sums.tolist(), strict=True)))
    found = []
    for name, seconds in held.items():
        index = now.position(name[:-1])
        if index is not None:
            whole = float(watched[index]) or known[name]
            share = min(seconds / whole, 1.0) if whole else math.nan
            found.append(ConditionTime(index, name[-1].replace("_", " "), seconds, share))
    return sorted(found, key=lambda each: (-each.seconds, each.consumer, each.condition))


def shares_of(seconds: NDArray[np.float64]) -> NDArray[np.float64]:
    """NaN where nothing is known."""
    return divided(seconds, seconds.sum(axis=1, keepdims=True))


def not_well(seconds: NDArray[np.float64]) -> Floats:
    found: Floats = shares_of(seconds)[:, _NOT_WELL].sum(axis=1)
    return found


def worst_state(seconds: NDArray[np.float64]) -> list[str | None]:
    """The state other than HEALTHY that lasted longest; "" if there was none."""
    bad = seconds[:, _NOT_WELL]
    names = np.array([c.VERDICTS[number] for number in _NOT_WELL])[bad.argmax(axis=1)]
    return _if_known(seconds, np.where(bad.any(axis=1), names, ""))


def main_cause(seconds: NDArray[np.float64]) -> list[str | None]:
    return _if_known(seconds, np.array(_CAUSES)[seconds.argmax(axis=1)])


def _if_known(seconds: NDArray[np.float64], names: Any) -> list[str | None]:
    known: list[bool] = np.asarray(seconds.any(axis=1)).tolist()
    return [name if there else None for name, there in zip(names.tolist(), known, strict=True)]


def _day_of_peak(facts: Facts, levels: NDArray[np.float64]) -> list[date | None]:
    """The first day on which the month's peak was reached."""
    known = np.nan_to_num(levels, nan=0.0)
    if not known.size:
        return [None] * len(levels)
    peaks, days = (known.max(axis=1) > 0).tolist(), known.argmax(axis=1).tolist()
    return [facts.days[day] if peak else None for peak, day in zip(peaks, days, strict=True)]


def _usual_lag(facts: Facts) -> Floats:
    now, metric = facts.consumers.now, c.CONSUMER_LAG_SECONDS.name
    levels = np.full((len(now), len(facts.days)), np.nan)
    columns = ["metric", *now.labels, "p95"]
    for number, day in enumerate(facts.days):
        table = facts.source.table("quantiles", day, day, columns, [metric], encoded=True)
        part = DayRows(table, ())
        at = part.positions(np.arange(len(table)), now)
        levels[at[at >= 0], number] = part.number("p95")[at >= 0]
    result = np.full(len(now), np.nan)
    known = ~np.isnan(levels).all(axis=1)
    result[known] = np.nanmedian(levels[known], axis=1)
    return result


def with_abandoned_messages(facts: Facts) -> Mask:
    """Consumers with abandoned messages, in the stream or reported by an advisory."""
    now = facts.consumers.now
    peak = now.highest(c.CONSUMER_EXHAUSTED_MESSAGES)
    exhausted = now.increase(c.CONSUMER_EXHAUSTED)
    found: Mask = (np.nan_to_num(peak) > 0) | (np.nan_to_num(exhausted) > 0)
    return found


def redelivered(assets: Assets) -> float | None:
    again = total(assets.increase(c.CONSUMER_REDELIVERIES))
    whole = total(assets.increase(c.CONSUMER_DELIVERIES))
    return again / whole if again is not None and whole else None


def share_not_well(seconds: Floats) -> float | None:
    """Share of the time of all consumers in states other than HEALTHY."""
    whole = float(seconds.sum())
    return float(seconds[:, _NOT_WELL].sum()) / whole if whole else None


STUCK = ("no worker pulls / not bound", "ack-pending full", "ack floor stuck", "stalled",
         "losing messages", "no leader")  # fmt: skip
LONG_LAG = 3600.0  # seconds; a longer lag that grows cannot wait
_LOOK_BACK = timedelta(days=3)


@dataclass(frozen=True, slots=True)
class CurrentState:
    """Arrays with one entry per consumer."""

    verdict: list[str]  # "" if unknown
    lag: Floats
    growing: Mask  # the lag is long and was longer each day
    losing: Mask  # messages were lost on the newest day or the day before
    last_loss: list[date | None]  # the newest day of the month with a loss

    @property
    def needs_work(self) -> Mask:
        """What cannot wait, and what is wrong with a long or an unknown lag."""
        found = [
            self.is_urgent(index) or (self.is_bad(index) and not self.lag[index] < LONG_LAG)
            for index in range(len(self.verdict))
        ]
        return np.array(found, bool)

    def is_urgent(self, index: int) -> bool:
        return bool(self.losing[index] or self.growing[index]) or self.verdict[index] in STUCK

    def is_bad(self, index: int) -> bool:
        return self.verdict[index] not in ("", *HEALTHY)

    def urgency(self, index: int) -> float:
        """Loss first, then the longest lag, then losses that are over."""
        if self.losing[index]:
            return math.inf
        return float(np.nan_to_num(self.lag[index])) if self.is_urgent(index) else -1.0

    def text(self, index: int) -> str:
        """What is true at the end; "" if nothing is wrong."""
        parts = []
        if self.losing[index]:
            parts.append("it is losing messages")
        verdict = self.verdict[index]
        if verdict and verdict not in HEALTHY and not (verdict == "losing messages" and parts):
            parts.append(verdict)
        if self.growing[index]:
            parts.append("its lag is still growing")
        return ", ".join(parts)


def current_state(facts: Facts) -> CurrentState:
    now = facts.consumers.now
    values = now.at_end(c.CONSUMER_VERDICT)
    verdict = [
        c.VERDICTS[int(value)] if 0 <= value < len(c.VERDICTS) else "" for value in values.tolist()
    ]
    lag = now.at_end(c.CONSUMER_LAG_SECONDS)
    recent = np.array([day > facts.as_of - _LOOK_BACK for day in facts.days])
    lags = now.daily(c.CONSUMER_LAG_SECONDS, "last")[:, recent]
    growing = np.array([_rises(levels) for levels in lags], bool) & (lag >= LONG_LAG)
    lost = now.daily(c.CONSUMER_LOST_MESSAGES, "increase") > 0
    newest = np.where(lost.any(axis=1), lost.shape[1] - 1 - lost[:, ::-1].argmax(axis=1), -1)
    last_loss = [facts.days[day] if day >= 0 else None for day in newest.tolist()]
    losing = np.asarray(lost[:, recent][:, -2:].any(axis=1))
    return CurrentState(verdict, lag, growing, losing, last_loss)


def _rises(levels: Floats) -> bool:
    """On each of the days with a value."""
    known = levels[~np.isnan(levels)]
    return len(known) > 1 and bool((np.diff(known) > 0).all())


# --- limits against what the month used ---------------------------------------------------------

_SLOW = 0.99  # the quantile of slow acknowledgements
UNUSED_RATIO = 0.2  # a reservation used less than this is too large
LOOSE_FACTOR = 10  # a limit this many times above the peak protects from nothing
LOOSE_LEAST = 1000  # smaller limits do no harm


@dataclass(frozen=True, slots=True)
class Sizing:
    """Arrays with one entry per consumer."""

    peak: Floats  # most unacknowledged
    limit: Floats  # max_ack_pending; infinity when there is none
    used: Floats  # the peak as a share of the limit
    slow_ack: Floats  # seconds; infinity: beyond the largest bucket
    ack_wait: Floats
    ack_share: Floats
    wasted: Floats  # deliveries that were repeated


def sizing_of(facts: Facts) -> Sizing:
    now = facts.consumers.now
    peak = now.highest(c.CONSUMER_NUM_ACK_PENDING)
    limit = limit_of(now.last(c.CONSUMER_MAX_ACK_PENDING), peak)
    slow, wait = _slow_acks(facts), now.last(c.CONSUMER_ACK_WAIT_SECONDS)
    return Sizing(
        peak=peak,
        limit=limit,
        used=divided(peak, np.where(np.isinf(limit), np.nan, limit)),
        slow_ack=slow,
        ack_wait=wait,
        ack_share=divided(slow, wait),
        wasted=now.increase(c.CONSUMER_REDELIVERIES),
    )


def _slow_acks(facts: Facts) -> Floats:
    """The 99th percentile of the time to ack; NaN without ack samples."""
    now, found = facts.consumers.now, facts.others["ack_times"].now
    result = np.full(len(now), np.nan)
    counts = np.nan_to_num(found.increase(ACK_BUCKET)).tolist()
    buckets: dict[int, list[tuple[float, float]]] = {}
    for name, count in zip(found.names, counts, strict=True):
        index = now.position(name[:-1])
        if index is not None:
            buckets.setdefault(index, []).append((float(name[-1]), count))
    for index, pairs in buckets.items():
        bounds, numbers = np.array(sorted(pairs)).T
        result[index] = quantile(bounds, numbers, _SLOW)
    return result


def quantile(bounds: Floats, counts: Floats, share: float) -> float:
    """Like histogram_quantile, from cumulative counts by ascending bound.

    Infinity if the quantile lies above the largest finite bound.
    """
    if not len(bounds) or not math.isinf(bounds[-1]) or counts[-1] <= 0:
        return math.nan
    rank = share * counts[-1]
    index = int(np.searchsorted(counts, rank))
    if math.isinf(bounds[index]):
        return math.inf
    low, below = (bounds[index - 1], counts[index - 1]) if index else (0.0, 0.0)
    inside = counts[index] - below
    return float(low + (bounds[index] - low) * ((rank - below) / inside if inside else 1.0))


def reserved_unused(facts: Facts) -> tuple[Floats, Floats]:
    """The limit of each stream in bytes, and the largest share used in the month."""
    now = facts.streams.now
    limit = now.limit(c.STREAM_MAX_BYTES, c.STREAM_BYTES)
    return limit, divided(now.highest(c.STREAM_BYTES), limit)
