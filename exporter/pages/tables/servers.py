"""The table of all servers of a system."""

from __future__ import annotations

from collections.abc import Sequence

from exporter.model import Server
from exporter.pages.status import links
from exporter.pages.status.level import Level
from exporter.pages.status.problems import Facts, level_of, server_problems
from exporter.pages.status.wording import UNKNOWN, percent, signed, size, span
from exporter.pages.tables.table import Cell, Column, Query, Table, TableView, by, number_cell


def servers_table(system: str, servers: Sequence[Server], facts: Facts, query: Query) -> TableView:
    return _Servers(system, facts).table().view(servers, query)


class _Servers:
    def __init__(self, system: str, facts: Facts) -> None:
        self._system, self._facts = system, facts

    def table(self) -> Table[Server]:
        return Table("server", self._columns(), by(_names), self._cells, by(self._gravest))

    def _columns(self) -> tuple[Column[Server], ...]:
        return (
            Column("server", "Server", by(lambda row: row.name)),
            Column("cluster", "Cluster", by(lambda row: row.cluster or None)),
            Column("state", "State", by(lambda row: (-self._level(row), row.name))),
            Column("version", "Version", by(lambda row: row.version or None)),
            Column("storage", "Storage", by(lambda row: row.storage_used), "Used by JetStream, of its limit", True),
            Column("memory", "Memory", by(lambda row: row.memory_used), "Used by JetStream, of its limit", True),
            Column("clock", "Clock offset", by(_offset), "Server clock minus the clock of the exporter", True),
            Column("leaders", "Leads streams", by(lambda row: row.stream_leaders), "", True),
            Column("cpu", "CPU", by(lambda row: row.cpu_ratio), "Of one core", True),
            Column("uptime", "Up for", by(lambda row: _uptime(row, self._facts.now)), "", True),
        )  # fmt: skip

    def _level(self, row: Server) -> Level:
        return level_of(server_problems(row, self._facts))

    def _gravest(self, row: Server) -> tuple[int, str]:
        return -self._level(row), row.name

    def _cells(self, row: Server) -> tuple[Cell, ...]:
        found = server_problems(row, self._facts)
        since = f"for {span(found[0].since_seconds)}" if found else ""
        return (
            Cell(row.name, href=links.asset_page("server", self._system, (row.name,))),
            Cell(row.cluster or UNKNOWN),
            Cell(server_state(row, self._facts), since, level=level_of(found)),
            Cell(row.version or UNKNOWN),
            _used(row.storage_used, row.storage_max),
            _used(row.memory_used, row.memory_max),
            Cell(signed(_offset(row))),
            number_cell(row.stream_leaders),
            Cell(percent(row.cpu_ratio)),
            Cell(span(_uptime(row, self._facts.now))),
        )


def server_state(row: Server, facts: Facts) -> str:
    problems = server_problems(row, facts)
    if problems:
        return problems[0].text
    return "ok" if row.up else "no response"


def _names(row: Server) -> str:
    return f"{row.name}\n{row.cluster}\n{row.version}"


def _offset(row: Server) -> float | None:
    return row.clock.offset_seconds if row.clock else None


def _uptime(row: Server, now: float) -> float | None:
    return None if row.start is None or not row.up else max(0.0, now - row.start.timestamp())


def _used(used: int | None, limit: int | None) -> Cell:
    return Cell(size(used), f"of {size(limit)}" if used is not None and limit else "")
