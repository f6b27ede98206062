"""`streamgauge archive verify`: checks files, rows, statistics and the log."""

from __future__ import annotations

import hashlib
import sys
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass

from archive.maintenance.vacuum import unnamed_files
from archive.progress import Progress, Step
from archive.tables.arrow import pa
from archive.tables.manifest import FileEntry
from archive.tables.storage import Storage, StorageError
from archive.tools.archive_view import View, open_view
from archive.tools.arguments import bytes_text
from archive.tools.verifying.day import day_faults
from archive.tools.verifying.series import KnownNames, series_faults
from archive.wal.segments.reader import EndingKind, check_segment

_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class Finding:
    text: str
    is_fault: bool = True


def run(args: Namespace, progress: Progress) -> int:
    faults = 0
    with open_view(args.place, args.wal, progress) as view:
        for finding in findings(view, progress, quick=args.quick):
            faults += finding.is_fault
            sys.stdout.write(f"{'FAULT' if finding.is_fault else 'note'}: {finding.text}\n")
        sys.stdout.write(f"{_summary(view, faults)}\n")
    return 1 if faults else 0


def findings(view: View, progress: Progress, *, quick: bool) -> Iterator[Finding]:
    files = list(view.manifest.files())
    broken: set[str] = set()
    with progress.work("checksums", sum(entry.size for entry in files)) as step:
        for entry in files:
            for text in _file_faults(view.storage, entry, step):
                broken.add(entry.path)
                yield Finding(f"{entry.path}: {text}")
    yield from _log_findings(view)
    for path in unnamed_files(view.archive, view.published):
        yield Finding(f"{path}: not in the manifest (an interrupted publication)", is_fault=False)
    if not quick:
        yield from map(Finding, _row_faults(view, broken, progress))


def _file_faults(storage: Storage, entry: FileEntry, step: Step) -> Iterator[str]:
    checksum, size = hashlib.sha256(), 0
    try:
        with storage.open(entry.path) as source:
            while block := source.read(_BLOCK):
                checksum.update(block)
                size += len(block)
                step(len(block))
    except StorageError as error:
        yield str(error)
        return
    if size != entry.size:
        yield f"has {size} bytes, the manifest has {entry.size}"
    elif checksum.hexdigest() != entry.sha256:
        yield "its checksum is not the manifest's"


def _log_findings(view: View) -> Iterator[Finding]:
    for segment in view.wal.sealed_segments() if view.wal else ():
        ending = check_segment(segment.path)
        if ending.kind is not EndingKind.CLEAN:
            # The newest segment may have a torn end while it is written.
            yield Finding(f"{segment.path.name}: {ending}", ending.kind is EndingKind.DAMAGED)
    for fault in view.wal.recovery.faults if view.wal else ():
        yield Finding(fault)


def _row_faults(view: View, broken: set[str], progress: Progress) -> Iterator[str]:
    readable = [entry for entry in view.manifest.series if entry.path not in broken]
    if len(readable) < len(view.manifest.series):
        yield "the series cannot be read, so the rows were not checked"
        return
    names = KnownNames(view.storage, view.manifest)
    yield from series_faults(view.storage, view.manifest)
    total = sum(day.size for day in view.manifest.days.values())
    with progress.work("rows", total) as step:
        for name in sorted(view.manifest.days):
            day = view.manifest.days[name]
            if broken.isdisjoint(entry.path for entry in day.files()):
                yield from _day_faults(view, name, names)
            step(day.size)


def _day_faults(view: View, name: str, names: KnownNames) -> Iterator[str]:
    try:
        yield from day_faults(view.storage, view.manifest, name, names)
    except (StorageError, pa.ArrowException, KeyError) as error:
        yield f"day {name}: cannot be read: {error}"


def _summary(view: View, faults: int) -> str:
    days = view.manifest.days.values()
    return (
        f"days: {len(days)}, files: {len(list(view.manifest.files()))}, "
        f"{bytes_text(sum(entry.size for entry in view.manifest.files()))}, "
        f"{sum(day.sample_count for day in days):,} samples: "
        f"{_count_text(faults)}"
    )


def _count_text(faults: int) -> str:
    return {0: "no fault", 1: "1 fault"}.get(faults, f"{faults:,} faults")
