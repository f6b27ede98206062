"""The columns of each kind of asset: columns.toml has those that are read, this module those made of others.

A column of both months is computed once, when it is first asked for.
"""

from __future__ import annotations

import math
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from alerts import thresholds as t
from exporter import catalog as c
from spark_rollups.report.facts.assets import Assets, Floats, Name, divided
from spark_rollups.report.facts.reading import DayRows, Kind

if TYPE_CHECKING:
    from spark_rollups.report.facts.monthly_facts import Facts

HEALTHY = ("ok", "idle", "paused", "busy with long jobs")  # verdicts that need no action
_NOT_WELL = [number for number, verdict in enumerate(c.VERDICTS) if verdict not in HEALTHY]
_CAUSES = ("", "acked too late", "nak", "no ack", "few messages in a loop")
_STATES = {c.CONSUMER_VERDICT.name: len(c.VERDICTS), c.CONSUMER_REDELIVERY_CAUSE.name: len(_CAUSES)}
_SLOW = 0.99  # the quantile of slow acknowledgements
_SAME_START = 60.0  # the start time is corrected by the clock offset and varies by seconds
_METRICS = {metric.name: metric for metric in c.ALL}
_OF_COLUMNS: Mapping[str, Callable[[Floats, Floats], Floats]] = {
    "share": divided,
    # Infinity where an asset was seen and has no limit.
    "bounded": lambda limit, seen: np.where(np.isnan(limit) & ~np.isnan(seen), np.inf, limit),
}


# --- columns.toml ---------------------------------------------------------------------------------


def _kinds() -> dict[str, Kind]:
    text = files(__package__).joinpath("columns.toml").read_text(encoding="utf-8")
    return {name: _kind(**texts) for name, texts in tomllib.loads(text).items()}


def _kind(labels: list[str], columns: dict[str, str], extra: Name = (), history: Name = ()) -> Kind:
    words = {name: spec.split() for name, spec in columns.items()}
    daily = {name: (_metric(of[2]), of[1]) for name, of in words.items() if of[0] == "daily"}
    metrics = dict.fromkeys(
        _metric(name)
        for how, *of in words.values()
        if how not in _OF_COLUMNS
        for name in (of[1:] if how == "daily" else of)
    )
    return Kind(
        tuple(labels), [*metrics], tuple(extra), [*dict.fromkeys(daily.values())],
        [daily[name] for name in history], {name: _column(*of) for name, of in words.items()},
    )  # fmt: skip


def _metric(name: str) -> Any:
    full = f"streamgauge_{name}"
    return full if name.endswith("_bucket") else _METRICS[full]


def _column(how: str, *of: str) -> Callable[[Assets], Any]:
    if how in _OF_COLUMNS:
        return lambda month: _OF_COLUMNS[how](*(month[name] for name in of))
    if how == "daily":
        return lambda month: month.daily(_metric(of[1]), of[0])
    return lambda month: getattr(month, how)(*map(_metric, of))


KINDS = _kinds()
# --- states of consumers --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ConditionTime:
    """How long a condition of a consumer held in the month."""

    consumer: int
    condition: str
    seconds: float
    share: float  # of the time in which the consumer was watched; NaN if that is unknown


def _states(facts: Facts, month: Assets) -> dict[str, NDArray[np.float64]]:
    """By metric, the seconds in each state; a row of zeros where nothing is known."""
    result = {name: np.zeros((len(month), number)) for name, number in _STATES.items()}
    columns = ["metric", *month.labels, "value", "seconds"]
    for day in month.days:
        table = facts.source.table("states", day, day, columns, list(_STATES), encoded=True)
        part = DayRows(table, ())
        for name, number in _STATES.items():
            rows = part.metrics_of({name: 0})[1]
            at, values = part.positions(rows, month), part.number("value")[rows]
            valid = (at >= 0) & (values >= 0) & (values < number)
            where = (at[valid], values[valid].astype(int))
            np.add.at(result[name], where, part.number("seconds")[rows][valid])
    return result


