"""Forecast snapshots: forecasts and trends as of the newest whole day and of month ends."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from functools import reduce
from typing import Any

from spark_rollups.forecasting.plans import HISTORY_DAYS, forecasts, trends
from spark_rollups.progress import Progress
from spark_rollups.rollup.tables.delta_notes import (
    changed_partitions,
    newest_note,
    note_text,
    read_version,
)
from spark_rollups.rollup.tables.delta_reader import read_table
from spark_rollups.rollup.tables.delta_writer import replace_partitions
from spark_rollups.rollup.tables.reader import Rollups
from spark_rollups.session import Session
from streamgauge.rollup_format import ROLLUP_FORMAT


def outdated_snapshots(rollups: Rollups) -> tuple[list[str], list[str]]:
    """Days whose forecasts are missing or depend on days that changed, and days to drop."""
    note = newest_note(rollups.root, "forecasts")
    wanted, made = wanted_days(rollups), note.get("days", [])
    now = rollups.version("daily").number
    changed = changed_partitions(rollups.root, "daily", note.get("daily", now), now)
    outdated = [
        day for day in wanted if day not in made or changed is None or _touched(day, changed)
    ]
    return outdated, [day for day in made if day not in wanted]


def write_snapshots(
    session: Session,
    rollups: Rollups,
    outdated: Sequence[str],
    dropped: Sequence[str],
    progress: Progress,
) -> None:
    """`forecasts` last: its commit lists the days of the result."""
    out, days = rollups.root, [date.fromisoformat(day) for day in outdated]
    note: dict[str, Any] = {"format": ROLLUP_FORMAT, "daily": rollups.version("daily").number}
    span = outdated[-1] if outdated else "none"
    for name in ("trends", "forecasts"):
        if name == "forecasts":
            kept = [day for day in newest_note(out, name).get("days", []) if day not in dropped]
            note = {**note, "days": sorted({*kept, *outdated}),
                    "tables": {"trends": read_version(out, "trends").number}}  # fmt: skip
        with session.job(f"rollup {span}: {name}", progress):
            daily = _table(session.spark, rollups, "daily")
            if name == "trends":
                parts = [trends(daily, day) for day in days]
            else:
                hourly = _table(session.spark, rollups, "hourly_gauges")
                parts = [forecasts(hourly, daily, day) for day in days]
            rows = reduce(lambda one, other: one.unionByName(other), parts)
            rows = rows.hint("rebalance", "as_of")
            replace_partitions(rows, out, name, [*outdated, *dropped], note_text(**note))


def wanted_days(rollups: Rollups) -> list[str]:
    days = [day.isoformat() for day in rollups.days()]
    newest = newest_whole_day(days, rollups.hours(date.fromisoformat(days[-1])) if days else 0)
    return sorted({*month_ends(days), *([newest] if newest else [])})


def newest_whole_day(days: Sequence[str], hours: int) -> str | None:
    """A day is whole if it has its last hour, or if a later day exists; `hours` of the newest."""
    if not days:
        return None
    return days[-1] if hours >> 23 & 1 or len(days) == 1 else days[-2]


def month_ends(days: Iterable[str]) -> list[str]:
    """The last day with data of each past month."""
    return [day for day, after in itertools.pairwise(sorted(days)) if day[:7] != after[:7]]


def _touched(day: str, changed: Iterable[str]) -> bool:
    first = (date.fromisoformat(day) - timedelta(days=HISTORY_DAYS - 1)).isoformat()
    return any(first <= each <= day for each in changed)


def _table(spark: Any, rollups: Rollups, name: str) -> Any:
    return read_table(spark, rollups.root, name, rollups.version(name).number)
