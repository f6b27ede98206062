"""The chapter on consumers: how far behind, how often again, what was lost, and in which state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
from numpy.typing import NDArray

from alerts import thresholds as t
from exporter import catalog as c
from exporter.metric import Metric
from spark_rollups.report import formatting as words
from spark_rollups.report.cell_values import Kind
from spark_rollups.report.facts.assets import Assets, Of, rows_between
from spark_rollups.report.facts.monthly_facts import Facts
from spark_rollups.report.facts.source import Floats, slices
from spark_rollups.report.figure_data import Name, ShareRow, Shares
from spark_rollups.report.model import Chapter, Column, Table, sorted_rows
from spark_rollups.report.table_rows import by_column, divided, identity, rows_of

WELL = ("ok", "idle", "paused")  # nobody need look at these
_PICTURED = 10
_CAUSES = ("", "acked too late", "refused (nak)", "no answer", "a few in a loop")


@dataclass(frozen=True, slots=True)
class ConsumerMonth:
    """What the chapter and the findings both need, by place."""

    lag: Floats
    lag_before: Floats
    lag_day: list[date | None]
    redelivery: Floats  # share of the deliveries
    redelivery_before: Floats
    deliveries: Floats
    lost: Floats
    lost_before: Floats
    verdicts: NDArray[np.float64]  # seconds, a column for each verdict
    verdicts_before: NDArray[np.float64]
    causes: NDArray[np.float64]

    @property
    def not_well(self) -> Floats:
        return not_well(self.verdicts)


def consumer_month(facts: Facts) -> ConsumerMonth:
    now, before = facts.consumers.now, facts.consumers.before
    lag = now.of(c.CONSUMER_LAG_SECONDS, Of.HIGH)
    return ConsumerMonth(
        lag=lag,
        lag_before=before.of(c.CONSUMER_LAG_SECONDS, Of.HIGH),
        lag_day=_day_of(facts, now, c.CONSUMER_LAG_SECONDS, lag),
        redelivery=redelivery(now),
        redelivery_before=redelivery(before),
        deliveries=now.of(c.CONSUMER_DELIVERIES, Of.INCREASE),
        lost=now.of(c.CONSUMER_LOST_MESSAGES, Of.INCREASE),
        lost_before=before.of(c.CONSUMER_LOST_MESSAGES, Of.INCREASE),
        verdicts=seconds_in(facts, now, c.CONSUMER_VERDICT, len(c.VERDICTS), facts.days),
        verdicts_before=seconds_in(
            facts, before, c.CONSUMER_VERDICT, len(c.VERDICTS), facts.days_before
        ),
        causes=seconds_in(facts, now, c.CONSUMER_REDELIVERY_CAUSE, len(_CAUSES), facts.days),
    )


def redelivery(assets: Assets) -> Floats:
    """Redeliveries a delivery; NaN without deliveries."""
    again = assets.of(c.CONSUMER_REDELIVERIES, Of.INCREASE)
    return divided(again, assets.of(c.CONSUMER_DELIVERIES, Of.INCREASE))


def seconds_in(
    facts: Facts, assets: Assets, metric: Metric, states: int, days: Sequence[date]
) -> NDArray[np.float64]:
    """How long each held each state; a row of zeros where nothing is known."""
    result = np.zeros((len(assets), states))
    for first, last in slices(days):
        table = rows_between(
            facts.source, assets, metric, first, last, ("value", "seconds"), "shares"
        )
        places = assets.places(table)
        values = table["value"].to_numpy()
        seconds = table["seconds"].to_numpy()
        valid = (places >= 0) & (values >= 0) & (values < states)
        np.add.at(result, (places[valid], values[valid].astype(int)), seconds[valid])
    return result


def shares_of(seconds: NDArray[np.float64]) -> NDArray[np.float64]:
    """NaN where nothing is known."""
    whole = seconds.sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        shares: NDArray[np.float64] = np.where(whole > 0, seconds / whole, np.nan)
    return shares


def not_well(seconds: NDArray[np.float64]) -> Floats:
    bad = [place for place, verdict in enumerate(c.VERDICTS) if verdict not in WELL]
    found: Floats = shares_of(seconds)[:, bad].sum(axis=1)
    return found


def worst_state(seconds: NDArray[np.float64]) -> list[str | None]:
    """Of the states that are not well, the one that held longest; "" when there was none."""
    bad = [place for place, verdict in enumerate(c.VERDICTS) if verdict not in WELL]
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
        places = assets.places(table)
        highs = pc.fill_null(table["max"], float("nan")).to_numpy()
        at_peak = np.flatnonzero((places >= 0) & (highs == peak[places]) & (highs > 0))
        days = table["day"].take(pa.array(at_peak)).to_pylist()
        for place, day in zip(places[at_peak].tolist(), days, strict=True):
            found[place] = min(filter(None, (found[place], day)))
    return found


def consumers_chapter(facts: Facts, month: ConsumerMonth) -> Chapter:
    pictures = [picture] if (picture := _picture(facts, month)).rows else []
    return Chapter(
        "consumers",
        "Consumers",
        tuple(_sentences(facts, month)),
        (_table(facts, month), _verdict_table(facts, month)),
        tuple(pictures),
    )


def _sentences(facts: Facts, month: ConsumerMonth) -> list[str]:
    there = int(facts.consumers.now.seen.sum())
    bad = int((month.not_well > 0.01).sum())
    said = [f"{words.plural(there, 'consumer was seen', 'consumers were seen')}."]
    if np.isnan(month.not_well[facts.consumers.now.seen]).all():
        said.append("How long they were in which state is unknown: no verdict was recorded.")
    else:
        said.append(
            f"{words.plural(bad, 'consumer was', 'consumers were')} not well for more than 1 % of the time."
        )
    losing = int((month.lost > 0).sum())
    if losing:
        said.append(
            f"{words.plural(losing, 'consumer')} lost messages to retention: at least "
            f"{words.count(float(np.nansum(month.lost)))}."
        )
    return said


def _table(facts: Facts, month: ConsumerMonth) -> Table:
    now = facts.consumers.now
    columns = (
        month.lag, month.lag_before, month.lag_day, _usual(facts, now, c.CONSUMER_LAG_SECONDS),
        now.of(c.CONSUMER_NUM_PENDING, Of.HIGH), now.of(c.CONSUMER_NUM_PENDING, Of.LAST),
        month.redelivery, month.redelivery_before, main_cause(month.causes),
        _exactness(now), month.deliveries, month.lost, month.lost_before,
        month.not_well, worst_state(month.verdicts),
    )  # fmt: skip
    rows = sorted_rows(rows_of(now, now.seen, columns), by_column(len(now.labels)))
    rows = sorted_rows(rows, by_column(len(now.labels) + 11))
    return Table(
        "consumers",
        "The worst first",
        identity(now.labels),
        _columns(facts),
        rows,
        note="Those that lost messages first, then by lag. Lag is the age of the oldest message that a "
        "consumer had not finished.",
        empty="No consumer was seen in this month.",
    )


def _columns(facts: Facts) -> tuple[Column, ...]:
    before = facts.month.before.title
    return (
        Column("lag_seconds", "Worst lag", Kind.SECONDS),
        Column("lag_seconds_before", "Month before", Kind.SECONDS, f"worst lag of {before}"),
        Column("lag_day", "On", Kind.DAY, "the day of the worst lag"),
        Column("lag_seconds_usual", "Usual day", Kind.SECONDS, "median over days of the 95th percentile"),
        Column("pending_peak", "Most pending", Kind.COUNT, "highest num_pending"),
        Column("pending", "Pending", Kind.COUNT, "num_pending at the end", shown=False),
        Column(
            "redelivery_ratio", "Repeated", Kind.SHARE, "share of the deliveries that were not the first",
            line=facts.value(t.REDELIVERY_RATIO),
        ),
        Column("redelivery_ratio_before", "Month before", Kind.SHARE, f"repeated in {before}"),
        Column("redelivery_cause", "Cause", shown=False),
        Column("redelivery_exact", "Counted", hint="exact, or at least", shown=False),
        Column("deliveries", "Deliveries", Kind.COUNT, shown=False),
        Column("lost", "Lost", Kind.COUNT, "removed by limits before it was sent them", line=1),
        Column("lost_before", "Lost before", Kind.COUNT, shown=False),
        Column("not_well", "Not well", Kind.SHARE, "share of the time"),
        Column("worst_state", "Mostly", hint="the state that held longest of those that are not well"),
    )  # fmt: skip


def _exactness(assets: Assets) -> list[str | None]:
    """Exact only when it was all month long."""
    low = assets.of(c.CONSUMER_REDELIVERY_EXACT, Of.LOW)
    return [None if np.isnan(value) else "exact" if value >= 1 else "at least" for value in low]


def _usual(facts: Facts, assets: Assets, metric: Metric) -> Floats:
    """The median over the days of each day's 95th percentile."""
    places, values = [np.empty(0, int)], [np.empty(0)]
    for first, last in slices(facts.days):
        table = rows_between(facts.source, assets, metric, first, last, ("p95",), "quantiles")
        places.append(assets.places(table))
        values.append(pc.fill_null(table["p95"], float("nan")).to_numpy())
    found = pa.table({"place": np.concatenate(places), "p95": np.concatenate(values)})
    medians = found.group_by("place").aggregate([("p95", "approximate_median")])
    result = np.full(len(assets), np.nan)
    at = medians["place"].to_numpy()
    result[at[at >= 0]] = medians["p95_approximate_median"].to_numpy()[at >= 0]
    return result