def _conditions(facts: Facts, month: Assets) -> list[ConditionTime]:
    """Longest first. Watched is the time with a verdict, else the known time of the rows."""
    watched, held, known = month["verdicts"].sum(axis=1), Counter[Name](), Counter[Name]()
    columns = ["metric", *month.labels, "labels", "seconds", "known_seconds"]
    metric = [c.CONSUMER_CONDITION_START_TIMESTAMP_SECONDS.name]
    for day in month.days:
        part = DayRows(facts.source.table("states", day, day, columns, metric, encoded=True), ())
        codes, names = part.names(np.arange(len(part)), (*month.labels, "condition"))
        for times, column in ((held, "seconds"), (known, "known_seconds")):
            sums = np.bincount(codes, np.nan_to_num(part.number(column)), len(names))
            times.update(dict(zip(names, sums.tolist(), strict=True)))
    found = []
    for name, seconds in held.items():
        index = month.position(name[:-1])
        if index is not None:
            whole = float(watched[index]) or known[name]
            share = min(seconds / whole, 1.0) if whole else math.nan
            found.append(ConditionTime(index, name[-1].replace("_", " "), seconds, share))
    return sorted(found, key=lambda each: (-each.seconds, each.consumer, each.condition))


def _worst_state(_: Facts, month: Assets) -> list[str | None]:
    """The state other than HEALTHY that lasted longest; "" if there was none."""
    bad = month["verdicts"][:, _NOT_WELL]
    names = np.array([c.VERDICTS[number] for number in _NOT_WELL])[bad.argmax(axis=1)]
    return _if_known(month["verdicts"], np.where(bad.any(axis=1), names, ""))


def _if_known(seconds: NDArray[np.float64], names: Any) -> list[str | None]:
    known: list[bool] = np.asarray(seconds.any(axis=1)).tolist()
    return [name if there else None for name, there in zip(names.tolist(), known, strict=True)]


def share_not_well(seconds: Floats) -> float | None:
    """Share of the time of all consumers in states other than HEALTHY."""
    whole = float(seconds.sum())
    return float(seconds[:, _NOT_WELL].sum()) / whole if whole else None


# --- other columns of consumers -------------------------------------------------------------------


def _day_of_peak(_: Facts, month: Assets) -> list[date | None]:
    """The first day on which the month's peak was reached."""
    known = np.nan_to_num(month["lag_by_day"], nan=0.0)
    if not known.size:
        return [None] * len(month)
    peaks, days = (known.max(axis=1) > 0).tolist(), known.argmax(axis=1).tolist()
    return [month.days[day] if peak else None for peak, day in zip(peaks, days, strict=True)]


def _usual_lag(facts: Facts, month: Assets) -> Floats:
    """The median over the days of each day's 95th percentile."""
    levels = np.full((len(month), len(month.days)), np.nan)
    columns, metric = ["metric", *month.labels, "p95"], [c.CONSUMER_LAG_SECONDS.name]
    for number, day in enumerate(month.days):
        part = DayRows(facts.source.table("quantiles", day, day, columns, metric, encoded=True), ())
        at = part.positions(np.arange(len(part)), month)
        levels[at[at >= 0], number] = part.number("p95")[at >= 0]
    result = np.full(len(month), np.nan)
    known = ~np.isnan(levels).all(axis=1)
    result[known] = np.nanmedian(levels[known], axis=1)
    return result


def _headroom_least(_: Facts, month: Assets) -> Floats:
    """Of the share of max_bytes or max_msgs, and of max_age: headroom plus lag."""
    seconds = month["headroom_seconds"]
    with np.errstate(invalid="ignore", divide="ignore"):
        least: Floats = np.fmin(month["headroom_ratio"], seconds / (seconds + month["lag_seconds"]))
    return least


def _abandoned(_: Facts, month: Assets) -> Floats:
    """At the end, else in the month, else the most; not positive without any."""
    lying, exhausted = month["lying"], month["exhausted"]
    either = np.where(exhausted > 0, exhausted, np.nan_to_num(month["lying_peak"]))
    found: Floats = np.where(lying > 0, lying, either)
    return found


