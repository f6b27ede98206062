"""A rollup run: the tables of changed days, then forecasts and trends.

Each table is replaced in one commit. The last commit of a run names the versions of the others, so
readers see a whole result or the one before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from archive.tables.schema import HOURLY, SAMPLES
from spark_rollups.filesystem import Root
from spark_rollups.jobs.archive_days import ArchiveDays, missing_spans, open_archive
from spark_rollups.jobs.day_tables import DayTables
from spark_rollups.jobs.output_lock import output_lock
from spark_rollups.jobs.settings import RollupSettings
from spark_rollups.jobs.snapshots import outdated_snapshots, write_snapshots
from spark_rollups.progress import Progress
from spark_rollups.rollup.tables.delta_notes import newest_note, vacuum
from spark_rollups.rollup.tables.reader import Rollups, check_format, open_rollups
from spark_rollups.rollup.tables.schemas import DAY_TABLES, SNAPSHOT_TABLES
from spark_rollups.session import Session
from spark_rollups.spark_errors import spark_failures
from streamgauge.rollup_format import ROLLUP_FORMAT

# Readers may still use earlier results.
_KEPT_HOURS: Final = 7 * 24


@dataclass(frozen=True, slots=True)
class Result:
    rollups: Rollups
    days: list[str] = field(default_factory=list)  # written in this run
    snapshots: list[str] = field(default_factory=list)  # days with new forecasts
    rows: int = 0


class _Spark:
    """Starts Spark only if there is work."""

    def __init__(self, start: Callable[[], Session]) -> None:
        self._start = start

    @cached_property
    def session(self) -> Session:
        return self._start()


def rollup(settings: RollupSettings, start: Callable[[], Session], progress: Progress) -> Result:
    """`start` is called only if there is work, so that Spark is not started without."""
    archive, out = open_archive(settings.archive), Root(settings.out)
    archive.between(settings.first, settings.last)  # reports wrong bounds before anything else
    with output_lock(out):
        return _rolled(settings, archive, out, _Spark(start), progress)


def _rolled(
    settings: RollupSettings, archive: ArchiveDays, out: Root, spark: _Spark, progress: Progress
) -> Result:
    old = newest_note(out, "daily")
    check_format(out, old)
    days = archive.between(settings.first, settings.last)
    for first, last in missing_spans(days):
        span = f"{first} to {last}" if first < last else str(first)
        progress.log(f"missing in the archive: {span}")
    changed = _changed(settings, archive, old, progress)
    todo = [day for day in days if day in changed]
    if todo:
        note = {
            "format": ROLLUP_FORMAT, "archive": archive.versions, "settings": settings.meaning(),
            "waiting": sorted(changed - set(todo)),
        }  # fmt: skip
        with spark_failures("the old result is unchanged" if old else "there is no result yet"):
            DayTables(spark.session, archive, todo, settings).write(out, note, progress)
    rollups = open_rollups(settings.out)
    made = _snapshots(rollups, spark, progress) if settings.forecasts else []
    for name in DAY_TABLES if todo else ():
        vacuum(out, name, _KEPT_HOURS)
    for name in SNAPSHOT_TABLES if made else ():
        vacuum(out, name, _KEPT_HOURS)
    return Result(rollups, todo, made, _rows(archive, todo, from_raw=settings.from_raw))


def _changed(
    settings: RollupSettings, archive: ArchiveDays, old: dict[str, Any], progress: Progress
) -> set[str]:
    """Days whose rows in the archive are not those that the result was computed from."""
    if old.get("settings") != settings.meaning():
        return set(archive.days)
    changed = archive.changed_since(old["archive"], from_raw=settings.from_raw)
    if changed is None:
        progress.log("the archive's log does not reach back to the last run: all days are computed")
        return set(archive.days)
    return changed | (set(old["waiting"]) & set(archive.days))


def _snapshots(rollups: Rollups, spark: _Spark, progress: Progress) -> list[str]:
    outdated, dropped = outdated_snapshots(rollups)
    if outdated:
        with spark_failures("the days are written, forecasts are unchanged"):
            write_snapshots(spark.session, rollups, outdated, dropped, progress)
    return outdated


def _rows(archive: ArchiveDays, days: list[str], *, from_raw: bool) -> int:
    files = archive.tables[SAMPLES if from_raw else HOURLY].files
    return sum(file.rows for file in files if file.partition in days)
