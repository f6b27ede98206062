"""A data folder for tests of publication: samples go in through the real log, and come out of
Parquet by a reader that knows nothing but FORMAT.md."""

import asyncio
import json
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np

from archive.batch import NO_SERIES, Batch, Opaque, OpaqueKind
from archive.publishing.publisher import Published, Publisher
from archive.settings.publishing import PublishSettings
from archive.settings.wal import WalSettings
from archive.tables.arrow import pq
from archive.tables.manifest import Manifest
from archive.tables.manifest_store import read_manifest
from archive.tables.storage import Storage, open_storage
from archive.wal.write_ahead_log import Wal

HOUR = 3_600_000
DAY = 86_400_000
MONDAY = 1_790_553_600_000  # a midnight
STALE = 0x7FF0000000000002

Labels = tuple[tuple[str, str], ...]
Reported = tuple[str, int, float | int]  # series' name, time in ms, value or (int) its bits
Truth = dict[str, dict[int, int]]


def bits_of(value: float | int) -> int:
    """An int is taken for the bits themselves."""
    if isinstance(value, int):
        return value
    (bits,) = struct.unpack("<Q", struct.pack("<d", value))
    return int(bits)


def labels_of(name: str) -> Labels:
    """`metric/instance`, for short."""
    metric, _, instance = name.partition("/")
    return (("__name__", metric), ("instance", instance or "a"))


@dataclass
class ArchiveFolder:
    """The log and the publisher of one folder; `storage` is the folder's own unless given."""

    path: Path
    settings: PublishSettings = field(default_factory=PublishSettings)
    storage: Storage | None = None

    def __post_init__(self) -> None:
        self.store = self.storage or open_storage(self.path)
        self._runner = asyncio.Runner()
        self.open()

    def open(self) -> None:
        least = read_manifest(self.store).least_segment
        settings = WalSettings(reserve=0)
        self.wal = Wal.open(self.path / "wal", settings, least_segment=max(least, 1))
        self.publisher = Publisher(self.store, self.wal, self.settings)

    def close(self) -> None:
        self._runner.run(self.wal.close())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        self._runner.close()

    def send(
        self,
        reported: Iterable[Reported],
        *,
        replica: str = "",
        received: int = MONDAY,
        starts: list[int] | None = None,
        opaque: tuple[tuple[OpaqueKind, str | None, int, bytes], ...] = (),
    ) -> None:
        """One acknowledged request."""
        rows = list(reported)
        number = self.wal.series.identify
        messages = tuple(
            Opaque(
                kind, NO_SERIES if name is None else number(labels_of(name), replica), time, data
            )
            for kind, name, time, data in opaque
        )
        batch = Batch(
            "test",
            received,
            np.array([number(labels_of(name), replica) for name, _, _ in rows], np.uint32),
            np.array([time for _, time, _ in rows], np.int64),
            np.array([bits_of(value) for _, _, value in rows], np.uint64),
            None if starts is None else np.array(starts, np.int64),
            messages,
        )
        self._runner.run(self.wal.append((), batch))

    def publish_all(self, now: int = MONDAY + 30 * DAY) -> Published:
        return self.publisher.publish_all(now)

    def publish_due(self, now: int) -> Published:
        return self.publisher.publish_due(now)

    @property
    def manifest(self) -> Manifest:
        return read_manifest(self.store)

    def samples(self) -> Truth:
        return published_samples(self.path)

    def hourly(self) -> dict[tuple[str, int], dict[str, Any]]:
        return {(row["name"], row["hour"]): row for row in published_rows(self.path, "hourly")}

    def truth(self, reported: Iterable[Reported]) -> Truth:
        return truth_of(reported)


def truth_of(reported: Iterable[Reported]) -> Truth:
    """The expected content for these samples: of equal times the last one."""
    truth: Truth = {}
    for name, time, value in reported:
        truth.setdefault(full_name(name), {})[time] = bits_of(value)
    return {name: dict(sorted(samples.items())) for name, samples in sorted(truth.items())}


def full_name(name: str) -> str:
    metric, _, instance = name.partition("/")
    return f"{metric}/{instance or 'a'}"


def newest_manifest(root: Path) -> dict[str, Any]:
    paths = sorted((root / "manifest").glob("*.json"))
    found: dict[str, Any] = json.loads(paths[-1].read_text())["manifest"]
    return found


def published_rows(root: Path, table: str) -> Iterator[dict[str, Any]]:
    """By the manifest and plain pyarrow, with `name` put beside the series' number."""
    manifest = newest_manifest(root)
    names = {
        row["series"]: "/".join(dict(row["labels"])[key] for key in ("__name__", "instance"))
        for entry in manifest["series"]
        for row in pq.read_table(root / entry["path"], partitioning=None).to_pylist()
    }
    for day in manifest["days"].values():
        for entry in day[table]:
            for row in pq.read_table(root / entry["path"], partitioning=None).to_pylist():
                for key in ("hour", "time"):
                    if row.get(key) is not None:
                        row[key] = round(row[key].timestamp() * 1000)
                yield {**row, "name": names.get(row["series"])}


def published_samples(root: Path) -> Truth:
    """Every sample of the archive; the same series and time twice is an error."""
    found: Truth = {}
    for row in published_rows(root, "samples"):
        series = found.setdefault(row["name"], {})
        values = row["fv"] if row["iv"] is None else [v / 10 ** row["scale"] for v in row["iv"]]
        reported = [*zip(row["ts"], map(float, values), strict=True)]
        reported += [(offset, STALE) for offset in row["stale"] or ()]
        for offset, value in reported:
            time = row["hour"] + offset
            assert time not in series, f"{row['name']} has {time} twice"
            series[time] = bits_of(value)
    return {name: dict(sorted(samples.items())) for name, samples in sorted(found.items())}
