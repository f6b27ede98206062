"""Reads the rollups of the last month for checks that need history.

Uses only pyarrow, which is an optional dependency.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any

from exporter import catalog
from exporter.audit.history import facts
from exporter.audit.history.rollup_history import RollupHistory
from streamgauge.serving.log_escape import one_line
from streamgauge.serving.logs import StateLog

logger = logging.getLogger(__name__)

ROLLUP_FORMAT = 1
# Rollups run once a day. Older results mean that they have stopped.
STALE_AFTER = timedelta(days=4)
_REFRESH_SECONDS = 300.0


class HistoryError(Exception):
    """Rollups that cannot be used; the message is one line."""


def _today() -> date:
    return datetime.now(UTC).date()


@dataclass(slots=True)
class HistoryReader:
    """Reads again when there is a newer manifest."""

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
        files = RollupFiles.open(self.location)
        number, manifest = files.newest_manifest()
        history = self._history
        if history is None or number != self._number:
            history = files.history(manifest, self.system, self.today())
            self._history, self._number = history, number
        if self.today() - history.newest > STALE_AFTER:
            raise HistoryError(
                f"{self.location}: the newest day is {history.newest}, run `streamgauge rollup`"
            )
        return history


@dataclass(frozen=True, slots=True)
class RollupFiles:
    """The directory or bucket of the rollups."""

    location: str
    files: Any  # a pyarrow file system
    base: str

    @classmethod
    def open(cls, location: str) -> RollupFiles:
        try:
            from pyarrow import fs  # type: ignore[import-untyped]
        except ImportError as error:
            raise HistoryError("rollups need pyarrow: pip install pyarrow") from error
        try:
            if "://" in location:
                return cls(location, *fs.FileSystem.from_uri(location))
            return cls(location, fs.LocalFileSystem(), location.rstrip("/"))
        except (OSError, ValueError) as error:
            raise HistoryError(one_line(f"{location}: {error}")) from error

    def newest_manifest(self) -> tuple[int, dict[str, Any]]:
        from pyarrow import fs

        try:
            selector = fs.FileSelector(f"{self.base}/rollup", allow_not_found=True)
            names = [one.base_name for one in self.files.get_file_info(selector)]
            numbers = [int(name.removesuffix(".json")) for name in names if _is_manifest(name)]
            if not numbers:
                raise HistoryError(f"{self.location}: no rollups found; run `streamgauge rollup`")
            path = f"rollup/{max(numbers):010d}.json"
            with self.files.open_input_stream(f"{self.base}/{path}") as stream:
                manifest = json.loads(stream.read())
        except (OSError, ValueError) as error:
            raise HistoryError(one_line(f"{self.location}: {error}")) from error
        if not isinstance(manifest, dict) or manifest.get("format") != ROLLUP_FORMAT:
            raise HistoryError(f"{self.location}: {path} does not have format {ROLLUP_FORMAT}")
        return max(numbers), manifest

    def history(self, manifest: dict[str, Any], system: str, today: date) -> RollupHistory:
        days = {date.fromisoformat(day): entry for day, entry in manifest["days"].items()}
        # The current day is incomplete.
        newest = max((day for day in days if day < today), default=None)
        if newest is None:
            raise HistoryError(f"{self.location}: no complete day yet")
        builder = facts.HistoryBuilder(newest)
        for day, entry in sorted(days.items()):
            if 0 <= builder.age(day) < facts.MONTH:
                self._add_day(builder, day, entry.get("tables", {}), system)
        return builder.history()

    def _add_day(
        self, builder: facts.HistoryBuilder, day: date, tables: dict[str, Any], system: str
    ) -> None:
        def rows(table: str, metrics: Sequence[str], columns: Sequence[str]) -> Iterator[Any]:
            for each in tables.get(table, ()):
                yield self._read(each["path"], system, metrics, columns)

        for table in rows("daily", builder.metrics(day), facts.DAILY_COLUMNS):
            builder.add_daily(day, table)
        if builder.age(day) < facts.WEEK:
            metrics = [catalog.CONSUMER_NUM_ACK_PENDING.name]
            for table in rows("quantiles", metrics, facts.QUANTILE_COLUMNS):
                builder.add_quantiles(table)
        if builder.age(day) < facts.DAY:
            for table in rows("daily", [facts.BUCKET], facts.BUCKET_COLUMNS):
                builder.add_buckets(table)
            metrics = [catalog.STREAM_CONSUMERS.name]
            for table in rows("daily", metrics, facts.GROWTH_COLUMNS):
                builder.add_growth(table)

    def _read(self, path: str, system: str, metrics: Sequence[str], columns: Sequence[str]) -> Any:
        import pyarrow.compute as pc  # type: ignore[import-untyped]
        import pyarrow.parquet as pq  # type: ignore[import-untyped]

        wanted = (pc.field("system") == system) & pc.field("metric").isin(list(metrics))
        try:
            return pq.read_table(
                f"{self.base}/{path}",
                filesystem=self.files,
                columns=list(columns),
                filters=wanted,
                partitioning=None,
            )
        except (OSError, ValueError) as error:
            raise HistoryError(one_line(f"{self.location}: {path}: {error}")) from error


def _is_manifest(name: str) -> bool:
    return name.endswith(".json") and name.removesuffix(".json").isdecimal()
