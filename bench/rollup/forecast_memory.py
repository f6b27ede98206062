"""The memory of the driver while forecasts are made, by the number of series.

Executors are processes of their own (`local-cluster`), so that the driver is measured alone.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from deltalake import CommitProperties, write_deltalake
from numpy.typing import NDArray

from bench.table import seconds, show
from exporter import catalog
from spark_rollups.filesystem import Root
from spark_rollups.jars import spark_jars
from spark_rollups.jobs.snapshots import write_snapshots
from spark_rollups.progress import SilentProgress
from spark_rollups.rollup.tables.delta_notes import note_text, read_version
from spark_rollups.rollup.tables.reader import Rollups, open_rollups
from spark_rollups.rollup.tables.schemas import DAY_TABLES, LABELS
from spark_rollups.session import Session, SparkSettings, open_session
from streamgauge.rollup_format import ROLLUP_FORMAT

_DAYS: Final = 28
_LAST: Final = date(2026, 10, 31)
_HOURS: Final = 24
_MB: Final = 1e6


def compare(folder: Path, sizes: Sequence[int]) -> None:
    rows = [_measured(folder / str(size), size) for size in sizes]
    show(
        f"forecasts of {_DAYS} days of hours: the driver",
        ("series", "Java, live", "Python, peak", "time", "time per series and core"),
        rows,
    )


def _measured(folder: Path, series: int) -> tuple[str, ...]:
    """One session each: a peak is of the whole process."""
    rollups = _written(folder, series)
    jars = ":".join(str(path) for path in spark_jars(os.environ, print))
    conf = {"spark.driver.memory": "1g", "spark.executor.extraClassPath": jars}
    session = open_session(SparkSettings(master="local-cluster[2,1,1024]", conf=conf))
    try:
        live, began = _live_heap(session), time.perf_counter()
        write_snapshots(session, rollups, [_LAST.isoformat()], [], SilentProgress())
        took = time.perf_counter() - began
        grown = _live_heap(session) - live
    finally:
        session.close()
    return (f"{series:,}", f"+{grown / _MB:.0f} MB", f"{_peak_of_python() / _MB:.0f} MB",
            seconds(took), f"{took * 2 / series * 1000:.1f} ms")  # fmt: skip


def _live_heap(session: Session) -> int:
    """After a collection; what the job left is still referenced by Spark's own listeners."""
    jvm = session.spark.sparkContext._jvm  # noqa: SLF001
    gc.collect()
    jvm.java.lang.System.gc()
    runtime = jvm.java.lang.Runtime.getRuntime()
    return int(runtime.totalMemory() - runtime.freeMemory())


def _peak_of_python() -> int:
    status = Path("/proc/self/status").read_text()
    (line,) = [each for each in status.splitlines() if each.startswith("VmHWM")]
    return int(line.split()[1]) * 1024


def _written(folder: Path, series: int) -> Rollups:
    """Levels that grow towards a limit, with noise of their own."""
    if not folder.exists():
        root = Root(str(folder))
        for name in ("quantiles", "states", "hourly_gauges", "daily"):
            versions = {each: read_version(root, each).number for each in DAY_TABLES}
            note = note_text(format=ROLLUP_FORMAT, tables=versions if name == "daily" else {})
            rows = pa.RecordBatchReader.from_batches(DAY_TABLES[name], _rows(name, series))
            properties = CommitProperties(custom_metadata={"userMetadata": note})
            write_deltalake(folder / name, rows, partition_by=["day"], commit_properties=properties)
    return open_rollups(str(folder))


def _rows(name: str, series: int) -> Iterator[pa.RecordBatch]:
    random = np.random.default_rng(5)
    slope = random.gamma(2, 1e6, series)
    for number in range(_DAYS):
        day = _LAST - timedelta(days=_DAYS - 1 - number)
        if name == "hourly_gauges":
            step = number * _HOURS + np.arange(_HOURS)
            level = 1e9 + np.outer(slope, step) + random.normal(0, 1e6, (series, _HOURS))
            yield _batch(name, catalog.STREAM_BYTES.name, day, level)
        if name == "daily":
            yield _batch(name, catalog.STREAM_MAX_BYTES.name, day, np.full((series, 1), 4e9))


def _batch(name: str, metric: str, day: date, level: NDArray[np.float64]) -> pa.RecordBatch:
    series, each = level.shape
    hours = (np.datetime64(day) + np.tile(np.arange(each), series).astype("m8[h]")).astype("M8[us]")
    known = {
        "metric": _repeated(metric, level.size), "kind": _repeated("gauge", level.size),
        "stream": np.repeat([f"STREAM{number:06}" for number in range(series)], each),
        "system": _repeated("nats", level.size), "account": _repeated("APP", level.size),
        "day": _repeated(day, level.size), "hour": hours, "first_hour": hours, "last_hour": hours,
        "labels": pa.array([[]] * level.size, LABELS),
    }  # fmt: skip
    columns = [
        pa.array(known[field.name]).cast(field.type) if field.name in known else _filler(field, level)
        for field in DAY_TABLES[name]
    ]  # fmt: skip
    return pa.record_batch(columns, schema=DAY_TABLES[name])


def _repeated(value: Any, size: int) -> pa.Array:
    return pa.repeat(pa.scalar(value), size)


def _filler(field: pa.Field, level: NDArray[np.float64]) -> pa.Array:
    """Of columns that forecasts do not read."""
    if pa.types.is_floating(field.type):
        return pa.array(level.ravel())
    value = "" if pa.types.is_string(field.type) else 1
    return _repeated(value, level.size).cast(field.type)
