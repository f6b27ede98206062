"""`streamgauge archive inspect`: shows days, bytes per sample and gaps."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Iterator
from typing import Any

from archive.progress import Progress
from archive.tables.archive_tables import Snapshot
from archive.tables.arrow import pc
from archive.tables.schema import FORMAT_VERSION, SERIES, TABLES
from archive.tables.series import read_series
from archive.tools.archive_view import View, open_view
from archive.tools.arguments import bytes_text, duration_ms, moment
from archive.tools.inspecting.contents import ArchiveContents, Gap
from archive.tools.inspecting.label_gaps import LabelGap, gaps_by_label
from archive.tools.inspecting.log_damage import lines, log_damage

GAPS_SHOWN = 20


def run(args: Namespace, progress: Progress) -> int:
    least = duration_ms(args.gap, "--gap")
    with open_view(args.place, args.wal, progress) as view:
        contents = ArchiveContents(view.storage, view.snapshot, progress)
        by_label = list(gaps_by_label(view, args.by, progress)) if args.by else []
        facts = _facts(view, contents, list(contents.gaps(least)), by_label)
        if view.wal is not None:
            before = ArchiveContents(view.storage, view.published, progress)
            facts["log"]["samples"] = contents.samples - before.samples
        write = _json if args.json else _text
        sys.stdout.writelines(f"{line}\n" for line in write(facts))
    return 0


def _facts(
    view: View, contents: ArchiveContents, found: list[Gap], by_label: list[LabelGap]
) -> dict[str, Any]:
    snapshot = view.snapshot
    return {
        "archive": str(view.storage),
        "format": FORMAT_VERSION,
        "versions": {table: view.published.versions[table] for table in TABLES},
        "days": [_day(snapshot, contents, name) for name in snapshot.days],
        "series": sum(file.rows for file in snapshot.files[SERIES]),
        "metrics": _metrics(view),
        "samples": contents.samples,
        "bytes": sum(file.size for file in snapshot.every_file()),
        "log": _log(view),
        "gaps": [{"from": gap.start, "to": gap.end} for gap in found],
        "gaps_by_label": [
            {"value": gap.value, "from": gap.start, "to": gap.end} for gap in by_label
        ],
    }


def _day(snapshot: Snapshot, contents: ArchiveContents, name: str) -> dict[str, Any]:
    day = contents.days[name]
    return {
        "day": name,
        "hours": len(day.series),
        "samples": day.samples,
        "series": max(day.series.values(), default=0),
        "bytes": snapshot.day_size(name),
        "files": sum(len(snapshot.of_day(table, name)) for table in TABLES),
    }


def _metrics(view: View) -> int:
    table = read_series(view.storage, view.snapshot.files[SERIES], ("metric",))
    return int(
        pc.count_distinct(
            table.column("metric").unify_dictionaries().combine_chunks().cast("string")
        ).as_py()
    )


def _log(view: View) -> dict[str, Any] | None:
    if view.wal is None:
        return None
    segments = view.wal.sealed_segments()
    return {
        "segments": len(segments),
        "bytes": sum(segment.size for segment in segments),
        "damaged": [each.facts() for each in log_damage(view.wal.path)],
    }


def _json(facts: dict[str, Any]) -> Iterator[str]:
    yield json.dumps(facts, indent=2)


def _text(facts: dict[str, Any]) -> Iterator[str]:
    versions = ", ".join(f"{table} {number}" for table, number in facts["versions"].items())
    yield f"archive {facts['archive']}: format {facts['format']}"
    yield f"versions: {versions}"
    yield (
        f"{facts['samples']:,} samples of {facts['series']:,} series in {facts['metrics']:,} metrics, "
        f"{_cost(facts)}"
    )
    yield from _log_text(facts["log"])
    if facts["days"]:
        yield ""
        yield from _day_lines(facts["days"])
    yield ""
    yield from _gap_lines(facts)


def _log_text(log: dict[str, Any] | None) -> Iterator[str]:
    if log is None:
        return
    pending = f"{log['samples']:,} of them in {_counted(log['segments'], 'segment')}"
    yield f"{pending} of the log, {bytes_text(log['bytes'])}, not yet published"
    for damage in log["damaged"]:
        yield from lines(damage)


def _day_lines(days: list[dict[str, Any]]) -> Iterator[str]:
    yield f"{'day':10}  {'hours':>5}  {'samples':>15}  {'series':>11}  {'size':>9}  {'B/sample':>8}  files"
    for day in days:
        cost = f"{day['bytes'] / day['samples']:.2f}" if day["samples"] else "-"
        yield (
            f"{day['day']}  {day['hours']:>5}  {day['samples']:>15,}  {day['series']:>11,}  "
            f"{bytes_text(day['bytes']):>9}  {cost:>8}  {day['files']:>5}"
        )


def _gap_lines(facts: dict[str, Any]) -> Iterator[str]:
    found = facts["gaps"]
    yield _counted(len(found), "gap") if found else "no gaps"
    for gap in found[:GAPS_SHOWN]:
        yield f"  {moment(gap['from'])} to {moment(gap['to'])}, {_length(gap)}"
    if len(found) > GAPS_SHOWN:
        yield f"  and {len(found) - GAPS_SHOWN} more (--json shows all)"
    for gap in facts["gaps_by_label"]:
        yield f"  {gap['value']}: {moment(gap['from'])} to {moment(gap['to'])}, {_length(gap)}"


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def _length(gap: dict[str, int]) -> str:
    minutes = (gap["to"] - gap["from"]) // 60_000
    return f"{minutes} minutes" if minutes < 120 else f"{minutes / 60:.1f} hours"


def _cost(facts: dict[str, Any]) -> str:
    size = bytes_text(facts["bytes"])
    return (
        f"{size}, {facts['bytes'] / facts['samples']:.2f} bytes each" if facts["samples"] else size
    )
