"""Writes a recording as OpenMetrics text, from which promtool makes blocks of Prometheus.

Only what boards show over weeks, at longer steps: text of all of it would be gigabytes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from exporter import catalog as c
from streamgauge.demo.history.recorded_series import Recorded, Recording

STEP_SECONDS: Final = 900
_METRICS: Final = frozenset(
    metric.name
    for metric in (
        *(c.STREAM_UP, c.STREAM_INFO, c.STREAM_MESSAGES, c.STREAM_BYTES, c.STREAM_CONSUMERS),
        *(c.STREAM_STORED_MESSAGES, c.STREAM_FILL_RATIO, c.STREAM_MAX_BYTES, c.STREAM_MAX_MESSAGES),
        *(c.STREAM_PUBLISHES_RECEIVED, c.STREAM_PUBLISHES_UNSTORED),
        *(c.CONSUMER_UP, c.CONSUMER_VERDICT, c.CONSUMER_LAG_SECONDS, c.CONSUMER_NUM_PENDING),
        *(c.CONSUMER_NUM_ACK_PENDING, c.CONSUMER_DELIVERIES, c.CONSUMER_REDELIVERIES),
        *(c.CONSUMER_LOST_MESSAGES,),
        *(c.SERVER_UP, c.SERVER_STORAGE_USED_BYTES, c.SERVER_STORAGE_RESERVED_BYTES),
        *(c.SERVER_STORAGE_MAX_BYTES, c.SERVER_MEMORY_USED_BYTES, c.SERVER_MEMORY_RESERVED_BYTES),
        *(c.SERVER_MEMORY_MAX_BYTES, c.SERVER_HA_ASSETS, c.SERVER_CLOCK_OFFSET_SECONDS),
        *(c.ACCOUNT_STORAGE_USED_BYTES, c.ACCOUNT_STORAGE_RESERVED_BYTES),
        *(c.ACCOUNT_STORAGE_LIMIT_BYTES, c.ACCOUNT_MEMORY_USED_BYTES),
        *(c.ACCOUNT_STREAMS, c.ACCOUNT_CONSUMERS, c.UP),
    )
)


def write_openmetrics(recording: Recording, file: Path) -> int:
    """The number of samples."""
    every = max(1, STEP_SECONDS // recording.grid.step)
    times = recording.grid.times[::every].astype(np.int64)
    written = 0
    with file.open("w", encoding="utf-8") as out:
        for series in recording.series:
            if series.name in _METRICS:
                lines = list(_lines(series, times, every))
                out.writelines(lines)
                written += len(lines)
        out.write("# EOF\n")
    return written


def _lines(series: Recorded, times: NDArray[np.int64], every: int) -> Iterator[str]:
    pairs = ",".join(
        f'{name}="{_escaped(value)}"' for name, value in series.labels if name != "__name__"
    )
    values = series.values[::every]
    present = ~np.isnan(values)
    for when, value in zip(times[present].tolist(), values[present].tolist(), strict=True):
        yield f"{series.name}{{{pairs}}} {value!r} {when}\n"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
