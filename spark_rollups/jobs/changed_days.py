"""Finds the changed days, and builds the manifest entry of a day from its outcomes."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from functools import reduce
from operator import or_

from spark_rollups.datasource.archive_files import Archive, fingerprint
from spark_rollups.jobs.unit import Outcome
from spark_rollups.rollup.tables.manifest import Day, RollupFile
from spark_rollups.rollup.tables.schemas import DAY_TABLES


def day_fingerprint(archive: Archive, day: str, meaning: str, *, from_raw: bool) -> str:
    """Includes the day before if counters continue from its samples."""
    found = archive.days[day]
    files = list(found.files)
    if from_raw or not found.hourly:
        before = archive.days.get((date.fromisoformat(day) - timedelta(days=1)).isoformat())
        files += before.files if before else ()
    return fingerprint(files, meaning)


def changed_days(prints: Mapping[str, str], *known: Mapping[str, Day]) -> list[str]:
    """Days without a result from these files."""
    return [
        day
        for day, mark in prints.items()
        if not any(day in days and days[day].fingerprint == mark for days in known)
    ]


def day_of(outcomes: Sequence[Outcome], mark: str, *, from_raw: bool, samples: bool) -> Day:
    tables: dict[str, tuple[RollupFile, ...]] = {
        name: tuple(
            sorted(
                (file for outcome in outcomes for file in outcome.tables.get(name, ())),
                key=lambda file: file.path,
            )
        )
        for name in DAY_TABLES
    }
    return Day(
        fingerprint=mark,
        hours=reduce(or_, (outcome.hours for outcome in outcomes), 0),
        rows=sum(outcome.rows for outcome in outcomes),
        tables=tables,
        raw=from_raw,
        samples=samples,
    )


def missing_spans(days: Iterable[str]) -> list[tuple[date, date]]:
    """Gaps between the days, as first and last day."""
    known = [date.fromisoformat(day) for day in sorted(days)]
    one = timedelta(days=1)
    return [
        (before + one, after - one)
        for before, after in itertools.pairwise(known)
        if after - before > one
    ]
