"""The chapters on consumers, abandoned messages, right-sizing and configuration."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from exporter import catalog as c
from spark_rollups.report.chapters.tables import Cells, asset_table, chapter, table
from spark_rollups.report.facts.assets import Floats, divided, increase_by, known, limit_of
from spark_rollups.report.facts.consumers import (
    HEALTHY,
    ConsumerMonth,
    Sizing,
    main_cause,
    not_well,
    reserved_unused,
    shares_of,
    with_abandoned_messages,
    worst_state,
)
from spark_rollups.report.facts.events import FailingCheck, failing_consumer_checks
from spark_rollups.report.facts.monthly_facts import Facts
from spark_rollups.report.figures import Figure, share_row
from spark_rollups.report.formatting import Kind, Level
from spark_rollups.report.model import Chapter, Column, Row, Table

_SHOWN = 10
_LEVELS = {"crit": Level.CRITICAL, "warn": Level.WARNING}


def consumers_chapter(facts: Facts, month: ConsumerMonth) -> Chapter:
    now = facts.consumers.now
    conditions = [
        Row((*now.names[each.consumer], each.condition, each.seconds, known(each.share)))
        for each in month.conditions
    ]
    return chapter(
        facts, "consumers",
        [_table(facts, month), _verdicts(facts, month), table(facts, "conditions", conditions)],
        [_figure(facts, month)], facts.source_line(("states",)),
        there=now.seen.sum(), known=not np.isnan(month.not_well[now.seen]).all(),
        bad=(month.not_well > 0.01).sum(), losing=(month.lost > 0).sum(),
        lost=float(np.nansum(month.lost)),
    )  # fmt: skip


def _table(facts: Facts, month: ConsumerMonth) -> Table:
    now = facts.consumers.now
    return asset_table(
        facts, "consumers", now, now.seen, ("lost", "lag_seconds"),
        days=(c.CONSUMER_LAG_SECONDS, "max"),
        lag_seconds=month.lag, lag_seconds_before=month.lag_before, lag_day=month.lag_day,
        lag_seconds_usual=month.lag_usual, pending_peak=now.highest(c.CONSUMER_NUM_PENDING),
        pending=now.last(c.CONSUMER_NUM_PENDING), redelivery_ratio=month.redelivery,
        redelivery_ratio_before=month.redelivery_before, redelivery_cause=main_cause(month.causes),
        # Exact only if it was exact all month.
        redelivery_exact=words(now.lowest(c.CONSUMER_REDELIVERY_EXACT), "exact", "at least"),
        deliveries=month.deliveries, lost=month.lost, lost_before=month.lost_before,
        not_well=month.not_well, worst_state=worst_state(month.verdicts),
    )  # fmt: skip


def words(values: Floats, yes: str, no: str) -> Cells:
    """One word from 1 on, another below; None where unknown."""
    return [None if math.isnan(each) else yes if each >= 1 else no for each in values.tolist()]


def _verdicts(facts: Facts, month: ConsumerMonth) -> Table:
    now, shares = facts.consumers.now, shares_of(month.verdicts)
    before = not_well(month.verdicts_before)
    held = np.asarray(month.verdicts[now.seen].any(axis=0))
    found = asset_table(
        facts, "verdicts", now, now.seen & ((month.not_well > 0) | (before > 0)), ("not_well",),
        not_well=month.not_well, not_well_before=before,
        more=[
            (Column(_key(each), each.capitalize(), Kind.SHARE, shown=bool(held[index])), shares[:, index])
            for index, each in enumerate(c.VERDICTS)
        ],
    )  # fmt: skip
    if month.verdicts.any():
        return found
    return replace(found, empty="No verdict was recorded: the states are unknown.")


def _key(verdict: str) -> str:
    return "_".join(verdict.replace("/", "or").replace("-", " ").split())


def _figure(facts: Facts, month: ConsumerMonth) -> Figure | None:
    now, shares = facts.consumers.now, shares_of(month.verdicts)
    bad = np.flatnonzero(month.verdicts.any(axis=1) & (month.not_well > 0))
    worst = bad[np.argsort(-month.not_well[bad], kind="stable")][:_SHOWN].tolist()
    if not worst:
        return None
    rows = (
        share_row(
            now.names[index][-1], facts.path(now.names[index][:-1]), shares[index].tolist(),
            c.VERDICTS, HEALTHY,
        )
        for index in worst
    )  # fmt: skip
    return Figure(
        "shares", "Time by state",
        f"The {len(worst)} consumers that were not well for the largest share of the month.",
        tuple(rows),
        legend=tuple(
            (f"s-verdict-{index}", label)
            for index, label in enumerate(c.VERDICTS)
            if (shares[worst, index] > 0).any()
        ),
    )  # fmt: skip


def abandoned_chapter(facts: Facts) -> Chapter:
    now, before = facts.consumers.now, facts.consumers.before
    mask, left = with_abandoned_messages(facts), now.at_end(c.CONSUMER_EXHAUSTED_MESSAGES)
    deliver = now.last(c.CONSUMER_MAX_DELIVER)
    found = asset_table(
        facts, "abandoned", now, mask, ("lying",),
        lying=left, lying_before=before.at_end(c.CONSUMER_EXHAUSTED_MESSAGES),
        lying_peak=now.highest(c.CONSUMER_EXHAUSTED_MESSAGES),
        exhausted=now.increase(c.CONSUMER_EXHAUSTED), naks=now.increase(c.CONSUMER_NAKS),
        terms=increase_by(facts.others["terms"].now, c.CONSUMER_TERMS, now),
        max_deliver=limit_of(deliver, now.last(c.CONSUMER_UP)),
        dead_letters=words(now.last(c.CONSUMER_DEAD_LETTER_CAPTURED), "yes", "no"),
    )  # fmt: skip
    return chapter(
        facts, "abandoned", [found], consumers=mask.sum(), left=float(np.nansum(left[mask])),
        limited=now.has(c.CONSUMER_MAX_DELIVER) or now.has(c.CONSUMER_EXHAUSTED_MESSAGES),
        # The servers do not count abandoned messages of consumers with max_deliver 1.
        once=(deliver == 1).sum(),
    )  # fmt: skip


def sizing_chapter(facts: Facts, sizing: Sizing) -> Chapter:
    now, streams = facts.consumers.now, facts.streams.now
    limit, used = reserved_unused(facts)
    consumers = asset_table(
        facts, "sizing_consumers", now,
        now.seen & ~(np.isnan(sizing.peak) & np.isnan(sizing.slow_ack)), ("ack_pending_used",),
        ack_pending_peak=sizing.peak, ack_pending_mean=now.mean(c.CONSUMER_NUM_ACK_PENDING),
        max_ack_pending=sizing.limit, ack_pending_used=sizing.used,
        ack_seconds_p99=[
            "beyond the largest bucket" if math.isinf(each) else known(each)
            for each in sizing.slow_ack.tolist()
        ],
        ack_wait_seconds=sizing.ack_wait, wasted=sizing.wasted,
        ack_wait_used=np.where(np.isinf(sizing.ack_share), np.nan, sizing.ack_share),
        wasted_ratio=divided(sizing.wasted, now.increase(c.CONSUMER_DELIVERIES)),
    )  # fmt: skip
    reserved = asset_table(
        facts, "sizing_streams", streams, ~np.isnan(used), ("unused_bytes",),
        bytes_peak=streams.highest(c.STREAM_BYTES), max_bytes=limit, used=used,
        unused_bytes=np.maximum(limit * (1 - used), 0.0),
    )  # fmt: skip
    sampled = bool((~np.isnan(sizing.slow_ack)).any())
    return chapter(facts, "right-sizing", [consumers, reserved], sampled=sampled)


def configuration_chapter(facts: Facts, checks: Sequence[FailingCheck]) -> Chapter:
    rows = [
        Row(
            (*each.name, each.check, each.severity, each.assets, each.state, each.since),
            _LEVELS.get("" if each.state == "fixed" else each.severity, Level.NORMAL),
        )
        for each in checks
    ]
    by_consumer = [
        Row((*name, check, severity), _LEVELS.get(severity, Level.NORMAL))
        for name, check, severity in failing_consumer_checks(facts)
    ]
    more = table(facts, "configuration_consumers", by_consumer) if by_consumer else None
    states = Counter(each.state for each in checks)
    return chapter(
        facts, "configuration", [table(facts, "configuration", rows), more],
        checks=len({each.check for each in checks}), new=states["new"], open=states["open"],
        fixed=states["fixed"],
    )  # fmt: skip
