"""Compares rollups with DuckDB and Polars, on the same files in one run.

Spark is on an ordinary JVM (C2, parallel GC): warm in its best round, while Java still compiles in
the first. Figures are printed, not asserted.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from bench.process import tree_cpu_seconds
from bench.rollup.forecast_memory import compare as compare_forecasts
from bench.rollup.generated_archive import METRICS, SAMPLES_A_DAY, write_day, write_month
from bench.rollup.peers import duckdb_month, duckdb_raw, polars_month, polars_raw
from bench.rollup.spark_start import compare as compare_starts
from bench.table import seconds, show
from spark_rollups.datasource.source import FORMAT, StreamgaugeSource
from spark_rollups.jobs.archive_days import open_archive
from spark_rollups.jobs.rollup import rollup
from spark_rollups.jobs.settings import RollupSettings
from spark_rollups.progress import SilentProgress
from spark_rollups.rollup.hours_to_days import with_steps_between_hours
from spark_rollups.rollup.tables.reader import open_rollups
from spark_rollups.session import Session, SparkSettings, open_session

# CPU seconds that the engine before Delta tables took for the same month, on the same cores.
_OLD_MONTH_CPU: Final = 19.8
_RAW_BAR: Final = 1.0
_OURS: Final = "streamgauge rollup"
_HOURS: Final = "data source: hours alone"
_PARTS: Final = ("start", "month", "pairs", "growth", "raw", "forecasts")
_GROWTH: Final = (1, 2, 4, 8)
_EVER: Final = (date(2000, 1, 1), date(2100, 1, 1))

Work = Callable[[], Any]


class Taken(NamedTuple):
    wall: float
    cpu: float  # of all processes; less sensitive to other load

    def least(self, other: Taken) -> Taken:
        return Taken(min(self.wall, other.wall), min(self.cpu, other.cpu))


class Rounds(NamedTuple):
    first: Taken
    best: Taken  # counts, as other load only slows down


def in_rounds(works: dict[str, Work], rounds: int) -> dict[str, Rounds]:
    """Interleaved."""
    found: dict[str, Rounds] = {}
    for _ in range(rounds):
        for name, work in works.items():
            began, cpu = time.perf_counter(), tree_cpu_seconds(os.getpid())
            work()
            taken = Taken(time.perf_counter() - began, tree_cpu_seconds(os.getpid()) - cpu)
            first, best = found.get(name, (taken, taken))
            found[name] = Rounds(first, best.least(taken))
    return found


class Ours:
    """The rollup as the command runs it, each time without earlier results or forecasts."""

    def __init__(self, session: Session, archive: Path, out: Path) -> None:
        self._session, self.out = session, out
        self._settings = RollupSettings(
            str(archive), str(out), forecasts=False, states=(), quantiles=()
        )
        self._days = open_archive(str(archive)).days

    def of_days(self, days: int) -> None:
        self._roll(replace(self._settings, last=date.fromisoformat(self._days[days - 1])))

    def whole(self) -> None:
        self._roll(self._settings)

    def from_samples(self) -> None:
        """Writes hourly rows with p95 for all metrics, like the others."""
        self._roll(replace(self._settings, from_raw=True, hourly=tuple(METRICS)))

    def hours_alone(self, target: Path) -> None:
        """What the SQL of the others computes: the hours, as Parquet."""
        spark = self._session.spark
        spark.dataSource.register(StreamgaugeSource)
        hours = spark.read.format(FORMAT).option("aggregate", "hourly").load(self._settings.archive)
        with_steps_between_hours(hours).write.mode("overwrite").option(
            "compression", "zstd"
        ).parquet(str(target))

    def _roll(self, settings: RollupSettings) -> None:
        shutil.rmtree(self.out, ignore_errors=True)
        rollup(settings, lambda: self._session, SilentProgress())


class Month:
    """Hourly statistics of a month, generated once."""

    def __init__(
        self, folder: Path, session: Session, consumers: int, days: int, exporters: int = 1
    ) -> None:
        self._folder, self._exporters = folder, exporters
        self._archive = folder / f"month-{consumers}-{days}-{exporters}"
        self._rows, self._days = consumers * len(METRICS) * 24, days
        if not self._archive.exists():
            write_month(self._archive, consumers, days, exporters)
        self._ours = Ours(session, self._archive, folder / "out")

    def compare(self, rounds: int) -> None:
        peers = {"DuckDB": duckdb_month, "Polars": polars_month}
        theirs = {
            name: partial(work, self._archive, self._folder / f"{name}.parquet")
            for name, work in peers.items()
        }
        taken = in_rounds({_OURS: self._ours.whole, **theirs}, rounds)
        title = (
            f"{self._days} days from hourly statistics of {self._exporters} exporter(s): "
            f"{self._rows * self._days:,} rows to days"
        )
        _show(
            title,
            taken,
            f"the bars: 2.5x DuckDB's time; at 43 million rows {2 * _OLD_MONTH_CPU:.1f} s of CPU, "
            f"twice the engine before Delta tables",
        )
        if self._exporters > 1:  # the others do not fold them
            return
        found = pq.read_table(self._folder / "DuckDB.parquet").sort_by(
            [("series", "ascending"), ("day", "ascending")]
        )
        names = ("count", "min", "max", "sum", "last")
        _say_equal(_in_order(self._ours.out, "daily", "day"), found, names)

    def compare_growth(self, rounds: int) -> None:
        unit = self._days // _GROWTH[-1]
        if unit == 0:
            return
        works: dict[str, Work] = {f"{n}x": partial(self._ours.of_days, n * unit) for n in _GROWTH}
        best = {name: taken.best for name, taken in in_rounds(works, rounds).items()}
        rows = [
            (name, f"{n * unit * self._rows:,}", seconds(best[name].wall),
             f"{best[name].wall / best['1x'].wall:.2f}x", seconds(best[name].cpu),
             f"{best[name].cpu / best['1x'].cpu:.2f}x")
            for n, name in zip(_GROWTH, works, strict=True)
        ]  # fmt: skip
        show(
            "growth: at most linear is the bar",
            ("data", "rows", "time", "beside 1x", "CPU", "CPU beside 1x"),
            rows,
        )


def compare_raw(folder: Path, session: Session, consumers: int, rounds: int) -> None:
    archive, samples = folder / f"raw-{consumers}", consumers * len(METRICS) * SAMPLES_A_DAY
    if not archive.exists():
        write_day(archive, consumers)
    ours = Ours(session, archive, folder / "out-raw")
    taken = in_rounds(
        {
            _OURS: ours.from_samples,
            _HOURS: partial(ours.hours_alone, folder / "hours-raw"),
            "DuckDB": lambda: duckdb_raw(archive, folder / "duckdb-raw.parquet"),
            "Polars": lambda: polars_raw(archive, folder / "polars-raw.parquet"),
        },
        rounds,
    )
    beside = taken[_HOURS].best.wall / taken["DuckDB"].best.wall
    _show(f"a day of samples: {samples:,} to hours and days", taken,
          f"{_HOURS}: {beside:.2f}x DuckDB; the bar is {_RAW_BAR}x")  # fmt: skip
    theirs = pq.read_table(folder / "duckdb-raw.parquet").sort_by(
        [("series", "ascending"), ("hour", "ascending")]
    )
    names = ("count", "min", "max", "sum", "first", "last", "p95")
    _say_equal(_in_order(ours.out, "hourly_gauges", "hour"), theirs, names)


def _in_order(out: Path, table: str, time_column: str) -> Any:
    """In the order of metric and consumer, which is that of series ids here."""
    found = open_rollups(str(out)).table(table, *_EVER)
    keys = [(name, "ascending") for name in ("metric", "consumer", time_column)]
    return found.sort_by(keys)


def _say_equal(ours: Any, theirs: Any, names: Sequence[str]) -> None:
    worst = max(_difference(ours.column(name), theirs.column(name)) for name in names)
    rows = f"{ours.num_rows:,} rows beside {theirs.num_rows:,}"
    print(f"  results of DuckDB and ours: {rows}, largest relative difference {worst:.1e}")


def _difference(ours: Any, theirs: Any) -> float:
    left, right = (
        np.asarray(each.cast("double").to_numpy(), np.float64) for each in (ours, theirs)
    )
    return float(np.max(np.abs(left - right) / np.maximum(np.abs(right), 1e-9), initial=0.0))


def _show(title: str, taken: dict[str, Rounds], note: str) -> None:
    ours = taken[_OURS].best
    rows = [
        (name, seconds(best.wall), f"{ours.wall / best.wall:.2f}x", seconds(best.cpu),
         f"{ours.cpu / best.cpu:.2f}x", seconds(first.wall), seconds(first.cpu))
        for name, (first, best) in taken.items()
    ]  # fmt: skip
    header = ("way", "time", "ours beside it", "CPU", "ours beside it", "first time", "first CPU")
    show(title, header, rows)
    print(f"  {note}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.rollup.compare", description=__doc__)
    add = parser.add_argument
    add("--consumers", type=int, default=5000, help="of the month, 12 series each (default 5000)")
    add("--days", type=int, default=30, help="of the month (default 30)")
    add("--raw-consumers", type=int, default=1000,
        help="of the day of samples (default 1000, the bar's 34.6 million samples)")  # fmt: skip
    add("--series", type=int, nargs="+", default=[2_000, 40_000], help="of the forecasts")
    add("--rounds", type=int, default=3, help="interleaved rounds; the best counts (default 3)")
    add("--only", choices=_PARTS, nargs="+", default=_PARTS, help="run these parts only")
    add("--folder", type=Path, help="keep the generated files here, for a later run")
    arguments = parser.parse_args()
    if "start" in arguments.only:
        compare_starts(arguments.rounds)
    with tempfile.TemporaryDirectory(prefix="streamgauge-bench-") as name:
        folder = arguments.folder or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        if {"month", "pairs", "growth", "raw"} & {*arguments.only}:
            _compare_work(arguments, folder)
        if "forecasts" in arguments.only:
            compare_forecasts(folder / "forecasts", arguments.series)
    print(f"  load of the last minute at the end: {os.getloadavg()[0]:.1f}")


def _compare_work(arguments: argparse.Namespace, folder: Path) -> None:
    session = open_session(SparkSettings(master="local[2]"))
    only, rounds = arguments.only, arguments.rounds
    try:
        _warm(folder, session)
        if "month" in only or "growth" in only:
            month = Month(folder, session, arguments.consumers, arguments.days)
            if "month" in only:
                month.compare(rounds)
            if "growth" in only:
                month.compare_growth(rounds)
        if "pairs" in only:
            Month(folder, session, arguments.consumers, arguments.days, exporters=2).compare(rounds)
        if "raw" in only:
            compare_raw(folder, session, arguments.raw_consumers, rounds)
    finally:
        session.close()


def _warm(folder: Path, session: Session) -> None:
    shutil.rmtree(folder / "warm", ignore_errors=True)
    write_day(folder / "warm", 10)
    for _ in range(2):
        Ours(session, folder / "warm", folder / "warm-out").from_samples()


if __name__ == "__main__":
    main()