def _slow_acks(facts: Facts, month: Assets) -> Floats:
    """The 99th percentile of the time to ack; NaN without ack samples, infinity beyond the largest bucket."""
    found, result = facts.others["ack_times"].now, np.full(len(month), np.nan)
    counts = np.nan_to_num(found["number"]).tolist()
    buckets: dict[int, list[tuple[float, float]]] = {}
    for name, count in zip(found.names, counts, strict=True):
        index = month.position(name[:-1])
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


# --- streams, servers and accounts ----------------------------------------------------------------


def _fill(_: Facts, month: Assets) -> Floats:
    """The fill of the nearest limit; infinity without a limit."""
    limits, levels = ("max_bytes", "max_messages"), ("bytes", "messages")
    none = np.all([np.isinf(month[name]) for name in limits], axis=0)
    sizes, numbers = (
        divided(month[level], np.where(np.isinf(month[limit]), np.nan, month[limit]))
        for level, limit in zip(levels, limits, strict=True)
    )
    return np.where(none, np.inf, np.fmax(sizes, numbers))


def increase_by(detailed: Assets, assets: Assets) -> Floats:
    """Sums the numbers of assets that have labels more; NaN where none is known."""
    result = np.full(len(assets), np.nan)
    for name, increase in zip(detailed.names, detailed["number"].tolist(), strict=True):
        index = assets.position(name[: len(assets.labels)])
        if index is not None and not math.isnan(increase):
            result[index] = np.nan_to_num(result[index]) + increase
    return result


def _restart_days(facts: Facts, month: Assets) -> list[list[date]]:
    """The days with a restart; several on one day count once."""
    known = facts.servers.before["started"]
    low, high, last = (month[f"started_{each}"].T for each in ("low", "high", "last"))
    found: list[list[date]] = [[] for _ in range(len(month))]
    for number, day in enumerate(month.days):
        moved = np.fmax(high[number], known) - np.fmin(low[number], known) > _SAME_START
        for index in np.flatnonzero(moved & ~np.isnan(low[number])).tolist():
            found[index].append(day)
        known = np.where(np.isnan(last[number]), known, last[number])
    return found


def _response_ratio(facts: Facts, month: Assets) -> Floats:
    """Share of polls with a response of the server, since it was first seen in the month.

    Polls count as missed also after the series of a dead server has ended. On the first day only
    its own samples count: it may have started at noon.
    """
    systems, own = facts.systems.now, np.nan_to_num(month["up_by_day"])
    polls = np.zeros(len(month))
    for index, seen in enumerate(month.day(c.SERVER_UP, last=False)):
        system = systems.position(month.names[index][:1])
        if seen is not None:
            first = month.days.index(seen)
            polls[index] = own[index, first]
            if system is not None:
                polls[index] += np.nansum(systems["polls_by_day"][system, first + 1 :])
    return divided(month.sum(c.SERVER_UP), np.fmax(polls, month.count(c.SERVER_UP)))


def _certain_offset(_: Facts, month: Assets) -> Floats:
    """The largest offset of each server minus the uncertainty of the measurement."""
    worst = np.fmax(np.abs(month["offset_low"]), np.abs(month["offset_high"]))
    certain: Floats = np.maximum(worst - np.nan_to_num(month["uncertainty"]), 0.0)
    return certain


def tier_replicas(assets: Assets) -> Floats:
    """What is used in a tier of an account counts all replicas, its limit and what is reserved one."""
    tiers = [name[-1][1:] if "tier" in assets.labels else "" for name in assets.names]
    return np.array([float(tier) if tier.isdigit() else 1.0 for tier in tiers])


def _words(values: Floats, yes: str, no: str) -> list[str | None]:
    """One word from 1 on, another below; None where unknown."""
    return [None if math.isnan(each) else yes if each >= 1 else no for each in values.tolist()]


