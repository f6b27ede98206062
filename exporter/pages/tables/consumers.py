"""The table of all consumers of a system."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import repeat
from operator import add, sub

from exporter import catalog
from exporter.model import Consumer, Snapshot
from exporter.pages.status import links
from exporter.pages.status.level import Level
from exporter.pages.status.problems import Facts, Problem, consumer_problems, level_of
from exporter.pages.status.unwell import suspect_consumers
from exporter.pages.status.wording import UNKNOWN, span
from exporter.pages.tables.table import Cell, Column, Query, Table, TableView, by, number_cell
from exporter.samples.consumer import consumer_key
from exporter.samples.rows import each
from exporter.signals.results import ConsumerSignals

_MORE_THAN_ANY_BACKLOG = 2.0**50


def consumers_table(snapshot: Snapshot, facts: Facts, query: Query) -> TableView:
    return _Consumers(snapshot, facts).table().view(snapshot.consumers, query)


class _Consumers:
    def __init__(self, snapshot: Snapshot, facts: Facts) -> None:
        self._system, self._facts = snapshot.system, facts

    def table(self) -> Table[Consumer]:
        return Table("consumer", self._columns(), _names, self._cells, self._gravest)

    def _columns(self) -> tuple[Column[Consumer], ...]:
        return (
            Column("consumer", "Consumer", partial(each, name="name")),
            Column("stream", "Stream", partial(each, name="stream")),
            Column("account", "Account", partial(each, name="account")),
            Column("state", "State", self._states, "The gravest problem, else the verdict"),
            Column("pending", "Pending", by(lambda row: _if_up(row, row.num_pending)), "num_pending: messages not delivered", True),
            Column("unacked", "Ack pending", by(lambda row: _if_up(row, row.num_ack_pending)), "num_ack_pending of max_ack_pending: delivered, not acked", True),
            Column("lag", "Lag", self._lags, "Age of the oldest unfinished message", True),
            Column("redelivered", "Redelivered", by(lambda row: _if_up(row, row.num_redelivered)), "num_redelivered: redelivered and not acked", True),
            Column("waiting", "Waiting", by(_waiting), "num_waiting: waiting pull requests", True),
            Column("leader", "Leader", by(lambda row: row.leader or None)),
        )  # fmt: skip

    def _signals(self, rows: Sequence[Consumer]) -> Iterator[ConsumerSignals | None]:
        return map(self._facts.signals.consumers.get, map(consumer_key, rows))

    def _lags(self, rows: Sequence[Consumer]) -> list[float | None]:
        return [one.lag if one else None for one in self._signals(rows)]

    def _problems(self, rows: Sequence[Consumer]) -> dict[int, tuple[Problem, ...]]:
        """By the identity of the row, which is found faster than its names."""
        return {
            id(row): problems
            for row in suspect_consumers(rows, self._facts)
            if (problems := consumer_problems(row, self._facts))
        }

    def _states(self, rows: Sequence[Consumer]) -> list[str]:
        """The gravest first, then by their text."""
        of_verdicts = [f"{len(Level)}{text}" for text in catalog.VERDICTS]
        all_problems, found = self._problems(rows), []
        for row, one in zip(rows, self._signals(rows), strict=True):
            problems = all_problems.get(id(row), ())
            if problems or row.paused or one is None or one.verdict is None:
                rank = len(Level) - level_of(problems)
                found.append(f"{rank}{state_text(row, self._facts, problems)}")
            else:
                found.append(of_verdicts[one.verdict])
        return found

    def _gravest(self, rows: Sequence[Consumer]) -> Iterator[float]:
        """One float, which sorts 100,000 rows faster than a tuple or a large integer."""
        ranks = {
            place: -level_of(problems) * _MORE_THAN_ANY_BACKLOG
            for place, problems in self._problems(rows).items()
        }
        backlog = map(add, each(rows, "num_pending"), each(rows, "num_ack_pending"))
        return map(sub, map(ranks.get, map(id, rows), repeat(0.0)), backlog)

    def _cells(self, row: Consumer) -> tuple[Cell, ...]:
        key = consumer_key(row)
        signals, problems = (
            self._facts.signals.consumers.get(key),
            consumer_problems(row, self._facts),
        )
        level = level_of(problems)
        since = problems[0].since_seconds if problems and level is not Level.OK else None
        most = row.config.max_ack_pending if row.config else None
        return (
            Cell(row.name, href=links.asset_page("consumer", self._system, key)),
            Cell(row.stream, href=links.asset_page("stream", self._system, key[:2])),
            Cell(row.account),
            Cell(
                state_text(row, self._facts, problems),
                "" if since is None else f"for {span(since)}",
                level=level,
            ),
            number_cell(_if_up(row, row.num_pending)),
            number_cell(_if_up(row, row.num_ack_pending), f"of {most:,}" if most else ""),
            Cell(span(signals.lag) if signals and row.up else UNKNOWN),
            number_cell(_if_up(row, row.num_redelivered)),
            number_cell(_waiting(row)),
            Cell(row.leader or UNKNOWN),
        )


def state_text(row: Consumer, facts: Facts, problems: tuple[Problem, ...]) -> str:
    """What fires is never called ok; without a problem the verdict."""
    if problems and level_of(problems) is not Level.OK:
        return problems[0].text
    if row.paused:
        return "paused"
    signals = facts.signals.consumers.get(consumer_key(row))
    if signals is None or signals.verdict is None:
        return problems[0].text if problems else "not judged yet"
    return catalog.VERDICTS[signals.verdict]


def _names(rows: Sequence[Consumer]) -> Iterator[str]:
    return map("\n".join, map(consumer_key, rows))


def _if_up(row: Consumer, value: int) -> int | None:
    return value if row.up else None


def _waiting(row: Consumer) -> int | None:
    push = row.config is not None and row.config.kind == "push"
    return None if push or not row.up else row.num_waiting
