"""Forecast snapshots: forecasts and trends as of the newest whole day and of month ends."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import date, timedelta
from typing import Final

import pyarrow as pa  # type: ignore[import-untyped]

from spark_rollups.filesystem import RollupError, Root
from spark_rollups.forecasting.snapshot.batches import compute_batches
from spark_rollups.forecasting.snapshot.days import month_ends, newest_whole_day
from spark_rollups.forecasting.snapshot.tables import forecast_inputs, trend_inputs
from spark_rollups.progress import Progress
from spark_rollups.rollup.tables.manifest import Manifest, RollupFile
from spark_rollups.rollup.tables.reader import Rollups
from spark_rollups.rollup.tables.schemas import SNAPSHOT_TABLES
from spark_rollups.rollup.tables.writer import write_table
from spark_rollups.runner import Runner
from spark_rollups.spark_errors import with_consequence

Tables = dict[str, tuple[RollupFile, ...]]

# A snapshot depends on the days of this span.
_HISTORY_DAYS: Final = 365
_INPUTS: Final = {"forecasts": forecast_inputs, "trends": trend_inputs}


def make_snapshots(
    out: Root,
    manifest: Manifest,
    stamp: str,
    runner: Runner,
    progress: Progress,
) -> Manifest:
    """A manifest with the new snapshots; the same object if nothing has changed."""
    marks = {day: _mark(day, manifest) for day in _wanted(manifest)}
    unchanged = {day for day in marks if manifest.asof_marks.get(day) == marks[day]} & {
        *manifest.asof
    }
    outdated = [day for day in marks if day not in unchanged]
    if not outdated:
        return manifest
    rollups = Rollups(out, manifest)
    made = {day: manifest.asof[day] for day in unchanged}
    progress.begin("forecasts", len(outdated))
    for day in outdated:
        made[day] = _snapshot(rollups, day, stamp, runner)
        progress.step(1)
    progress.end()
    return replace(manifest, asof=dict(sorted(made.items())), asof_marks=marks)


def _snapshot(rollups: Rollups, day: str, stamp: str, runner: Runner) -> Tables:
    as_of = date.fromisoformat(day)
    try:
        with with_consequence("the days are written, forecasts are unchanged"):
            return {name: (_table(name, rollups, as_of, stamp, runner),) for name in _INPUTS}
    except (pa.ArrowException, MemoryError) as error:
        reason = (str(error).splitlines() or ["out of memory"])[0]
        raise RollupError(
            f"{rollups.root}: cannot compute forecasts as of {day}: {reason}; "
            "the days are written; --no-forecasts skips forecasts"
        ) from error


def _table(name: str, rollups: Rollups, day: date, stamp: str, runner: Runner) -> RollupFile:
    batches = _INPUTS[name](rollups, day)
    found = compute_batches(name, batches, day, rollups.root, stamp, runner)
    table = pa.concat_tables([SNAPSHOT_TABLES[name].empty_table(), *found])
    return write_table(rollups.root, f"{name}/asof={day}/{stamp}.parquet", name, table)


def _wanted(manifest: Manifest) -> list[str]:
    newest = newest_whole_day(manifest.days)
    return sorted({*month_ends(manifest.days), *([newest] if newest else [])})


def _mark(day: str, manifest: Manifest) -> str:
    """A hash that changes with any day that the snapshot depends on."""
    first = (date.fromisoformat(day) - timedelta(days=_HISTORY_DAYS)).isoformat()
    entries = [
        f"{each} {entry.fingerprint}"
        for each, entry in sorted(manifest.days.items())
        if first <= each <= day
    ]
    return hashlib.sha256("\n".join(entries).encode()).hexdigest()[:32]
