"""Writes gauges as a file for the textfile collector.

The text is valid in the OpenMetrics and in the Prometheus format: gauges without timestamps.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Final

from exporter.metric import Metric
from spark_rollups.filesystem import RollupError, written_whole
from spark_rollups.publishing.gauges import Gauge

END: Final = "# EOF\n"
_READABLE_BY_ALL: Final = 0o644


def text_of(gauges: Iterable[Gauge]) -> bytes:
    """`gauges` are grouped by metric."""
    lines: list[str] = []
    for metric, group in groupby(gauges, key=lambda gauge: gauge.metric):
        lines += _header(metric)
        lines += (_line(gauge) for gauge in group)
    return ("".join(lines) + END).encode("utf-8", "replace")


def write_textfile(path: Path, text: bytes) -> None:
    try:
        with written_whole(path) as sink:
            sink.write(text)
            os.fchmod(sink.fileno(), _READABLE_BY_ALL)  # the collector is mostly another user
    except OSError as error:
        raise RollupError(f"cannot write {path}: {error.strerror}") from error


def _header(metric: Metric) -> Iterator[str]:
    yield f"# TYPE {metric.name} gauge\n"
    if metric.unit.value:
        yield f"# UNIT {metric.name} {metric.unit.value}\n"
    yield f"# HELP {metric.name} {_escaped(metric.help)}\n"


def _line(gauge: Gauge) -> str:
    names = gauge.metric.labels
    pairs = [f'{key}="{_escaped(value)}"' for key, value in zip(names, gauge.labels, strict=True)]
    labels = "{" + ",".join(pairs) + "}" if pairs else ""
    return f"{gauge.metric.name}{labels} {gauge.value!r}\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
