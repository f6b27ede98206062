"""`streamgauge archive verify`: checks files, rows, statistics and the log."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass

from archive.progress import Progress
from archive.settings.publishing import RetentionSettings
from archive.tables.archive_tables import delta_logs
from archive.tables.arrow import pa
from archive.tables.schema import SAMPLES, SERIES, TABLES
from archive.tables.storage import StorageError
from archive.tools.archive_view import View, open_view
from archive.tools.arguments import bytes_text
from archive.tools.verifying.day import day_faults
from archive.tools.verifying.files import file_faults
from archive.tools.verifying.series import KnownNames, series_faults
from archive.wal.segments.reader import check_segment
from archive.wal.segments.tail_check import EndingKind


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
    files = list(view.snapshot.every_file())
    broken: set[str] = set()
    with progress.work("files", sum(file.size for file in files)) as step:
        for file in files:
            for text in file_faults(view.storage, file, step):
                broken.add(file.path)
                yield Finding(f"{file.path}: {text}")
    yield from _log_findings(view)
    yield from _table_findings(view)
    if not quick:
        yield from map(Finding, _row_faults(view, broken, progress))


def _log_findings(view: View) -> Iterator[Finding]:
    for segment in view.wal.sealed_segments() if view.wal else ():
        ending = check_segment(segment.path)
        if ending.kind is not EndingKind.CLEAN:
            # The newest segment may have a torn end while it is written.
            yield Finding(f"{segment.path.name}: {ending}", ending.kind is EndingKind.DAMAGED)
    for fault in view.wal.recovery.faults if view.wal else ():
        yield Finding(fault)


def _table_findings(view: View) -> Iterator[Finding]:
    for table, log in delta_logs(view.archive.storage, RetentionSettings()).items():
        log.read()
        for name in log.empty_commits():
            yield Finding(
                f"{table}/_delta_log/{name} is empty, so the table lacks its changes: restore it, unless "
                "the power failed while it was written (its samples were published again)"
            )
        unused = log.unused_files(0)
        if unused:
            yield Finding(
                f"{table}: {len(unused)} files are not in the table (replaced, or of an interrupted "
                f"publication; vacuum deletes them), such as {min(unused)}",
                is_fault=False,
            )


def _row_faults(view: View, broken: set[str], progress: Progress) -> Iterator[str]:
    series = view.snapshot.files[SERIES]
    if not broken.isdisjoint(file.path for file in series):
        yield "the series cannot be read, so the rows were not checked"
        return
    names = KnownNames(view.storage, series)
    yield from series_faults(view.storage, series, view.next_series)
    total = sum(view.snapshot.day_size(day) for day in view.snapshot.days)
    with progress.work("rows", total) as step:
        for day in view.snapshot.days:
            files = (file for table in TABLES for file in view.snapshot.of_day(table, day))
            if broken.isdisjoint(file.path for file in files):
                yield from _day_faults(view, day, names)
            step(view.snapshot.day_size(day))


def _day_faults(view: View, day: str, names: KnownNames) -> Iterator[str]:
    try:
        yield from day_faults(view.storage, view.snapshot, day, names)
    except (StorageError, pa.ArrowException, KeyError) as error:
        yield f"day {day}: cannot be read: {error}"


def _summary(view: View, faults: int) -> str:
    files = list(view.snapshot.every_file())
    rows = sum(file.rows for file in view.snapshot.files[SAMPLES])
    return (
        f"days: {len(view.snapshot.days)}, files: {len(files)}, "
        f"{bytes_text(sum(file.size for file in files))}, "
        f"{rows:,} series hours: {_count_text(faults)}"
    )


def _count_text(faults: int) -> str:
    return {0: "no fault", 1: "1 fault"}.get(faults, f"{faults:,} faults")
