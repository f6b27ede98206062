"""Exports opaque messages: types and help texts, exemplars, and all of them as JSON lines."""

from __future__ import annotations

import base64
import json
from collections import defaultdict
from collections.abc import Collection, Iterator
from typing import Final, TextIO

from archive.remote_write.protobuf import MalformedError
from archive.series.labels import RefusedError
from archive.tables.archive_tables import Snapshot
from archive.tables.parquet_files import read_table
from archive.tables.schema import EXEMPLARS, HISTOGRAMS, HOUR_MS, METADATA
from archive.tables.series import Labels, metric_of
from archive.tables.storage import Storage
from archive.tools.exporting.openmetrics_text import escaped
from archive.tools.opaque_messages import Exemplar, Metadata, read_exemplar, read_metadata

Row = dict[str, object]
# As in the JSON lines.
_KINDS: Final = {HISTOGRAMS: "histogram", EXEMPLARS: "exemplar", METADATA: "metadata"}


class OpaqueMessages:
    """Messages of the selected series and of families; the latest metadata wins."""

    def __init__(
        self, storage: Storage, snapshot: Snapshot, labels: dict[int, Labels], span: tuple[int, int]
    ) -> None:
        self._labels = labels
        self._storage, self._snapshot, self._span = storage, snapshot, span
        self._families: dict[str, Metadata] = {}
        self.exemplars: dict[int, list[Exemplar]] = defaultdict(list)
        self.unreadable = 0
        for row in self.rows():
            self._keep(row)

    def rows(self) -> Iterator[Row]:
        for table, kind in _KINDS.items():
            for file in self._snapshot.files[table]:
                if file.overlaps(*self._span):
                    rows = read_table(self._storage, file.path).to_pylist()
                    yield from ({**row, "kind": kind} for row in rows if self._is_chosen(row))

    def write_lines(self, sink: TextIO) -> int:
        """Writes one line per message: kind, labels, time in milliseconds, bytes in base64."""
        count = 0
        for row in self.rows():
            series, time, data = row["series"], row["time"], row["data"]
            line = {
                "kind": row["kind"],
                "labels": dict(self._labels[series]) if isinstance(series, int) else None,
                "time": round(time.timestamp() * 1000) if hasattr(time, "timestamp") else None,
                "data": base64.b64encode(data if isinstance(data, bytes) else b"").decode(),
            }
            sink.write(json.dumps(line, ensure_ascii=False) + "\n")
            count += 1
        return count

    def headers(self, metric: str, every: Collection[str]) -> tuple[str, bool]:
        """The header lines of a metric, and whether it is a counter that may have exemplars.

        Series of histograms and summaries get no type: OpenMetrics requires all series of such a
        family together for each time, and an archive is sorted by series.
        """
        about = self._about(metric)
        if about is None:
            return "", False
        family = _family(metric, about.type)
        if family is None or (family != metric and {family, f"{family}_created"} & set(every)):
            return "", False
        lines = [f"# TYPE {family} {about.type}\n"]
        if about.unit and family.endswith(f"_{about.unit}"):
            lines.append(f"# UNIT {family} {about.unit}\n")
        if about.help:
            lines.append(f"# HELP {family} {escaped(about.help)}\n")
        return "".join(lines), about.type == "counter"

    def _about(self, metric: str) -> Metadata | None:
        return self._families.get(metric) or self._families.get(metric.removesuffix("_total"))

    def _keep(self, row: Row) -> None:
        data, series = row["data"], row["series"]
        try:
            if row["kind"] == "metadata" and isinstance(data, bytes):
                found = read_metadata(data)
                labels = self._labels.get(series) if isinstance(series, int) else None
                self._families[metric_of(labels) if labels else found.family] = found
            elif row["kind"] == "exemplar" and isinstance(data, bytes) and isinstance(series, int):
                self.exemplars[series].append(read_exemplar(data))
        except (MalformedError, RefusedError):
            self.unreadable += 1

    def _is_chosen(self, row: Row) -> bool:
        hour = row["hour"]
        start = round(hour.timestamp() * 1000) if hasattr(hour, "timestamp") else 0
        return self._overlaps(start) and (row["series"] is None or row["series"] in self._labels)

    def _overlaps(self, hour: int) -> bool:
        return hour + HOUR_MS > self._span[0] and hour < self._span[1]


def _family(metric: str, kind: str) -> str | None:
    """The family's name; None when the metric's name does not fit the type."""
    if kind == "gauge":
        return metric
    suffix = {"counter": "_total", "info": "_info"}.get(kind)
    return metric.removesuffix(suffix) if suffix and metric.endswith(suffix) else None
