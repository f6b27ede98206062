"""Computes batches of forecasts and trends, in this process or on Spark workers.

Inputs of workers are temporary files beside the rollups; results are small and returned as text.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator
from datetime import date
from itertools import chain, islice
from typing import Any, Final

import pyarrow as pa  # type: ignore[import-untyped]

from spark_rollups.filesystem import Root, root_at
from spark_rollups.forecasting.forecast_batch import forecast_batch
from spark_rollups.forecasting.trend_batch import trend_batch
from spark_rollups.runner import Runner

# Up to this many batches run faster in this process than on Spark.
FEW_BATCHES: Final = 4
FOLDER: Final = "inputs"
_COMPUTE: Final = {"forecasts": forecast_batch, "trends": trend_batch}


def compute_batches(
    name: str, batches: Iterable[Any], as_of: date, out: Root, stamp: str, runner: Runner
) -> Iterator[Any]:
    """The result tables, in the order of the batches."""
    remaining = iter(batches)
    first = list(islice(remaining, FEW_BATCHES + 1))
    if len(first) <= FEW_BATCHES:
        yield from (_COMPUTE[name](batch, as_of) for batch in first)
        return
    paths = []
    try:
        for index, batch in enumerate(chain(first, remaining)):
            paths.append(f"{FOLDER}/{stamp}-{name}-{as_of}-{index:05d}.arrow")
            out.write(paths[-1], to_bytes(batch))
        results = dict(runner.run([_task(name, path, as_of, out) for path in paths]))
    finally:
        for path in paths:
            out.delete(path)
    yield from (from_bytes(base64.b64decode(results[index])) for index in sorted(results))


def _task(name: str, path: str, as_of: date, out: Root) -> str:
    arguments = {"name": name, "path": path, "as_of": as_of.isoformat(), "out": out.text}
    return json.dumps({"batch": arguments})


def run_batch(name: str, path: str, as_of: str, out: str) -> str:
    """Runs in a worker."""
    batch = from_bytes(root_at(out).read(path))
    found = _COMPUTE[name](batch, date.fromisoformat(as_of))
    return base64.b64encode(to_bytes(found)).decode()


def to_bytes(table: Any) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write(table)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def from_bytes(data: bytes) -> Any:
    with pa.ipc.open_stream(data) as stream:
        return stream.read_all()
