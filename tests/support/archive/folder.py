"""A data folder for tests of publication: samples go in through the real log, and come out of
the Delta tables by deltalake alone."""

import asyncio
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
from deltalake import DeltaTable

from archive.batch import NO_SERIES, Batch, Opaque, OpaqueKind
from archive.publishing.log_id import first_unused_segment
from archive.publishing.publisher import Published, Publisher
from archive.settings.publishing import PublishSettings
from archive.settings.wal import WalSettings
from archive.tables.archive_tables import ArchiveTables, Snapshot, open_tables
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
    """The log and the publisher of one folder; the tables are beside the log unless given."""

    path: Path
    settings: PublishSettings = field(default_factory=PublishSettings)
    store: str | Path | None = None
    tables: ArchiveTables = field(init=False)

    def __post_init__(self) -> None:
        self._runner = asyncio.Runner()
        self.open()

    def open(self) -> None:
        self.tables = open_tables(self.store or self.path, self.settings.retention)
        least = first_unused_segment(self.tables, self.path / "wal")
        self.wal = Wal.open(self.path / "wal", WalSettings(reserve=0), least_segment=least)
        self.publisher = Publisher(self.tables, self.wal, self.settings)

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
    def snapshot(self) -> Snapshot:
        return self.tables.read()

    def day_files(self, table: str, day: str = "2026-09-28") -> list[str]:
        return [file.path for file in self.snapshot.of_day(table, day)]

    def samples(self) -> Truth:
        return published_samples(self.tables.storage.url)

    def hourly(self) -> dict[tuple[str, int], dict[str, Any]]:
        rows = published_rows(self.tables.storage.url, "hourly")
        return {(row["name"], row["hour"]): row for row in rows}

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


def published_rows(root: str | Path, table: str) -> Iterator[dict[str, Any]]:
    """By deltalake alone, with `name` put beside the series' number."""
    names = {
        row["series"]: "/".join(dict(row["labels"])[key] for key in ("__name__", "instance"))
        for row in DeltaTable(f"{root}/series").to_pyarrow_table().to_pylist()
    }
    rows = DeltaTable(f"{root}/{table}").to_pyarrow_table().to_pylist()
    for row in rows:
        for key in ("hour", "time"):
            if row.get(key) is not None:
                row[key] = round(row[key].timestamp() * 1000)
        yield {**row, "name": names.get(row["series"])}


def published_samples(root: str | Path) -> Truth:
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
