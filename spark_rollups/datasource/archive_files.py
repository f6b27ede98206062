"""The days and files of the archive, from its newest manifest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from archive.tables.schema import (
    HOUR_MS,
    MANIFEST,
    day_time,
    manifest_files,
    manifest_path,
    manifest_publication,
)
from spark_rollups.filesystem import RollupError, Root


@dataclass(frozen=True, slots=True)
class ArchiveFile:
    path: str
    size: int
    sha256: str
    rows: int


@dataclass(frozen=True, slots=True)
class ArchiveDay:
    hourly: tuple[ArchiveFile, ...]
    samples: tuple[ArchiveFile, ...]
    hours: int  # bit n is set when hour n (UTC) was published

    @property
    def files(self) -> tuple[ArchiveFile, ...]:
        return (*self.hourly, *self.samples)


@dataclass(frozen=True, slots=True)
class Archive:
    root: Root
    series: tuple[ArchiveFile, ...]
    days: Mapping[str, ArchiveDay]

    def between(self, first: date | None, last: date | None) -> list[str]:
        """The days in the range. A bound without data is an error, a gap is not."""
        if not self.days:
            raise RollupError(f"{self.root}: the archive is empty")
        oldest, newest = min(self.days), max(self.days)
        low, high = (first.isoformat() if first else oldest, last.isoformat() if last else newest)
        if low > high:
            raise RollupError(f"--from {low} is after --to {high}")
        for bound in (first, last):
            if bound and bound.isoformat() not in self.days:
                raise RollupError(
                    f"{self.root}: the archive has no day {bound} (it has {oldest} to {newest})"
                )
        return [day for day in sorted(self.days) if low <= day <= high]


def open_archive(text: str) -> Archive:
    root = Root(text)
    published = (manifest_publication(name) for name in root.names(MANIFEST))
    newest = max((number for number in published if number is not None), default=None)
    if newest is None:
        raise RollupError(f"{root}: no archive here (no manifest)")
    path = manifest_path(newest)
    return _archive(root, root.read(path), f"{root}/{path}")


def _archive(root: Root, data: bytes, where: str) -> Archive:
    try:
        manifest_files(data)  # raises for a newer format
        inner = json.loads(data)["manifest"]
        days = {day: _day(day, entry) for day, entry in sorted(inner["days"].items())}
        return Archive(root, _files(inner["series"]), days)
    except ValueError as error:
        raise RollupError(f"{where}: {error}") from error
    except (KeyError, TypeError, AttributeError) as error:
        raise RollupError(f"{where}: not a manifest of an archive ({error!r})") from error


def _day(day: str, entry: Mapping[str, Any]) -> ArchiveDay:
    start = day_time(day)
    bits = sum(1 << (int(hour) - start) // HOUR_MS for hour in entry["hours"])
    return ArchiveDay(_files(entry["hourly"]), _files(entry["samples"]), bits)


def _files(entries: Iterable[Mapping[str, Any]]) -> tuple[ArchiveFile, ...]:
    return tuple(
        ArchiveFile(each["path"], each["size"], each["sha256"], each["rows"]) for each in entries
    )


def fingerprint(files: Iterable[ArchiveFile], *about: str) -> str:
    """A hash of file contents and settings."""
    text = "\n".join([*about, *sorted(f"{each.path} {each.sha256}" for each in files)])
    return hashlib.sha256(text.encode()).hexdigest()[:32]
