"""The chapters on streams, consumers, publishing, servers, clocks, abandoned messages, sizes and configuration."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from alerts import thresholds as t
from exporter import catalog as c
from spark_rollups.report.chapters.tables import asset_table, chapter, table
from spark_rollups.report.facts.assets import known
from spark_rollups.report.facts.columns import HEALTHY
from spark_rollups.report.facts.events import (
    CODES,
    FailingCheck,
    Rejections,
    failing_consumer_checks,
)
from spark_rollups.report.facts.monthly_facts import Facts
from spark_rollups.report.figures import Figure, fill_row, offset_rows, share_row
from spark_rollups.report.formatting import Kind, Level
from spark_rollups.report.model import Chapter, Column, Row, Table

_WORST = 10  # consumers in a figure
_SHOWN = 12  # servers in a figure
_LEVELS = {"crit": Level.CRITICAL, "warn": Level.WARNING}


def streams_chapter(facts: Facts) -> Chapter:
    names = zip(facts.streams.now.names, facts.streams.now.seen.tolist(), strict=True)
    found = asset_table(facts, "streams", levels=_levels(facts))
    return chapter(
        facts, "streams", [found], accounts=len({name[:2] for name, seen in names if seen})
    )


def _levels(facts: Facts) -> list[Level]:
    """Only streams with discard policy new are at risk; the others are full by design."""
    filling, full = facts.threshold(t.STREAM_FILLING_RATIO), facts.threshold(t.STREAM_FULL_RATIO)
    levels = []
    for policy, value in zip(facts.streams["discard"], facts.streams["fill"].tolist(), strict=True):
        risk = policy == "new" and np.isfinite(value) and value >= filling
        grave = Level.CRITICAL if value >= full else Level.WARNING
        levels.append(grave if risk else Level.NORMAL)
    return levels


def publishing_chapter(facts: Facts, rejections: Sequence[Rejections]) -> Chapter:
    rejected = facts.others["rejections"].now
    rows = [
        Row((*each.name, each.code, CODES.get(each.code, ""), each.number)) for each in rejections
    ]
    return chapter(
        facts, "publishing", [asset_table(facts, "publishing"), table(facts, "rejections", rows)],
        counted=bool(rejections) or rejected.has(c.STREAM_PUBLISH_REJECTIONS),
    )  # fmt: skip


def consumers_chapter(facts: Facts) -> Chapter:
    pair, now = facts.consumers, facts.consumers.now
    conditions = [
        Row((*now.names[each.consumer], each.condition, each.seconds, known(each.share)))
        for each in pair["conditions"]
    ]
    return chapter(
        facts, "consumers",
        [asset_table(facts, "consumers"), _verdicts(facts), table(facts, "conditions", conditions)],
        [_shares(facts)], facts.source_line(("states",)),
    )  # fmt: skip


def _verdicts(facts: Facts) -> Table:
    pair, seconds = facts.consumers, facts.consumers["verdicts"]
    held = np.asarray(seconds[pair.now.seen].any(axis=0))
    more = [
        (
            Column(_key(each), each.capitalize(), Kind.SHARE, shown=bool(held[index])),
            pair["verdict_shares"][:, index],
        )
        for index, each in enumerate(c.VERDICTS)
    ]
    mask = pair.now.seen & ((pair["not_well"] > 0) | (pair["not_well_before"] > 0))
    empty = "" if seconds.any() else "No verdict was recorded: the states are unknown."
    return asset_table(facts, "verdicts", mask, more=more, empty=empty)


def _key(verdict: str) -> str:
    return "_".join(verdict.replace("/", "or").replace("-", " ").split())


def _shares(facts: Facts) -> Figure | None:
    pair, names, shares = (
        facts.consumers,
        facts.consumers.now.names,
        facts.consumers["verdict_shares"],
    )
    bad = np.flatnonzero(pair["verdicts"].any(axis=1) & (pair["not_well"] > 0))
    worst = bad[np.argsort(-pair["not_well"][bad], kind="stable")][:_WORST].tolist()
    if not worst:
        return None
    rows = (
        share_row(names[n][-1], facts.path(names[n][:-1]), shares[n].tolist(), c.VERDICTS, HEALTHY)
        for n in worst
    )
    legend = (
        (f"s-verdict-{index}", label)
        for index, label in enumerate(c.VERDICTS)
        if (shares[worst, index] > 0).any()
    )
    caption = f"The {len(worst)} consumers that were not well for the largest share of the month."
    return Figure("shares", "Time by state", caption, tuple(rows), legend=tuple(legend))


def abandoned_chapter(facts: Facts) -> Chapter:
    pair, now = facts.consumers, facts.consumers.now
    mask = pair["abandoned"] > 0
    return chapter(
        facts, "abandoned", [asset_table(facts, "abandoned", mask)],
        consumers=mask.sum(), left=float(np.nansum(pair["lying"][mask])),
        limited=now.has(c.CONSUMER_MAX_DELIVER) or now.has(c.CONSUMER_EXHAUSTED_MESSAGES),
        # The servers do not count abandoned messages of consumers with max_deliver 1.
        once=(pair["deliver_limit"] == 1).sum(),
    )  # fmt: skip


def sizing_chapter(facts: Facts) -> Chapter:
    pair, sampled = facts.consumers, ~np.isnan(facts.consumers["slow_ack"])
    mask = pair.now.seen & (~np.isnan(pair["ack_pending_peak"]) | sampled)
    reserved = asset_table(facts, "sizing_streams", ~np.isnan(facts.streams["used"]))
    tables = [asset_table(facts, "sizing_consumers", mask), reserved]
    return chapter(facts, "right-sizing", tables, sampled=bool(sampled.any()))


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


def servers_chapter(facts: Facts) -> Chapter:
    return chapter(
        facts, "servers", [asset_table(facts, "servers"), asset_table(facts, "accounts")],
        [_fills(facts)], facts.source_line(("daily", "forecasts")),
    )  # fmt: skip


def _fills(facts: Facts) -> Figure | None:
    pair, line = facts.servers, facts.threshold(t.SERVER_STORAGE_RATIO)
    fill, used, most = (pair[f"storage_{name}"] for name in ("fill", "bytes", "limit"))
    server_forecasts = (each for each in facts.forecasts if each.limit_name == "storage")
    ahead = {(each.system, each.server): each.at(30) for each in server_forecasts}
    rows = []
    for index in np.argsort(-fill, kind="stable")[:_SHOWN].tolist():
        if not np.isnan(fill[index]):
            (system, server), expected = pair.now.names[index], ahead.get(pair.now.names[index])
            middle = None if expected is None else expected.middle
            size, limit = float(used[index]), float(most[index])
            rows.append(fill_row(server, facts.path((system,)), size, limit, middle, line))
    caption = "Used at the end of the month, expected 30 days later (pale), and the threshold of the alert."
    return Figure("fills", "Storage of the servers", caption, tuple(rows)) if rows else None


def clocks_chapter(facts: Facts) -> Chapter:
    pair, line = facts.servers, facts.threshold(t.CLOCK_OFFSET)
    measured = ~np.isnan(pair["offset_high"])
    tables = [asset_table(facts, "clocks", measured)] if measured.any() else ()
    return chapter(facts, "clocks", tables, [_offsets(facts, line)], line=line)


def _offsets(facts: Facts, line: float) -> Figure | None:
    pair = facts.servers
    more = np.nan_to_num(pair["uncertainty"])
    rows = [
        (server, facts.path((system,)), *(float(each[n]) for each in (pair["offset_low"], pair["offset_high"], more)))
        for n in np.argsort(-pair["certain_seconds"], kind="stable")[:_SHOWN].tolist()
        for system, server in (pair.now.names[n],)
        if not np.isnan(pair["offset_low"][n])
    ]  # fmt: skip
    caption = (
        "From the lowest to the highest offset of the month; pale: the uncertainty, dashed: the "
        "threshold of the alert."
    )
    return Figure("offsets", "Clock offsets", caption, *offset_rows(rows, line)) if rows else None
