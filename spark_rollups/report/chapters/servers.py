"""The chapters on servers and accounts, and on clocks."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

import numpy as np

from alerts import thresholds as t
from exporter import catalog as c
from spark_rollups.report import formatting as fmt
from spark_rollups.report.cell_values import (
    Kind,
)
from spark_rollups.report.charts.figure_data import Fill, Fills, Name, Offset, Offsets
from spark_rollups.report.facts.assets import divided, known, limit_of
from spark_rollups.report.facts.monthly_facts import Facts
from spark_rollups.report.facts.servers import api_error_ratio, certain_offset, response_ratio
from spark_rollups.report.model import Chapter, Column, Table, sorted_rows
from spark_rollups.report.table_rows import by_column, identity, rows_of

_SHOWN = 12


def servers_chapter(facts: Facts, started: Mapping[int, list[date]]) -> Chapter:
    fills = _fills(facts)
    return Chapter(
        "servers",
        "Servers and accounts",
        tuple(_sentences(facts, started)),
        (_server_table(facts, started), _account_table(facts)),
        (fills,) if fills.rows else (),
    )


def _sentences(facts: Facts, started: Mapping[int, list[date]]) -> list[str]:
    now = facts.servers.now
    there = int(now.seen.sum())
    if not there:
        return [
            "Servers are unknown: the account source does not see them. Storage, clocks and restarts are "
            "unknown."
        ]
    again = sum(bool(days) for days in started.values())
    restarted = f"{again} of them restarted" if again else "none restarted"
    return [f"{fmt.plural(there, 'server')}; {restarted}."]


def _server_table(facts: Facts, started: Mapping[int, list[date]]) -> Table:
    now = facts.servers.now
    used, most = (
        now.at_end(c.SERVER_STORAGE_USED_BYTES),
        now.limit(c.SERVER_STORAGE_MAX_BYTES, c.SERVER_STORAGE_USED_BYTES),
    )
    memory, most_memory = (
        now.at_end(c.SERVER_MEMORY_USED_BYTES),
        now.limit(c.SERVER_MEMORY_MAX_BYTES, c.SERVER_MEMORY_USED_BYTES),
    )
    known_start = now.last(c.SERVER_START_TIMESTAMP_SECONDS)
    columns = (
        response_ratio(facts), used, most, divided(used, most),
        facts.servers.before.at_end(c.SERVER_STORAGE_USED_BYTES),
        now.at_end(c.SERVER_STORAGE_RESERVED_BYTES), memory, limit_of(most_memory, memory),
        now.highest(c.SERVER_CPU_RATIO), now.mean(c.SERVER_CPU_RATIO),
        now.highest(c.SERVER_PROCESS_MEMORY_BYTES), now.at_end(c.SERVER_HA_ASSETS),
        facts.servers.before.at_end(c.SERVER_HA_ASSETS),
        now.at_end(c.SERVER_STREAM_LEADERS), api_error_ratio(facts),
        now.increase(c.SERVER_SLOW_CONSUMERS),
        [None if np.isnan(known_start[index]) else float(len(started[index])) for index in range(len(now))],
        [facts.server_info.get(name, {}).get("version") for name in now.names],
    )  # fmt: skip
    rows = sorted_rows(rows_of(now, now.seen, columns), by_column(len(now.labels) + 3))
    return Table(
        "servers",
        "Servers",
        identity(now.labels),
        _server_columns(facts),
        rows,
        note="Fullest first. CPU and memory are those of the server process.",
        empty="Unknown: no server was seen.",
    )


def _server_columns(facts: Facts) -> tuple[Column, ...]:
    return (
        Column("up_ratio", "Responses", Kind.SHARE, "share of the polls", line=0.999, falling=True),
        Column("storage_bytes", "Storage used", Kind.BYTES, "JetStream, at the end of the month"),
        Column("storage_max_bytes", "Maximum", Kind.BYTES),
        Column("storage_fill", "Filled", Kind.SHARE, line=facts.threshold(t.SERVER_STORAGE_RATIO)),
        Column("storage_bytes_before", "Month before", Kind.BYTES, "storage used then"),
        Column("storage_reserved_bytes", "Reserved", Kind.BYTES, shown=False),
        Column("memory_bytes", "Memory storage", Kind.BYTES, shown=False),
        Column("memory_max_bytes", "Maximum", Kind.BYTES, shown=False),
        Column("cpu_peak", "CPU, peak", Kind.SHARE),
        Column("cpu_mean", "CPU, mean", Kind.SHARE, shown=False),
        Column("process_memory_peak", "Memory, peak", Kind.BYTES),
        Column("ha_assets", "HA assets", Kind.COUNT, "Raft groups with a member there"),
        Column("ha_assets_before", "HA assets before", Kind.COUNT, shown=False),
        Column("stream_leaders", "Stream leaders", Kind.COUNT, shown=False),
        Column("api_error_ratio", "API errors", Kind.SHARE, line=facts.threshold(t.API_ERROR_RATIO)),
        Column("clients_cut", "Slow clients", Kind.COUNT, "connections that the server closed", line=1),
        Column("restarts", "Restarts", Kind.COUNT, "days with one; several on one day count once"),
        Column("version", "Version"),
    )  # fmt: skip


def _account_table(facts: Facts) -> Table:
    now = facts.accounts.now
    used = now.at_end(c.ACCOUNT_STORAGE_USED_BYTES)
    limit = limit_of(now.limit(c.ACCOUNT_STORAGE_LIMIT_BYTES, c.ACCOUNT_STORAGE_USED_BYTES), used)
    memory = now.at_end(c.ACCOUNT_MEMORY_USED_BYTES)
    columns = (
        used, limit, np.where(np.isinf(limit), np.inf, divided(used, limit)),
        facts.accounts.before.at_end(c.ACCOUNT_STORAGE_USED_BYTES),
        now.at_end(c.ACCOUNT_STORAGE_RESERVED_BYTES), memory,
        limit_of(now.limit(c.ACCOUNT_MEMORY_LIMIT_BYTES, c.ACCOUNT_MEMORY_USED_BYTES), memory),
        now.at_end(c.ACCOUNT_STREAMS), facts.accounts.before.at_end(c.ACCOUNT_STREAMS),
        now.at_end(c.ACCOUNT_CONSUMERS), facts.accounts.before.at_end(c.ACCOUNT_CONSUMERS),
    )  # fmt: skip
    rows = sorted_rows(rows_of(now, now.seen, columns), by_column(len(now.labels)))
    first, account, tier = identity(now.labels)
    return Table(
        "accounts",
        "Accounts",
        (first, account),
        (tier if any(row.values[2] for row in rows) else Column("tier", "Tier", shown=False),
         *_account_columns(facts)),
        rows,
        note="Storage of an account counts every replica.",
        empty="No account was seen in this month.",
    )  # fmt: skip


def _account_columns(facts: Facts) -> tuple[Column, ...]:
    return (
        Column("storage_bytes", "Storage used", Kind.BYTES),
        Column("storage_limit_bytes", "Limit", Kind.BYTES),
        Column("storage_fill", "Filled", Kind.SHARE, line=facts.threshold(t.ACCOUNT_HIGH_RATIO)),
        Column("storage_bytes_before", "Month before", Kind.BYTES),
        Column(
            "storage_reserved_bytes",
            "Reserved",
            Kind.BYTES,
            "reserved for its streams by max_bytes",
        ),
        Column("memory_bytes", "Memory storage", Kind.BYTES, shown=False),
        Column("memory_limit_bytes", "Limit", Kind.BYTES, shown=False),
        Column("streams", "Streams", Kind.COUNT),
        Column("streams_before", "Month before", Kind.COUNT),
        Column("consumers", "Consumers", Kind.COUNT),
        Column("consumers_before", "Month before", Kind.COUNT),
    )


def _fills(facts: Facts) -> Fills:
    now = facts.servers.now
    used, most = (
        now.at_end(c.SERVER_STORAGE_USED_BYTES),
        now.limit(c.SERVER_STORAGE_MAX_BYTES, c.SERVER_STORAGE_USED_BYTES),
    )
    ahead = {(each.system, each.server): each.at(30) for each in facts.forecasts
             if each.metric == c.SERVER_STORAGE_USED_BYTES.name}  # fmt: skip
    rows = []
    order = np.argsort(-divided(used, most), kind="stable")
    for index in order[:_SHOWN].tolist():
        size, limit = known(used[index]), known(most[index])
        if size is None or not limit:
            continue
        expected = ahead.get(now.names[index])
        rows.append(
            Fill(Name(now.names[index][-1], facts.path(now.names[index][:-1])), size, limit,
                 None if expected is None else expected.middle)
        )  # fmt: skip
    return Fills(
        "Storage of the servers",
        "Used at the end of the month, expected 30 days later (pale), and the threshold of the alert.",
        facts.threshold(t.SERVER_STORAGE_RATIO),
        tuple(rows),
    )


_CLOCKS_SHOWN = 12


def clocks_chapter(facts: Facts) -> Chapter:
    now = facts.servers.now
    offsets = _offsets(facts)
    if not now.has(c.SERVER_CLOCK_OFFSET_SECONDS):
        unknown = "No clock offset was measured in this month: all are unknown."
        return Chapter("clocks", "Clocks", (unknown,))
    line = facts.threshold(t.CLOCK_OFFSET)
    beyond = int((certain_offset(facts) > line).sum())
    sentences = (
        f"{fmt.plural(beyond, 'server was', 'servers were')} certainly off by more than "
        f"{fmt.span(line)}." if beyond else f"No server was certainly off by more than {fmt.span(line)}.",
        "max_age, message TTL, the duplicate window and the timestamps in a stream depend on the clock of "
        "a server. The order of messages does not.",
    )  # fmt: skip
    return Chapter(
        "clocks", "Clocks", sentences, (_table(facts),), (offsets,) if offsets.rows else ()
    )


def _table(facts: Facts) -> Table:
    now, before = facts.servers.now, facts.servers.before
    offset = c.SERVER_CLOCK_OFFSET_SECONDS
    columns = (
        certain_offset(facts), now.lowest(offset), now.highest(offset), now.mean(offset),
        now.highest(c.SERVER_CLOCK_UNCERTAINTY_SECONDS), before.lowest(offset),
        before.highest(offset),
    )  # fmt: skip
    rows = rows_of(now, ~np.isnan(now.highest(offset)), columns)
    return Table(
        "clocks",
        "Offsets from the exporter's clock",
        identity(now.labels),
        (
            Column("certain_seconds", "Certainly off", Kind.SECONDS,
                   "the largest offset minus the uncertainty", line=facts.threshold(t.CLOCK_OFFSET)),
            Column("offset_low", "Lowest", Kind.SECONDS, "negative: the server is behind"),
            Column("offset_high", "Highest", Kind.SECONDS),
            Column("offset_mean", "Mean", Kind.SECONDS),
            Column("uncertainty", "Uncertainty", Kind.SECONDS, "the largest of the month"),
            Column("offset_low_before", "Lowest before", Kind.SECONDS, shown=False),
            Column("offset_high_before", "Highest before", Kind.SECONDS, shown=False),
        ),
        sorted_rows(rows, by_column(len(now.labels))),
        note="If all are off by the same amount, the clock of the exporter is wrong.",
    )  # fmt: skip


def _offsets(facts: Facts) -> Offsets:
    now = facts.servers.now
    low, high = (each(c.SERVER_CLOCK_OFFSET_SECONDS) for each in (now.lowest, now.highest))
    uncertainty = np.nan_to_num(now.highest(c.SERVER_CLOCK_UNCERTAINTY_SECONDS))
    order = np.argsort(-certain_offset(facts), kind="stable")
    rows = [
        Offset(Name(now.names[index][-1], facts.path(now.names[index][:-1])), float(low[index]), float(high[index]),
               float(uncertainty[index]))
        for index in order[:_CLOCKS_SHOWN].tolist()
        if not np.isnan(low[index])
    ]  # fmt: skip
    return Offsets(
        "Clock offsets",
        "From the lowest to the highest offset of the month; pale: the uncertainty, dashed: the threshold "
        "of the alert.",
        facts.threshold(t.CLOCK_OFFSET),
        tuple(rows),
    )
