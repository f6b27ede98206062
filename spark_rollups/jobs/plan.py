"""Splits days into units of work of bounded size.

A unit holds whole metrics, because several series of a metric may be one identity.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Final

from archive.tables.schema import HOURLY, SAMPLES
from spark_rollups.datasource.archive_files import Archive, ArchiveFile
from spark_rollups.datasource.parquet_footers import Weights, added_up, weights_of
from spark_rollups.jobs.unit import Unit

# A worker holds a unit in memory: about 100 bytes per row, 30 per sample.
MOST_ROWS: Final = 4_000_000
MOST_SAMPLES: Final = 16_000_000
# Smaller units cost more overhead than they gain in balance.
LEAST_ROWS: Final = 200_000
LEAST_SAMPLES: Final = 2_000_000
# Units per slot, so that the last ones are short.
_ROUNDS: Final = 3


@dataclass(frozen=True, slots=True)
class RollupRequest:
    """The source of a run, and its metrics by table."""

    metrics: tuple[str, ...]  # all metrics of the archive
    states: tuple[str, ...]
    quantiles: tuple[str, ...]
    from_raw: bool


def plan(archive: Archive, days: Sequence[str], request: RollupRequest, slots: int) -> list[Unit]:
    """All units, in the order of days."""
    drafts = [draft for day in days for draft in _drafts(archive, day, request)]
    weights = {
        table: weights_of(
            archive.root,
            sorted({path for draft in drafts if draft.source == table for path in draft.files}),
            table,
            request.metrics,
        )
        for table in (HOURLY, SAMPLES)
    }
    sized = [
        (draft, _wanted(draft, added_up(weights[draft.source][path] for path in draft.files)))
        for draft in drafts
    ]
    targets = {table: _target(table, sized, slots) for table in (HOURLY, SAMPLES)}
    units = [unit for draft, weight in sized for unit in _cut(draft, weight, targets[draft.source])]
    return [replace(unit, name=f"{index:05d}") for index, unit in enumerate(units)]


def _drafts(archive: Archive, day: str, request: RollupRequest) -> Iterator[Unit]:
    """The units of a whole day, before splitting."""
    found = archive.days[day]
    statistics, samples = _paths(found.hourly), _paths(found.samples)
    if request.from_raw or not statistics:
        earlier = archive.days.get((date.fromisoformat(day) - timedelta(days=1)).isoformat())
        before = (earlier.hourly or earlier.samples) if earlier else ()
        yield Unit(
            day, SAMPLES, samples, None, "days", 0,
            before_source=HOURLY if earlier and earlier.hourly else SAMPLES, before=_paths(before),
        )  # fmt: skip
    else:
        yield Unit(day, HOURLY, statistics, None, "days", 0)
    for makes, metrics in (("shares", request.states), ("quantiles", request.quantiles)):
        known = tuple(sorted(set(metrics) & set(request.metrics)))
        if samples and known:
            yield Unit(day, SAMPLES, samples, known, makes, 0)


def _wanted(draft: Unit, weights: Weights) -> Weights:
    if draft.metrics is None:
        return weights
    return {name: weight for name, weight in weights.items() if name in draft.metrics}


def _target(source: str, sized: Iterable[tuple[Unit, Weights]], slots: int) -> int:
    """The size of a unit that keeps all slots busy."""
    most, least = (MOST_ROWS, LEAST_ROWS) if source == HOURLY else (MOST_SAMPLES, LEAST_SAMPLES)
    total = sum(sum(weights.values()) for draft, weights in sized if draft.source == source)
    return min(most, max(least, total // (slots * _ROUNDS)))


def _cut(draft: Unit, weights: Weights, target: int) -> Iterator[Unit]:
    total = sum(weights.values())
    if total <= target:
        # metrics stays None: the rows have the metrics, even if footers lack statistics.
        yield replace(draft, weight=total)
        return
    for metrics in _metric_groups(weights, target):
        weight = sum(weights[name] for name in metrics)
        buckets = -(-weight // (MOST_ROWS if draft.source == HOURLY else MOST_SAMPLES))
        for bucket in range(max(buckets, 1)):
            yield replace(
                draft, metrics=metrics, weight=weight // max(buckets, 1),
                bucket=bucket, buckets=max(buckets, 1),
            )  # fmt: skip


def _metric_groups(weights: Weights, target: int) -> Iterator[tuple[str, ...]]:
    """Groups of about equal size, in the order of metrics in the files."""
    held: list[str] = []
    weight = 0
    for name in sorted(weights):
        if held and weight + weights[name] > target:
            yield tuple(held)
            held, weight = [], 0
        held.append(name)
        weight += weights[name]
    if held:
        yield tuple(held)


def groups(units: Iterable[Unit], slots: int) -> list[list[Unit]]:
    """Groups small units into tasks, to reduce overhead.

    A small day stays in one task, so that it is finished early.
    """
    units = list(units)
    share = sum(map(cost, units)) / max(slots * _ROUNDS, 1)
    packed: list[list[Unit]] = []
    held = 0.0
    for unit in units:
        begins = bool(packed) and unit.day != packed[-1][-1].day
        if not packed or held >= LEAST_ROWS or (begins and held >= share):
            packed.append([])
            held = 0.0
        packed[-1].append(unit)
        held += cost(unit)
    return packed


def cost(unit: Unit) -> float:
    """In rows of statistics: a sample costs a tenth of a row, files of a unit a thousand rows."""
    return 1_000 + unit.weight * (1.0 if unit.source == HOURLY else 0.1)


def _paths(files: Iterable[ArchiveFile]) -> tuple[str, ...]:
    return tuple(each.path for each in files)
