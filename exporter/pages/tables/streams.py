"""The table of all streams of a system."""

from __future__ import annotations

from exporter.model import Snapshot, Stream
from exporter.pages.status import links
from exporter.pages.status.level import Level
from exporter.pages.status.problems import Facts, Problem, level_of, stream_problems
from exporter.pages.status.unwell import suspect_streams
from exporter.pages.status.wording import UNKNOWN, percent, size, span
from exporter.pages.tables.table import Cell, Column, Query, Table, TableView, by, number_cell
from exporter.signals.retention import size_ratios

Key = tuple[str, str]


def streams_table(snapshot: Snapshot, facts: Facts, query: Query) -> TableView:
    return _Streams(snapshot, facts).table().view(snapshot.streams, query)


def used_share(row: Stream) -> float | None:
    """Of its nearest limit of size; None without one."""
    if row.config is None or not row.up:
        return None
    return max((ratio for _, ratio in size_ratios(row, row.config)), default=None)


class _Streams:
    def __init__(self, snapshot: Snapshot, facts: Facts) -> None:
        self._system = snapshot.system
        self._problems = {
            _key(row): found
            for row in suspect_streams(snapshot, facts)
            if (found := stream_problems(row, facts))
        }

    def table(self) -> Table[Stream]:
        return Table("stream", self._columns(), by(_names), self._cells, by(self._gravest))

    def _columns(self) -> tuple[Column[Stream], ...]:
        return (
            Column("stream", "Stream", by(lambda row: row.name)),
            Column("account", "Account", by(lambda row: row.account)),
            Column("state", "State", by(lambda row: (-self._level(row), self._state(row)))),
            Column("messages", "Messages", by(lambda row: _if_up(row, row.messages)), "", True),
            Column("bytes", "Size", by(lambda row: _if_up(row, row.bytes)), "", True),
            Column("used", "Used", by(used_share), "Of max_bytes or max_msgs, the larger share", True),
            Column("consumers", "Consumers", by(lambda row: _if_up(row, row.consumers)), "", True),
            Column("replicas", "Replicas", by(lambda row: row.config.replicas if row.config else None), "", True),
            Column("retention", "Retention", by(lambda row: row.config.retention if row.config else None)),
            Column("leader", "Leader", by(lambda row: row.leader or None)),
        )  # fmt: skip

    def _found(self, row: Stream) -> tuple[Problem, ...]:
        return self._problems.get(_key(row), ())

    def _level(self, row: Stream) -> Level:
        return level_of(self._found(row))

    def _gravest(self, row: Stream) -> tuple[int, float, int]:
        return -self._level(row), -(used_share(row) or 0.0), -row.bytes

    def _state(self, row: Stream) -> str:
        return stream_state(self._found(row))

    def _cells(self, row: Stream) -> tuple[Cell, ...]:
        found, level = self._found(row), self._level(row)
        since = found[0].since_seconds if level is not Level.OK else None
        config = row.config
        return (
            Cell(row.name, href=links.asset_page("stream", self._system, _key(row))),
            Cell(row.account),
            Cell(self._state(row), "" if since is None else f"for {span(since)}", level=level),
            number_cell(_if_up(row, row.messages)),
            Cell(size(_if_up(row, row.bytes))),
            Cell(percent(used_share(row))),
            number_cell(_if_up(row, row.consumers)),
            number_cell(config.replicas if config else None),
            Cell(config.retention if config else UNKNOWN),
            Cell(row.leader or UNKNOWN),
        )


def stream_state(problems: tuple[Problem, ...]) -> str:
    return problems[0].text if problems else "ok"


def _key(row: Stream) -> Key:
    return row.account, row.name


def _names(row: Stream) -> str:
    return f"{row.name}\n{row.account}"


def _if_up(row: Stream, value: int) -> int | None:
    return value if row.up else None
