"""The identity of a series: its labels without those of the scrape.

Computed once per file of `series/` in the archive, and stored beside the rollups.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from exporter.catalog import BY_NAME
from exporter.metric import Kind
from spark_rollups.datasource.archive_files import ArchiveFile
from spark_rollups.datasource.parquet_reader import read_columns
from spark_rollups.filesystem import Root
from spark_rollups.rollup.tables.schemas import LABELS, SUBJECT_LABELS

FOLDER: Final = "identities"
# Labels of the scrape: a consumer seen by two exporters is one consumer.
FOLDED_LABELS: Final = (
    "job", "instance", "pod", "namespace", "endpoint", "container", "service", "prometheus",
    "prometheus_replica",
)  # fmt: skip
NAME_LABEL: Final = "__name__"
_HISTOGRAM_PARTS: Final = ("_bucket", "_sum", "_count")
_ROW_GROUP: Final = 65_536
_SCHEMA: Final = pa.schema(
    [
        pa.field("series", pa.int32()),
        pa.field("fingerprint", pa.binary()),
        *(pa.field(name, pa.string()) for name in ("metric", "kind", *SUBJECT_LABELS)),
        pa.field("labels", LABELS),
    ]
)


def kind_of(metric: str) -> str:
    """The kind from the catalogue; for other metrics it is derived from the name."""
    known = BY_NAME.get(metric)
    if known is not None:
        return str(known.kind.value)
    for part in _HISTOGRAM_PARTS:
        whole = BY_NAME.get(metric.removesuffix(part)) if metric.endswith(part) else None
        if whole is not None and whole.kind is Kind.HISTOGRAM:
            return str(Kind.HISTOGRAM.value)
    if metric.endswith("_bucket"):
        return str(Kind.HISTOGRAM.value)
    return str((Kind.COUNTER if metric.endswith("_total") else Kind.GAUGE).value)


def rises(kind: str) -> bool:
    """Whether the kind is a counter."""
    return kind in (Kind.COUNTER.value, Kind.HISTOGRAM.value)


def identity_path(file: ArchiveFile, folded: Iterable[str]) -> str:
    """The name depends on the file and the settings, so that it is written once."""
    text = "\n".join((file.path, *sorted(folded)))
    return f"{FOLDER}/{hashlib.sha256(text.encode()).hexdigest()[:32]}.parquet"


def write_identities(source: Root, path: str, target: Root, to: str, folded: Sequence[str]) -> int:
    """Reads one file of `series/`; returns the number of series."""
    table = read_columns(source, path, ("series", "labels", "fingerprint"))
    rows = identity_rows(table, folded)
    with target.create(to) as sink:
        pq.write_table(rows, sink, compression="zstd", row_group_size=_ROW_GROUP)
    return int(rows.num_rows)


def identity_rows(series: Any, folded: Sequence[str]) -> Any:
    """Identity columns of a table of `series/`, sorted by metric and series."""
    pairs = _Pairs(series.column("labels").combine_chunks())
    columns = {name: pairs.column(name) for name in SUBJECT_LABELS}
    metric = pairs.column(NAME_LABEL).dictionary_encode()
    kinds = pa.array([kind_of(name) for name in metric.dictionary.to_pylist()], pa.string())
    rows = pa.table(
        {
            "series": series.column("series"),
            "fingerprint": series.column("fingerprint"),
            "metric": metric.cast(pa.string()),
            "kind": kinds.take(metric.indices),
            **columns,
            "labels": pairs.others({*SUBJECT_LABELS, NAME_LABEL, *folded}),
        },
        schema=_SCHEMA,
    )
    return rows.sort_by([("metric", "ascending"), ("series", "ascending")])


class _Pairs:
    """The flat label pairs of a column of maps, with their rows."""

    def __init__(self, labels: Any) -> None:
        self._rows = len(labels)
        lengths = np.diff(labels.offsets.to_numpy())
        self._row_of = np.repeat(np.arange(self._rows), lengths)
        first, last = labels.offsets[0].as_py(), labels.offsets[-1].as_py()
        names = labels.keys.slice(first, last - first).dictionary_encode()
        self._names = names.dictionary.to_pylist()
        self._codes = names.indices.to_numpy()
        self._flat_names = labels.keys.slice(first, last - first)
        self._values = labels.items.slice(first, last - first)

    def column(self, name: str) -> Any:
        """The value of a label per row; "" where it is absent."""
        if name not in self._names:
            return pa.array([""], pa.string()).take(pa.array(np.zeros(self._rows, np.int64)))
        places = np.flatnonzero(self._codes == self._names.index(name))
        where = np.full(self._rows, -1, np.int64)
        where[self._row_of[places]] = places
        found = self._values.take(pa.array(where, mask=where < 0))
        return pc.fill_null(found, "").cast(pa.string())

    def others(self, known: set[str]) -> Any:
        """Maps of all other labels."""
        wanted = np.array([name not in known for name in self._names], bool)
        kept = np.flatnonzero(wanted[self._codes]) if len(wanted) else np.empty(0, np.int64)
        counts = np.bincount(self._row_of[kept], minlength=self._rows)
        offsets = np.append(0, np.cumsum(counts)).astype(np.int32)
        chosen = pa.array(kept)
        return pa.MapArray.from_arrays(
            pa.array(offsets), self._flat_names.take(chosen), self._values.take(chosen)
        )
