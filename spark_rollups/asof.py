"""Forecasts and trends as of a day: for the newest whole day, and for each month's end."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Final

import pyarrow as pa  # type: ignore[import-untyped]

from spark_rollups.asof_batches import worked_out
from spark_rollups.capacity import forecasts_asked, trends_asked
from spark_rollups.places import Place
from spark_rollups.progress import Progress
from spark_rollups.rollup_days import month_ends, newest_whole_day
from spark_rollups.rollup_files import Rollups
from spark_rollups.rollup_manifest import Manifest, RollupFile
from spark_rollups.schemas import ASOF_TABLES
from spark_rollups.tables_out import write_table
from spark_rollups.tasks_runner import Runner

Tables = dict[str, tuple[RollupFile, ...]]

# A day that changed matters to what is made as of the next months; models look no further back.
_LOOK_BACK_DAYS: Final = 365
_ASKED: Final = {"forecasts": forecasts_asked, "trends": trends_asked}


def make_asof(
    out: Place,
    manifest: Manifest,
    changed: Sequence[str],
    stamp: str,
    runner: Runner,
    progress: Progress,
) -> dict[str, Tables]:
    """All that the next manifest should name; empty where nothing had to be made."""
    wanted = _wanted(manifest)
    outdated = [day for day in wanted if day not in manifest.asof or _touched(day, changed)]
    if not outdated:
        return {}
    rollups = Rollups(out, manifest)
    made = {day: manifest.asof[day] for day in wanted if day not in outdated}
    progress.begin("forecasts", len(outdated))
    for day in outdated:
        made[day] = {
            name: (_made(name, rollups, date.fromisoformat(day), stamp, runner),) for name in _ASKED
        }
        progress.step(1)
    progress.end()
    return dict(sorted(made.items()))


def _made(name: str, rollups: Rollups, day: date, stamp: str, runner: Runner) -> RollupFile:
    batches = _ASKED[name](rollups, day)
    found = worked_out(name, batches, day, rollups.place, stamp, runner)
    table = pa.concat_tables([ASOF_TABLES[name].empty_table(), *found])
    return write_table(rollups.place, f"{name}/asof={day}/{stamp}.parquet", name, table)


def _wanted(manifest: Manifest) -> list[str]:
    newest = newest_whole_day(manifest.days)
    return sorted({*month_ends(manifest.days), *([newest] if newest else [])})


def _touched(day: str, changed: Sequence[str]) -> bool:
    end = date.fromisoformat(day)
    return any(0 <= (end - date.fromisoformat(each)).days <= _LOOK_BACK_DAYS for each in changed)
