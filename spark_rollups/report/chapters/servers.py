"""The chapters on streams, publishing, servers and accounts, and clocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date

import numpy as np

from alerts import thresholds as t
from exporter import catalog as c
from spark_rollups.report.chapters.consumers import words
from spark_rollups.report.chapters.tables import asset_table, chapter, table
from spark_rollups.report.facts.assets import Floats, divided, increase_by, known, limit_of, total
from spark_rollups.report.facts.events import CODES, Rejections, dedupe_memory, unstored_ratio
from spark_rollups.report.facts.monthly_facts import Facts
from spark_rollups.report.facts.polls import api_error_ratio, certain_offset, response_ratio
from spark_rollups.report.facts.stores import stream_growth, tier_replicas
from spark_rollups.report.figures import Figure, fill_row, offset_rows
from spark_rollups.report.formatting import Level
from spark_rollups.report.model import Chapter, Row, Table

_SHOWN = 12  # servers in a figure


def streams_chapter(facts: Facts) -> Chapter:
    now, before = facts.streams.now, facts.streams.before
    names = zip(now.names, now.seen.tolist(), strict=True)
    return chapter(
        facts, "streams", [_streams(facts)], there=now.seen.sum(),
        accounts=len({name[:2] for name, seen in names if seen}),
        size=total(now.at_end(c.STREAM_BYTES)), growth=total(stream_growth(facts)[0]),
        new=(now.seen & ~before.seen).sum(), gone=(before.seen & ~now.seen).sum(),
    )  # fmt: skip


def _streams(facts: Facts) -> Table:
    now, before = facts.streams.now, facts.streams.before
    size, messages = now.at_end(c.STREAM_BYTES), now.at_end(c.STREAM_MESSAGES)
    limit = limit_of(now.limit(c.STREAM_MAX_BYTES, c.STREAM_BYTES), size)
    max_messages = limit_of(now.limit(c.STREAM_MAX_MESSAGES, c.STREAM_MESSAGES), messages)
    growth, growth_before = stream_growth(facts)
    infos = [facts.stream_info.get(name, {}) for name in now.names]
    fill = _fill(size, limit, messages, max_messages)
    return asset_table(
        facts, "streams", now, now.seen, ("bytes",), _levels(facts, fill), (c.STREAM_BYTES, "last"),
        bytes=size, growth=growth, growth_before=growth_before,
        bytes_peak=now.highest(c.STREAM_BYTES), max_bytes=limit, messages=messages,
        max_messages=max_messages, fill=fill, stored=now.increase(c.STREAM_STORED_MESSAGES),
        stored_before=before.increase(c.STREAM_STORED_MESSAGES),
        max_age_seconds=limit_of(now.limit(c.STREAM_MAX_AGE_SECONDS, c.STREAM_MESSAGES), messages),
        consumers=now.last(c.STREAM_CONSUMERS), replicas=now.last(c.STREAM_REPLICAS),
        discard=[info.get("discard") for info in infos],
        retention=[info.get("retention") for info in infos],
        storage=[info.get("storage") for info in infos],
    )  # fmt: skip


def _fill(size: Floats, limit: Floats, messages: Floats, max_messages: Floats) -> Floats:
    """The fill of the nearest limit; infinity without a limit."""
    none = np.isinf(limit) & np.isinf(max_messages)
    by_size = divided(size, np.where(np.isinf(limit), np.nan, limit))
    by_number = divided(messages, np.where(np.isinf(max_messages), np.nan, max_messages))
    return np.where(none, np.inf, np.fmax(by_size, by_number))


def _levels(facts: Facts, fill: Floats) -> list[Level]:
    """Only streams with discard policy new are at risk; the others are full by design."""
    filling, full = facts.threshold(t.STREAM_FILLING_RATIO), facts.threshold(t.STREAM_FULL_RATIO)
    levels = []
    for name, value in zip(facts.streams.now.names, fill.tolist(), strict=True):
        refuses = facts.stream_info.get(name, {}).get("discard") == "new" and np.isfinite(value)
        grave = Level.CRITICAL if value >= full else Level.WARNING
        levels.append(grave if refuses and value >= filling else Level.NORMAL)
    return levels


def publishing_chapter(facts: Facts, rejections: Sequence[Rejections]) -> Chapter:
    now, rejected = facts.streams.now, facts.others["rejections"].now
    rows = [
        Row((*each.name, each.code, CODES.get(each.code, ""), each.number)) for each in rejections
    ]
    return chapter(
        facts, "publishing", [_publishing(facts), table(facts, "rejections", rows)],
        stored=total(now.increase(c.STREAM_STORED_MESSAGES)),
        unstored=total(now.increase(c.STREAM_PUBLISHES_UNSTORED)),
        counted=bool(rejections) or rejected.has(c.STREAM_PUBLISH_REJECTIONS),
    )  # fmt: skip


def _publishing(facts: Facts) -> Table:
    now, before = facts.streams.now, facts.streams.before
    rejected = facts.others["rejections"].now
    return asset_table(
        facts, "publishing", now, now.seen, ("unstored",),
        received=now.increase(c.STREAM_PUBLISHES_RECEIVED),
        stored=now.increase(c.STREAM_STORED_MESSAGES),
        unstored=now.increase(c.STREAM_PUBLISHES_UNSTORED), unstored_ratio=unstored_ratio(now),
        unstored_ratio_before=unstored_ratio(before),
        duplicates=now.increase(c.STREAM_DEDUPE_HITS),
        duplicates_before=before.increase(c.STREAM_DEDUPE_HITS),
        duplicates_counted=words(now.lowest(c.STREAM_DEDUPE_EXACT), "exact", "at most"),
        rejections=increase_by(rejected, c.STREAM_PUBLISH_REJECTIONS, now),
        duplicate_window_seconds=now.last(c.STREAM_DUPLICATE_WINDOW_SECONDS),
        ids_peak=now.highest(c.STREAM_DEDUPE_WINDOW_MESSAGES), ids_memory=dedupe_memory(facts, now),
    )  # fmt: skip


def servers_chapter(facts: Facts, started: Mapping[int, list[date]]) -> Chapter:
    return chapter(
        facts, "servers", [_servers(facts, started), _accounts(facts)], [_fills(facts)],
        facts.source_line(("daily", "forecasts")), there=facts.servers.now.seen.sum(),
        restarted=sum(bool(days) for days in started.values()),
    )  # fmt: skip


def _servers(facts: Facts, started: Mapping[int, list[date]]) -> Table:
    now, before = facts.servers.now, facts.servers.before
    used, most = facts.server_storage
    memory = now.at_end(c.SERVER_MEMORY_USED_BYTES)
    most_memory = now.limit(c.SERVER_MEMORY_MAX_BYTES, c.SERVER_MEMORY_USED_BYTES)
    starts = np.isnan(now.last(c.SERVER_START_TIMESTAMP_SECONDS)).tolist()
    return asset_table(
        facts, "servers", now, now.seen, ("storage_fill",),
        days=(c.SERVER_STORAGE_USED_BYTES, "last"),
        up_ratio=response_ratio(facts), storage_bytes=used, storage_max_bytes=most,
        storage_fill=divided(used, most),
        storage_bytes_before=before.at_end(c.SERVER_STORAGE_USED_BYTES),
        storage_reserved_bytes=now.at_end(c.SERVER_STORAGE_RESERVED_BYTES), memory_bytes=memory,
        memory_max_bytes=limit_of(most_memory, memory), cpu_peak=now.highest(c.SERVER_CPU_RATIO),
        cpu_mean=now.mean(c.SERVER_CPU_RATIO),
        process_memory_peak=now.highest(c.SERVER_PROCESS_MEMORY_BYTES),
        ha_assets=now.at_end(c.SERVER_HA_ASSETS), ha_assets_before=before.at_end(c.SERVER_HA_ASSETS),
        stream_leaders=now.at_end(c.SERVER_STREAM_LEADERS), api_error_ratio=api_error_ratio(facts),
        clients_cut=now.increase(c.SERVER_SLOW_CONSUMERS),
        restarts=[None if gone else float(len(started[n])) for n, gone in enumerate(starts)],
        version=[facts.server_info.get(name, {}).get("version") for name in now.names],
    )  # fmt: skip


def _accounts(facts: Facts) -> Table:
    now, before = facts.accounts.now, facts.accounts.before
    used, memory = now.at_end(c.ACCOUNT_STORAGE_USED_BYTES), now.at_end(c.ACCOUNT_MEMORY_USED_BYTES)
    limit = limit_of(now.limit(c.ACCOUNT_STORAGE_LIMIT_BYTES, c.ACCOUNT_STORAGE_USED_BYTES), used)
    most_memory = now.limit(c.ACCOUNT_MEMORY_LIMIT_BYTES, c.ACCOUNT_MEMORY_USED_BYTES)
    return asset_table(
        facts, "accounts", now, now.seen, ("storage_bytes",),
        storage_bytes=used, storage_limit_bytes=limit,
        storage_fill=np.where(np.isinf(limit), np.inf, divided(used / tier_replicas(now), limit)),
        storage_bytes_before=before.at_end(c.ACCOUNT_STORAGE_USED_BYTES),
        storage_reserved_bytes=now.at_end(c.ACCOUNT_STORAGE_RESERVED_BYTES), memory_bytes=memory,
        memory_limit_bytes=limit_of(most_memory, memory),
        streams=now.at_end(c.ACCOUNT_STREAMS), streams_before=before.at_end(c.ACCOUNT_STREAMS),
        consumers=now.at_end(c.ACCOUNT_CONSUMERS),
        consumers_before=before.at_end(c.ACCOUNT_CONSUMERS),
    )  # fmt: skip


def _fills(facts: Facts) -> Figure | None:
    now, (used, most) = facts.servers.now, facts.server_storage
    ahead = {
        (each.system, each.server): each.at(30)
        for each in facts.forecasts
        if each.metric == c.SERVER_STORAGE_USED_BYTES.name
    }
    line, rows = facts.threshold(t.SERVER_STORAGE_RATIO), []
    for index in np.argsort(-divided(used, most), kind="stable")[:_SHOWN].tolist():
        size, limit = known(used[index]), known(most[index])
        if size is not None and limit:
            (system, server), expected = now.names[index], ahead.get(now.names[index])
            middle = None if expected is None else expected.middle
            rows.append(fill_row(server, facts.path((system,)), size, limit, middle, line))
    caption = "Used at the end of the month, expected 30 days later (pale), and the threshold of the alert."
    return Figure("fills", "Storage of the servers", caption, tuple(rows)) if rows else None


def clocks_chapter(facts: Facts) -> Chapter:
    measured = facts.servers.now.has(c.SERVER_CLOCK_OFFSET_SECONDS)
    line = facts.threshold(t.CLOCK_OFFSET)
    return chapter(
        facts, "clocks", [_clocks(facts)] if measured else (), [_offsets(facts, line)],
        measured=measured, line=line, beyond=(certain_offset(facts) > line).sum(),
    )  # fmt: skip


def _clocks(facts: Facts) -> Table:
    now, before = facts.servers.now, facts.servers.before
    offset = c.SERVER_CLOCK_OFFSET_SECONDS
    return asset_table(
        facts, "clocks", now, ~np.isnan(now.highest(offset)), ("certain_seconds",),
        certain_seconds=certain_offset(facts), offset_low=now.lowest(offset),
        offset_high=now.highest(offset), offset_mean=now.mean(offset),
        uncertainty=now.highest(c.SERVER_CLOCK_UNCERTAINTY_SECONDS),
        offset_low_before=before.lowest(offset), offset_high_before=before.highest(offset),
    )  # fmt: skip


def _offsets(facts: Facts, line: float) -> Figure | None:
    now = facts.servers.now
    low, high = (each(c.SERVER_CLOCK_OFFSET_SECONDS) for each in (now.lowest, now.highest))
    more = np.nan_to_num(now.highest(c.SERVER_CLOCK_UNCERTAINTY_SECONDS))
    rows = [
        (
            now.names[n][1],
            facts.path(now.names[n][:1]),
            float(low[n]),
            float(high[n]),
            float(more[n]),
        )
        for n in np.argsort(-certain_offset(facts), kind="stable")[:_SHOWN].tolist()
        if not np.isnan(low[n])
    ]
    caption = (
        "From the lowest to the highest offset of the month; pale: the uncertainty, dashed: the "
        "threshold of the alert."
    )
    return Figure("offsets", "Clock offsets", caption, *offset_rows(rows, line)) if rows else None