def _label(name: str, servers: bool = False) -> Callable[[Facts, Assets], Any]:
    """The newest label of the info series."""

    def column(facts: Facts, month: Assets) -> list[str | None]:
        info = facts.server_info if servers else facts.stream_info
        return [info.get(each, {}).get(name) for each in month.names]

    return column


_MADE: Mapping[str, Mapping[str, Callable[[Facts, Assets], Any]]] = {
    "consumers": {
        "states": _states,
        "verdicts": lambda _, m: m["states"][c.CONSUMER_VERDICT.name],  # seconds; a column for each
        "verdict_shares": lambda _, m: divided(m["verdicts"], m["verdicts"].sum(axis=1, keepdims=True)),
        "not_well": lambda _, m: m["verdict_shares"][:, _NOT_WELL].sum(axis=1),
        "worst_state": _worst_state,
        "causes": lambda _, m: m["states"][c.CONSUMER_REDELIVERY_CAUSE.name],
        "redelivery_cause": lambda _, m: _if_known(
            m["causes"], np.array(_CAUSES)[m["causes"].argmax(axis=1)]
        ),
        # Exact only if it was exact all month.
        "redelivery_exact": lambda _, m: _words(m["redeliveries_exact"], "exact", "at least"),
        "conditions": _conditions,
        "lag_day": _day_of_peak,
        "lag_seconds_usual": _usual_lag,
        "headroom_least": _headroom_least,
        "abandoned": _abandoned,
        "terms": lambda facts, m: increase_by(facts.others["terms"].now, m),
        "dead_letters": lambda _, m: _words(m["captured"], "yes", "no"),
        "slow_ack": _slow_acks,
        "ack_seconds_p99": lambda _, m: [
            "beyond the largest bucket" if math.isinf(each) else each for each in m["slow_ack"].tolist()
        ],
        "ack_wait_used": lambda _, m: np.where(np.isinf(m["ack_share"]), np.nan, m["ack_share"]),
        "wasted_ratio": lambda _, m: m["redelivery_ratio"],
    },
    "streams": {
        "growth": lambda _, m: m["bytes"] - m["bytes_first"],
        "fill": _fill,
        "unused_bytes": lambda _, m: np.maximum(m["reserved"] * (1 - m["used"]), 0.0),
        "rejections": lambda facts, m: increase_by(facts.others["rejections"].now, m),
        "duplicates_counted": lambda _, m: _words(m["duplicates_exact"], "exact", "at most"),
        # The largest memory of the message ids in the duplicate window, per replica.
        "ids_memory": lambda facts, m: m["ids_peak"] * facts.threshold(t.DEDUPE_ID_MEMORY),
        **{name: _label(name) for name in ("discard", "retention", "storage")},
    },
    "servers": {
        "up_ratio": _response_ratio,
        "certain_seconds": _certain_offset,
        "restart_days": _restart_days,
        "restarts": lambda _, m: [
            None if unknown else float(len(days))
            for unknown, days in zip(np.isnan(m["started"]).tolist(), m["restart_days"], strict=True)
        ],
        "storage_max_bytes": lambda _, m: m["storage_limit"],
        "memory_max_bytes": lambda _, m: m["memory_limit_bytes"],
        "version": _label("version", servers=True),
    },
    "accounts": {
        "memory_fill": lambda _, m: divided(m["memory_bytes"] / tier_replicas(m), m["memory_limit"]),
        "storage_fill": lambda _, m: np.where(
            np.isinf(m["storage_limit_bytes"]), np.inf,
            divided(m["storage_bytes"] / tier_replicas(m), m["storage_limit_bytes"]),
        ),
    },
}  # fmt: skip


def add_columns(facts: Facts) -> None:
    """Those that need the facts of other assets."""
    for kind, made in _MADE.items():
        pair = facts.pair(kind)
        for month in (pair.now, pair.before):
            month.columns.update({name: _bound(how, facts) for name, how in made.items()})


def _bound(how: Callable[[Facts, Assets], Any], facts: Facts) -> Callable[[Assets], Any]:
    return lambda month: how(facts, month)
