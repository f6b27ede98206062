"""How far each table covers a log, from the application transactions of its newest version."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from archive.tables.archive_tables import ArchiveTables, position_name
from archive.tables.schema import TABLES


class Coverage:
    """Positions are numbers of segments; a table covers every segment up to its position.

    A day that could not be written has a position of its own, until it is written.
    """

    def __init__(self, tables: ArchiveTables, log: str) -> None:
        self._tables, self._log = tables, log

    def of(self, table: str, day: str = "") -> int:
        found = self._day_position(table, day) if day else None
        return self._tables.position(table, position_name(self._log)) if found is None else found

    def least(self, day: str) -> int:
        """Every table covers this day up to here."""
        return min(self.of(table, day) for table in TABLES)

    @property
    def bounds(self) -> tuple[int, int]:
        """The positions of the last and the first table; they differ after an interruption."""
        positions = [self.of(table) for table in TABLES]
        return min(positions), max(positions)

    def lagging(self, upto: int, days: Iterable[str]) -> frozenset[str]:
        """The tables that do not cover these days up to there."""
        places = ["", *days]
        return frozenset(
            table for table in TABLES if any(self.of(table, day) < upto for day in places)
        )

    def next_positions(
        self, table: str, upto: int, days: Iterable[str], failed: Iterable[str]
    ) -> Mapping[str, int]:
        """The application transactions of a commit that covers everything up to `upto`."""
        own = [day for day in days if self._day_position(table, day) is not None]
        return {
            position_name(self._log): upto,
            **{position_name(self._log, day): upto for day in own},
            **{position_name(self._log, day): self.of(table, day) for day in failed},
        }

    def _day_position(self, table: str, day: str) -> int | None:
        return self._tables.logs[table].position(position_name(self._log, day))
