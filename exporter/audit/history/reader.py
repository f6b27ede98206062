"""What the rollups of the archive say of the last day, week and month, for checks that need it.

Reads the files that `streamgauge rollup` writes, with pyarrow alone, which is optional.
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
from exporter.audit.history.queries import RollupHistory
from streamgauge.serving.log_escape import one_line
from streamgauge.serving.logs import StateLog

logger = logging.getLogger(__name__)

ROLLUP_FORMAT = 1
# Rollups come once a day; who is this late has stopped, and old peaks would pass for new ones.
STALE_AFTER = timedelta(days=4)
_LOOK_SECONDS = 300.0


class HistoryError(Exception):
    """Rollups that cannot be used, in one line."""


def _today() -> date:
    return datetime.now(UTC).date()


@dataclass(slots=True)
class HistoryReader:
    """Reads anew when there is a newer result."""

    place: str
    system: str
    today: Callable[[], date] = _today
    _number: int = -1
    _history: RollupHistory | None = None
    _looked: float = float("-inf")
    _reading: threading.Thread | None = None
    _states: StateLog = field(default_factory=lambda: StateLog(logger))

    def latest(self) -> RollupHistory | None:
        """What was read last, for the exporter: a month of a large system takes long to read, so
        it is read beside the polls, and what cannot be read is logged and unknown."""
        now = time.monotonic()
        busy = self._reading is not None and self._reading.is_alive()
        if not busy and now - self._looked >= _LOOK_SECONDS:
            self._looked = now
            self._reading = threading.Thread(
                target=self._read_quietly, name=f"rollups of {self.system}", daemon=True
            )
            self._reading.start()
        return self._history

    def _read_quietly(self) -> None:
        try:
            self.read()
        except Exception as error:  # whatever pyarrow meets there must not end the audits
            logger.debug("reading rollups failed", exc_info=True)
            self._history, self._number = None, -1
            reason = one_line(str(error) or type(error).__name__)
            self._states.report("rollups", reason, logging.WARNING,
                                "rollups cannot be used: checks that need them are unknown",
                                system=self.system, reason=reason)  # fmt: skip
        else:
            self._states.report("rollups", "", logging.INFO, "rollups are read",
                                system=self.system, place=self.place)  # fmt: skip

    def read(self) -> RollupHistory:
        """Raises HistoryError."""
        files = RollupFiles.open(self.place)
        number, manifest = files.newest_manifest()
        history = self._history
        if history is None or number != self._number:
            history = files.history(manifest, self.system, self.today())
            self._history, self._number = history, number
        if self.today() - history.newest > STALE_AFTER:
            raise HistoryError(f"{self.place}: the newest day is {history.newest}")
        return history


@dataclass(frozen=True, slots=True)
class RollupFiles:
    """The folder or bucket that the rollups are in."""

    place: str
    files: Any  # a file system of pyarrow
    base: str

    @classmethod
    def open(cls, place: str) -> RollupFiles:
        try:
            from pyarrow import fs  # type: ignore[import-untyped]
        except ImportError as error:
            raise HistoryError("rollups need pyarrow: pip install pyarrow") from error
        try:
            if "://" in place:
                return cls(place, *fs.FileSystem.from_uri(place))
            return cls(place, fs.LocalFileSystem(), place.rstrip("/"))
        except (OSError, ValueError) as error:
            raise HistoryError(one_line(f"{place}: {error}")) from error

    def newest_manifest(self) -> tuple[int, dict[str, Any]]:
        from pyarrow import fs

        try:
            selector = fs.FileSelector(f"{self.base}/rollup", allow_not_found=True)
            names = [one.base_name for one in self.files.get_file_info(selector)]
            numbers = [int(name.removesuffix(".json")) for name in names if _is_manifest(name)]
            if not numbers:
                raise HistoryError(
                    f"{self.place}: no rollups are here; `streamgauge rollup` makes them"
                )
            path = f"rollup/{max(numbers):010d}.json"
            with self.files.open_input_stream(f"{self.base}/{path}") as stream:
                manifest = json.loads(stream.read())
        except (OSError, ValueError) as error:
            raise HistoryError(one_line(f"{self.place}: {error}")) from error
        if not isinstance(manifest, dict) or manifest.get("format") != ROLLUP_FORMAT:
            raise HistoryError(f"{self.place}: {path} is not of format {ROLLUP_FORMAT}")
        return max(numbers), manifest

    def history(self, manifest: dict[str, Any], system: str, today: date) -> RollupHistory:
        days = {date.fromisoformat(day): entry for day, entry in manifest["days"].items()}
        # A day that is not over tells of a part of it only.
        newest = max((day for day in days if day < today), default=None)
        if newest is None:
            raise HistoryError(f"{self.place}: there is no whole day yet")
        found = facts.Facts(newest)
        for day, entry in sorted(days.items()):
            if 0 <= found.age(day) < facts.MONTH:
                self._add_day(found, day, entry.get("tables", {}), system)
        return found.history()

    def _add_day(self, found: facts.Facts, day: date, tables: dict[str, Any], system: str) -> None:
        def rows(table: str, metrics: Sequence[str], columns: Sequence[str]) -> Iterator[Any]:
            for each in tables.get(table, ()):
                yield self._read(each["path"], system, metrics, columns)

        for table in rows("daily", found.metrics(day), facts.DAILY_COLUMNS):
            found.add_daily(day, table)
        if found.age(day) < facts.WEEK:
            asked = [catalog.CONSUMER_NUM_ACK_PENDING.name]
            for table in rows("quantiles", asked, facts.QUANTILE_COLUMNS):
                found.add_quantiles(table)
        if found.age(day) < facts.DAY:
            for table in rows("daily", [facts.BUCKET], facts.BUCKET_COLUMNS):
                found.add_buckets(table)
            asked = [catalog.STREAM_CONSUMERS.name]
            for table in rows("daily", asked, facts.GROWTH_COLUMNS):
                found.add_growth(table)

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
            raise HistoryError(one_line(f"{self.place}: {path}: {error}")) from error


def _is_manifest(name: str) -> bool:
    return name.endswith(".json") and name.removesuffix(".json").isdecimal()
