"""CPU, wall and memory of `streamgauge report` on generated rollups of a large system.

`python -m bench report --consumers 5000`: two months (`--months 1` to 13); two of five consumers have a stream
of their own.
Every consumer has little headroom, so each has a finding; a third has another fault too.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from deltalake import CommitProperties, DeltaTable, write_deltalake

from exporter import catalog as c
from exporter.metric import Kind, Metric
from spark_rollups.report.facts.columns import KINDS
from spark_rollups.report.month import Month
from spark_rollups.rollup.tables.delta_notes import note_text
from spark_rollups.rollup.tables.schemas import (
    DAY_TABLES,
    SUBJECT_LABELS,
    TABLES,
    partition_of,
)
from streamgauge.rollup_format import ROLLUP_FORMAT

_FIRST, _LAST = date(2025, 11, 1), date(2026, 11, 30)
_MONTHS: Final = [Month(2025 + number // 12, number % 12 + 1) for number in range(10, 23)]
_GROWTH: Final = 0.02  # GiB a day
_GIB = 2.0**30
_EPOCH = date(1970, 1, 1)
_FAULTS = 18  # consumer n has fault n % 18; most numbers are none
_LOSING, _GROWING, _REDELIVERING, _STUCK, _ABANDONING, _FILLED = range(6)
# Read by other parts of the product only: the report skips them.
_UNREAD: Final = (
    c.CONSUMER_REDELIVERY_RATIO,
    c.CONSUMER_LOST_MESSAGES_UPPER,
    c.CONSUMER_MAX_WAITING,
)


@dataclass(frozen=True)
class _Assets:
    """Names by label, of all assets of one kind."""

    columns: Mapping[str, Any]  # dictionary arrays

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench report", description=__doc__)
    parser.add_argument("--consumers", type=int, default=5000)
    parser.add_argument("--months", type=int, choices=range(1, 14), default=2)
    parser.add_argument("--keep", type=Path, help="folder for the rollups; kept and reused")
    words = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        large = words.keep or Path(scratch, "rollups")
        if not (large / "forecasts").exists():
            # In a process of its own: a child begins with the largest memory of its parent.
            words_of = (large, words.consumers, words.months)
            process = get_context("spawn").Process(target=generate, args=words_of)
            process.start()
            process.join()
        measure(large, "2026-11", Path(scratch, "out"))


def generate(folder: Path, consumers: int, months: int = 2) -> None:
    streams = max(consumers * 2 // 5, 1)
    rows = 0
    for name in DAY_TABLES:
        _write(folder, name, TABLES[name].empty_table(), "")
    chosen = _MONTHS[-months:]
    for number in range((chosen[0].first - _FIRST).days, (_LAST - _FIRST).days + 1):
        day = _FIRST + timedelta(days=number)
        daily = pa.concat_tables(_daily(consumers, streams, number, day)).sort_by("metric")
        rows += daily.num_rows
        _write(folder, "daily", daily, "")
        _write(folder, "states", _states(consumers, streams, day), "")
        _write(folder, "quantiles", _quantiles(consumers, streams, day), "")
    versions = {name: DeltaTable(folder / name).version() for name in DAY_TABLES if name != "daily"}
    note = note_text(format=ROLLUP_FORMAT, tables=versions, written=int(time.time() * 1000))
    _write(folder, "daily", TABLES["daily"].empty_table(), note)
    ends = [month.last for month in chosen]
    note = note_text(format=ROLLUP_FORMAT, days=[day.isoformat() for day in ends])
    _write(folder, "trends", TABLES["trends"].empty_table(), note)
    forecasts = pa.concat_tables([_forecasts(streams, day) for day in ends])
    _write(folder, "forecasts", forecasts, note)
    print(f"{rows:,} daily rows of {consumers:,} consumers in {folder}", flush=True)


def _daily(consumers: int, streams: int, number: int, day: date) -> Iterator[Any]:
    of_consumers, of_streams = _consumers(consumers, streams), _streams(streams)
    faults = np.arange(consumers) % _FAULTS
    for metric in (*_metrics("consumers"), *_UNREAD):
        yield _rows(metric, of_consumers, day, *_consumer_levels(metric, faults, number))
    yield _rows(c.CONSUMER_INFO, of_consumers, day, np.ones(consumers), 0.0)
    for metric in _metrics("streams"):
        yield _rows(metric, of_streams, day, *_stream_levels(metric, streams, number))
    info = {"discard": "new", "retention": "limits", "storage": "file", "owner_team": "payments"}
    yield _rows(c.STREAM_INFO, of_streams, day, np.ones(streams), 0.0, info)
    for server in ("n1", "n2"):
        placed = _Assets({**of_streams.columns, "server": _repeated(server, streams)})
        yield _rows(c.STREAM_REPLICA_LAG, placed, day, np.zeros(streams), 0.0)
    servers = _Assets({"system": _repeated("prod", 3), "server": pa.array(["n1", "n2", "n3"])})
    for metric in _metrics("servers"):
        level = {c.SERVER_STORAGE_MAX_BYTES: 9e13, c.SERVER_STORAGE_USED_BYTES: 3e13,
                 c.SERVER_UP: 1.0, c.SERVER_START_TIMESTAMP_SECONDS: 1.7e9}.get(metric, 0.0)  # fmt: skip
        yield _rows(metric, servers, day, np.full(3, level), 0.0)
    yield _rows(c.UP, _Assets({"system": _repeated("prod", 1)}), day, np.ones(1), 0.0)


def _metrics(kind: str) -> list[Metric]:
    return [metric for metric in KINDS[kind].metrics if isinstance(metric, Metric)]


def _consumer_levels(metric: Metric, faults: Any, number: int) -> tuple[Any, Any]:
    """The level of a gauge, and the increase of a counter."""
    steady = np.zeros(len(faults))
    levels: dict[Metric, Any] = {
        c.CONSUMER_UP: steady + 1,
        c.CONSUMER_LAG_SECONDS: np.where(faults == _GROWING, 7200.0 * (number + 1), 2.0),
        c.CONSUMER_VERDICT: np.where(faults == _STUCK, 5.0, 0.0),
        c.CONSUMER_NUM_ACK_PENDING: np.where(faults == _FILLED, 990.0, 100.0),
        c.CONSUMER_MAX_ACK_PENDING: steady + 1000,
        c.CONSUMER_ACK_WAIT_SECONDS: steady + 30,
        c.CONSUMER_MAX_DELIVER: steady + 5,
        c.CONSUMER_EXHAUSTED_MESSAGES: np.where(faults == _ABANDONING, 12.0, 0.0),
        c.CONSUMER_RETENTION_HEADROOM_RATIO: steady + 0.9,
    }
    rises: dict[Metric, Any] = {
        c.CONSUMER_DELIVERIES: steady + 40_000,
        c.CONSUMER_REDELIVERIES: np.where(faults == _REDELIVERING, 9000.0, 10.0),
        c.CONSUMER_LOST_MESSAGES: np.where(faults == _LOSING, 25.0, 0.0),
    }
    return levels.get(metric, steady), rises.get(metric, 0.0)


def _stream_levels(metric: Metric, streams: int, number: int) -> tuple[Any, Any]:
    size = _size(streams, number)
    levels: dict[Metric, Any] = {
        c.STREAM_UP: np.ones(streams), c.STREAM_BYTES: size, c.STREAM_MESSAGES: size / 1024,
        c.STREAM_MAX_BYTES: np.full(streams, 40 * _GIB), c.STREAM_REPLICAS: np.full(streams, 3.0),
    }  # fmt: skip
    rises: dict[Metric, Any] = {
        c.STREAM_STORED_MESSAGES: 100_000.0 + 20_000 * (number % 7),
        c.STREAM_PUBLISHES_RECEIVED: 100_000.0 + 20_000 * (number % 7),
    }
    return levels.get(metric, np.zeros(streams)), rises.get(metric, 0.0)


def _size(streams: int, number: int) -> Any:
    return (10 + np.arange(streams) % 20 + _GROWTH * number) * _GIB


def _rows(
    metric: Metric, assets: _Assets, day: date, level: Any, rise: Any,
    labels: Mapping[str, str] | None = None,
) -> Any:  # fmt: skip
    """Of a counter the level of the day follows from a constant increase."""
    size, past = len(assets), (day - _FIRST).days
    counter = metric.kind is Kind.COUNTER
    rise = np.broadcast_to(np.asarray(rise, float), (size,))
    first, last = (rise * past, rise * (past + 1)) if counter else (level, level)
    midnight = datetime(day.year, day.month, day.day, tzinfo=UTC)
    numbers = {
        "count": 288, "hours": 24, "min": first, "max": last, "sum": (first + last) * 144, "first": first,
        "last": last, "first_hour": midnight, "last_hour": midnight + timedelta(hours=23),
        "increase": rise if counter else None, "resets": 0, "hour_bits": 2**24 - 1, "day": day,
    }  # fmt: skip
    kind = "counter" if counter else "gauge"
    return _table("daily", metric.name, kind, assets, numbers, labels)


def _states(consumers: int, streams: int, day: date) -> Any:
    stuck = np.arange(consumers) % _FAULTS == _STUCK
    numbers = {"day": day, "value": np.where(stuck, 5.0, 0.0), "samples": 288, "seconds": 86_400.0,
               "known_seconds": 86_400.0}  # fmt: skip
    return _table(
        "states", c.CONSUMER_VERDICT.name, "gauge", _consumers(consumers, streams), numbers
    )


def _quantiles(consumers: int, streams: int, day: date) -> Any:
    numbers = {"day": day, "count": 288, "p50": 1.0, "p95": 2.0, "p99": 3.0}
    assets = _consumers(consumers, streams)
    return _table("quantiles", c.CONSUMER_LAG_SECONDS.name, "gauge", assets, numbers)


def _forecasts(streams: int, day: date) -> Any:
    """One stream of ten is full in two months; one of seven is expected to grow too fast."""
    size, soon = _size(streams, (day - _FIRST).days), np.arange(streams) % 10 == 0
    growth = np.where(np.arange(streams) % 7 == 0, 10, 1) * _GROWTH * _GIB
    likely = pa.array(
        [day + timedelta(days=60) if each else None for each in soon.tolist()], pa.date32()
    )
    ahead = {
        f"level_{days}d_q{q}": size + days * growth * q / 50
        for days in (7, 30, 90)
        for q in (10, 50, 90)
    }
    columns = {
        **_streams(streams).columns, "as_of": day, "subject": "stream", "metric": c.STREAM_BYTES.name,
        "limit_metric": c.STREAM_MAX_BYTES.name, "limit_name": "bytes", "level": size, "limit": 40 * _GIB,
        "outlook": pa.array(np.where(soon, "act", "not before").tolist()), "earliest": likely, "likely": likely,
        "model": "linear increments", "growth_per_day": growth, "days": 61, "dropped": 0, **ahead,
    }  # fmt: skip
    return _filled("forecasts", columns, streams)


def _consumers(consumers: int, streams: int) -> _Assets:
    owner = _streams(streams, np.arange(consumers) % streams)
    names = pa.array([f"worker-{n}" for n in range(consumers)])
    return _Assets({**owner.columns, "consumer": names})


def _streams(streams: int, chosen: Any = None) -> _Assets:
    chosen = np.arange(streams) if chosen is None else chosen
    names = pa.array([f"STREAM-{n}" for n in range(streams)]).take(pa.array(chosen))
    accounts = pa.array([f"ACCOUNT-{n}" for n in range(10)]).take(pa.array(chosen % 10))
    return _Assets({"system": _repeated("prod", len(chosen)), "account": accounts, "stream": names})


def _repeated(value: Any, size: int) -> Any:
    return pa.repeat(pa.scalar(value), size)


def _table(
    name: str, metric: str, kind: str, assets: _Assets, numbers: Mapping[str, Any],
    labels: Mapping[str, str] | None = None,
) -> Any:  # fmt: skip
    subject = dict.fromkeys(SUBJECT_LABELS, "")
    other = list((labels or {}).items())
    columns = {
        **subject,
        **assets.columns,
        "metric": metric,
        "kind": kind,
        "labels": other,
        **numbers,
    }
    return _filled(name, columns, len(assets))


def _filled(name: str, columns: Mapping[str, Any], size: int) -> Any:
    """A table with all columns of the schema; constants are repeated."""
    found = []
    for field in TABLES[name]:
        value = columns.get(field.name, "" if field.type == pa.string() else None)
        if isinstance(value, np.ndarray | pa.Array):
            found.append(pa.array(value).cast(field.type))
        else:
            found.append(pa.repeat(pa.scalar(value, field.type), size))
    return pa.table(found, schema=TABLES[name])


def _write(folder: Path, name: str, table: Any, note: str) -> None:
    write_deltalake(
        folder / name, table, mode="append", partition_by=[partition_of(name)],
        commit_properties=CommitProperties(custom_metadata={"userMetadata": note}),
    )  # fmt: skip


def measure(rollups: Path, month: str, out: Path) -> None:
    command = [sys.executable, "-m", "spark_rollups.report.main", "--rollups", str(rollups)]
    began = time.monotonic()
    process = subprocess.Popen([*command, "--month", month, "--out", str(out)])
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"the report ended with status {status}")
    cpu = used.ru_utime + used.ru_stime
    print(
        f"CPU {cpu:.1f} s, wall {time.monotonic() - began:.1f} s, memory {used.ru_maxrss / 1024:.0f} MB"
    )
    for name, size in _sizes(out):
        print(f"{name} {size / 1e6:.2f} MB")


def _sizes(out: Path) -> Iterator[tuple[str, int]]:
    for path in sorted(out.iterdir()):
        files = path.rglob("*") if path.is_dir() else [path]
        yield path.name, sum(each.stat().st_size for each in files)


if __name__ == "__main__":
    main()
