"""Reads the rollups of the last month for checks that need history.

Uses deltalake and pyarrow, which are optional dependencies.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any

from exporter import catalog
from exporter.audit.history import facts
from exporter.audit.history.rollup_history import RollupHistory
from streamgauge.rollup_format import ROLLUP_FORMAT
from streamgauge.serving.log_escape import one_line
from streamgauge.serving.logs import StateLog

logger = logging.getLogger(__name__)

# Rollups run once a day. Older results mean that they have stopped.
STALE_AFTER = timedelta(days=4)
_REFRESH_SECONDS = 300.0


class HistoryError(Exception):
    """Rollups that cannot be used; the message is one line."""


def _today() -> date:
    return datetime.now(UTC).date()


@dataclass(slots=True)
class HistoryReader:
    """Reads again when there is a newer version."""

    location: str
    system: str
    today: Callable[[], date] = _today
    _number: int = -1
    _history: RollupHistory | None = None
    _refreshed: float = float("-inf")
    _refresh_thread: threading.Thread | None = None
    _states: StateLog = field(default_factory=lambda: StateLog(logger))

    def latest(self) -> RollupHistory | None:
        """The last history that was read, without waiting; None if it cannot be read.

        A thread reads it beside the polls: a month of a large system takes long.
        """
        now = time.monotonic()
        busy = self._refresh_thread is not None and self._refresh_thread.is_alive()
        if not busy and now - self._refreshed >= _REFRESH_SECONDS:
            self._refreshed = now
            self._refresh_thread = threading.Thread(
                target=self._refresh, name=f"rollups of {self.system}", daemon=True
            )
            self._refresh_thread.start()
        return self._history

    def _refresh(self) -> None:
        try:
            self.read()
        except Exception as error:  # no error of pyarrow may stop the audits
            logger.debug("reading rollups failed", exc_info=True)
            self._history, self._number = None, -1
            reason = one_line(str(error) or type(error).__name__)
            self._states.report("rollups", reason, logging.WARNING,
                                "rollups cannot be read, checks that need them are not evaluated",
                                system=self.system, reason=reason)  # fmt: skip
        else:
            self._states.report("rollups", "", logging.INFO, "rollups read",
                                system=self.system, location=self.location)  # fmt: skip

    def read(self) -> RollupHistory:
        """Raises HistoryError."""
        tables = RollupTables.open(self.location)
        history = self._history
        if history is None or tables.number != self._number:
            history = tables.history(self.system, self.today())
            self._history, self._number = history, tables.number
        if self.today() - history.newest > STALE_AFTER:
            raise HistoryError(
                f"{self.location}: the newest day is {history.newest}, run `streamgauge rollup`"
            )
        return history


@dataclass(frozen=True, slots=True)
class RollupTables:
    """The Delta tables `daily` and `quantiles` of one rollup."""

    location: str
    days: Sequence[date]
    daily: Any  # pyarrow data sets
    quantiles: Any
    number: int

    @classmethod
    def open(cls, location: str) -> RollupTables:
        """`daily` is committed last; its commit has the format and the version of `quantiles`."""
        try:
            from deltalake import DeltaTable
            from deltalake.exceptions import DeltaError, TableNotFoundError
        except ImportError as error:
            raise HistoryError("rollups need deltalake: pip install deltalake pyarrow") from error
        try:
            daily = DeltaTable(f"{location.rstrip('/')}/daily")
            note = _note(daily)
            version = note.get("tables", {}).get("quantiles")
            quantiles = DeltaTable(f"{location.rstrip('/')}/quantiles", version=version)
        except TableNotFoundError as error:
            raise HistoryError(f"{location}: no rollups found; run `streamgauge rollup`") from error
        except (DeltaError, OSError, ValueError) as error:
            raise HistoryError(one_line(f"{location}: {error}")) from error
        if note.get("format") != ROLLUP_FORMAT:
            raise HistoryError(f"{location}: the rollups do not have format {ROLLUP_FORMAT}")
        parts = (*daily.partitions(), *quantiles.partitions())
        days = sorted({date.fromisoformat(each["day"]) for each in parts})
        return cls(
            location,
            days,
            daily.to_pyarrow_dataset(),
            quantiles.to_pyarrow_dataset(),
            daily.version(),
        )

    def history(self, system: str, today: date) -> RollupHistory:
        # The current day is incomplete.
        newest = max((day for day in self.days if day < today), default=None)
        if newest is None:
            raise HistoryError(f"{self.location}: no complete day yet")
        builder = facts.HistoryBuilder(newest)
        for day in self.days:
            if 0 <= builder.age(day) < facts.MONTH:
                self._add_day(builder, day, system)
        return builder.history()

    def _add_day(self, builder: facts.HistoryBuilder, day: date, system: str) -> None:
        def rows(table: Any, metrics: Sequence[str], columns: Sequence[str]) -> Any:
            return self._read(table, day, system, metrics, columns)

        builder.add_daily(day, rows(self.daily, builder.metrics(day), facts.DAILY_COLUMNS))
        if builder.age(day) < facts.WEEK:
            metrics = [catalog.CONSUMER_NUM_ACK_PENDING.name]
            builder.add_quantiles(rows(self.quantiles, metrics, facts.QUANTILE_COLUMNS))
        if builder.age(day) < facts.DAY:
            builder.add_buckets(rows(self.daily, [facts.BUCKET], facts.BUCKET_COLUMNS))
            metrics = [catalog.STREAM_CONSUMERS.name]
            builder.add_growth(rows(self.daily, metrics, facts.GROWTH_COLUMNS))

    def _read(
        self, table: Any, day: date, system: str, metrics: Sequence[str], columns: Sequence[str]
    ) -> Any:
        import pyarrow.compute as pc  # type: ignore[import-untyped]

        wanted = (pc.field("day") == day) & pc.field("metric").isin(list(metrics))
        wanted &= pc.field("system") == system
        try:
            return table.to_table(columns=list(columns), filter=wanted)
        except (OSError, ValueError) as error:
            raise HistoryError(one_line(f"{self.location}: {day}: {error}")) from error


def _note(table: Any) -> dict[str, Any]:
    """What the newest rollup noted in its commit."""
    for commit in table.history():
        note = json.loads(commit.get("userMetadata") or "{}")
        if isinstance(note, dict) and "streamgauge" in note:
            found: dict[str, Any] = note["streamgauge"]
            return found
    return {}
