"""A rollup run: writes the tables of changed days and a manifest, then forecasts and a manifest.

Until the first manifest readers see the old result. A failed run is resumed by day.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from spark_rollups.datasource.archive_files import Archive, open_archive
from spark_rollups.filesystem import RollupError, Root
from spark_rollups.forecasting.snapshot.build import make_snapshots
from spark_rollups.jobs.changed_days import changed_days, day_fingerprint, day_of, missing_spans
from spark_rollups.jobs.cleanup import clean
from spark_rollups.jobs.plan import RollupRequest, cost, groups, plan
from spark_rollups.jobs.resume import forget_unfinished, keep_unfinished, read_unfinished
from spark_rollups.jobs.settings import RollupSettings
from spark_rollups.jobs.unit import Job, Outcome, Unit
from spark_rollups.jobs.worker_tasks import LocalRunner, identities_task, outcomes_from, units_task
from spark_rollups.progress import Progress
from spark_rollups.rollup.identity_index import metrics_of
from spark_rollups.rollup.series_identity import identity_path
from spark_rollups.rollup.tables.manifest import (
    Day,
    Manifest,
    newest_manifest,
    numbers,
    write_manifest,
)
from spark_rollups.runner import LazyRunner, Runner
from spark_rollups.spark_errors import with_consequence

# Fewer series are faster to prepare in this process.
_FEW_SERIES: Final = 300_000


@dataclass(frozen=True, slots=True)
class Result:
    manifest: Manifest
    read: list[str] = field(default_factory=list)  # days written in this run
    resumed: list[str] = field(default_factory=list)  # days of an earlier run that failed
    snapshots: list[str] = field(default_factory=list)  # days with new forecasts
    rows: int = 0


def rollup(settings: RollupSettings, start: Callable[[], Runner], progress: Progress) -> Result:
    """`start` is called only if there is work, so that Spark is not started without."""
    archive, out = open_archive(settings.archive), Root(settings.out)
    days = archive.between(settings.first, settings.last)
    for first, last in missing_spans(days):
        span = f"{first} to {last}" if first < last else str(first)
        progress.log(f"missing in the archive: {span}")
    old = newest_manifest(out) or Manifest()
    meaning = settings.meaning()
    prints = {
        day: day_fingerprint(archive, day, meaning, from_raw=settings.from_raw) for day in days
    }
    waiting = {
        day: entry
        for day, entry in read_unfinished(out).items()
        if prints.get(day) == entry.fingerprint
    }
    todo = changed_days(prints, old.days, waiting)
    runner = LazyRunner(start)
    run = _Run(settings, archive, out, prints, dict(waiting), progress)
    if todo:
        runner.begin()
        _make(
            run,
            todo,
            runner,
            "the old result is unchanged" if old.number else "there is no result yet",
        )
    return _finished(out, old, run, sorted(waiting), todo, runner, progress)


def _make(run: _Run, days: list[str], runner: Runner, left: str) -> None:
    """`left` describes the result that readers see after a failure."""
    with with_consequence(left):
        errors = run.make(days, runner)
    if errors:
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        raise RollupError(f"{errors[0]}{more}; {left}")


def _finished(
    out: Root, old: Manifest, run: _Run, waiting: list[str], todo: list[str], runner: Runner,
    progress: Progress,
) -> Result:  # fmt: skip
    """Writes the days first, so that they are available even if forecasts fail."""
    written = old
    if run.finished:
        days = dict(sorted({**old.days, **run.finished}.items()))
        written = _written(out, replace(old, days=days))
        forget_unfinished(out)
    if run.forecasts:
        made = make_snapshots(out, written, run.stamp, runner, progress)
        written = written if made is written else _written(out, made)
    if written is old:
        return Result(old)
    clean(out, written, run.identities)
    fresh = [day for day in written.asof if written.asof[day] != old.asof.get(day)]
    return Result(written, todo, waiting, fresh, run.rows)


def _written(out: Root, filled: Manifest) -> Manifest:
    """Writes the next manifest."""
    if max(numbers(out), default=0) != filled.number:
        raise RollupError(f"{out}: another rollup wrote here at the same time; run again")
    written = filled.after(_now())
    write_manifest(out, written)
    return written


class _Run:
    """The days of one run; `finished` is saved on disk as it grows."""

    def __init__(
        self, settings: RollupSettings, archive: Archive, out: Root, prints: dict[str, str],
        finished: dict[str, Day], progress: Progress,
    ) -> None:  # fmt: skip
        self._settings, self._archive, self._out = settings, archive, out
        self._prints, self._progress = prints, progress
        self.finished, self.forecasts = finished, settings.forecasts
        self.stamp = f"{_now():013d}-{secrets.token_hex(3)}"
        self.identities = [identity_path(each, settings.folded) for each in archive.series]
        self.rows = 0

    def make(self, days: list[str], runner: Runner) -> list[str]:
        """Returns the errors of failed days."""
        self._prepare_identities(runner)
        known = metrics_of(self._out, self.identities)
        request = RollupRequest(
            known, self._settings.states, self._settings.quantiles, self._settings.from_raw
        )
        units = plan(self._archive, days, request, runner.slots)
        self._progress.begin(f"{len(days)} days", sum(map(cost, units)))
        errors = self._run_units(self._job(), units, runner)
        self._progress.end()
        return errors

    def _prepare_identities(self, runner: Runner) -> None:
        there = set(self._out.walk("identities"))
        archive, out = self._archive.root.text, self._out.text
        tasks = [
            identities_task(archive, each.path, out, path, self._settings.folded)
            for each, path in zip(self._archive.series, self.identities, strict=True)
            if path not in there
        ]
        rows = sum(each.rows for each in self._archive.series)
        by: Runner = LocalRunner() if rows < _FEW_SERIES else runner
        for _, result in by.run(tasks):
            if error := outcomes_from(result)[0].error:
                raise RollupError(error)

    def _job(self) -> Job:
        settings = self._settings
        return Job(
            self._archive.root.text, self._out.text, self.stamp, tuple(self.identities),
            settings.hourly, settings.states, settings.quantiles,
        )  # fmt: skip

    def _run_units(self, job: Job, units: Sequence[Unit], runner: Runner) -> list[str]:
        """A day is finished when all its units are. Returns errors at the end."""
        packed = groups(units, runner.slots)
        left = {day: sum(unit.day == day for unit in units) for day in {u.day for u in units}}
        found: dict[str, list[Outcome]] = {day: [] for day in left}
        errors: list[str] = []
        for index, result in runner.run([units_task(job, group) for group in packed]):
            ended = []
            for outcome in outcomes_from(result):
                found[outcome.day].append(outcome)
                left[outcome.day] -= 1
                if left[outcome.day] == 0:
                    ended.append(outcome.day)
            errors += self._end_days(ended, found)
            self._progress.step(sum(map(cost, packed[index])))
        return errors

    def _end_days(self, days: Sequence[str], found: dict[str, list[Outcome]]) -> list[str]:
        errors: list[str] = []
        for day in days:
            outcomes = found.pop(day)
            wrong = sorted({outcome.error for outcome in outcomes if outcome.error})
            errors += wrong
            if not wrong:
                self.rows += sum(outcome.rows for outcome in outcomes)
                self.finished[day] = self._day(day, outcomes)
        if days:
            keep_unfinished(self._out, self.finished)
        return errors

    def _day(self, day: str, outcomes: list[Outcome]) -> Day:
        source = self._archive.days[day]
        return day_of(
            outcomes,
            self._prints[day],
            from_raw=self._settings.from_raw or not source.hourly,
            samples=bool(source.samples),
        )


def _now() -> int:
    return int(time.time() * 1000)