def _verdict_table(facts: Facts, month: ConsumerMonth) -> Table:
    now = facts.consumers.now
    shares = shares_of(month.verdicts)
    before = not_well(month.verdicts_before)
    columns = [month.not_well, before, *shares.T]
    rows = rows_of(now, now.seen & ((month.not_well > 0) | (before > 0)), columns)
    held = np.asarray(month.verdicts[now.seen].any(axis=0))
    return Table(
        "verdicts",
        "Shares of the month's time by state",
        identity(now.labels),
        (
            Column("not_well", "Not well", Kind.SHARE),
            Column("not_well_before", "Month before", Kind.SHARE),
            *(
                Column(_key(verdict), verdict.capitalize(), Kind.SHARE,
                       shown=bool(held[place]))
                for place, verdict in enumerate(c.VERDICTS)
            ),
        ),
        sorted_rows(rows, by_column(len(now.labels))),
        note="Who was always ok, idle or paused in both months is left out.",
        empty="All were ok, idle or paused all the time."
        if month.verdicts.any()
        else "No verdict was recorded: the states are unknown.",
    )  # fmt: skip


def _picture(facts: Facts, month: ConsumerMonth) -> Shares:
    now = facts.consumers.now
    known = np.flatnonzero(month.verdicts.any(axis=1) & (month.not_well > 0))
    worst = known[np.argsort(-month.not_well[known], kind="stable")][:_PICTURED]
    shares = shares_of(month.verdicts)
    rows = tuple(
        ShareRow(
            Name(now.names[place][-1], facts.path(now.names[place][:-1])),
            tuple(shares[place].tolist()),
        )
        for place in worst.tolist()
    )
    return Shares(
        "Where the time went",
        f"The {len(rows)} consumers that were not well for the largest part of the month.",
        tuple(c.VERDICTS),
        tuple(_key(verdict).replace("_", "-") for verdict in c.VERDICTS),
        rows,
    )


def _key(verdict: str) -> str:
    return "_".join(verdict.replace("/", "or").replace("-", " ").split())
