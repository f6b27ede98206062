"""`streamgauge archive inspect`: shows days, bytes per sample and gaps."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Iterator
from typing import Any

from archive.progress import Progress
from archive.tables.arrow import pc
from archive.tables.manifest import Manifest
from archive.tables.schema import FORMAT_VERSION
from archive.tables.series import read_series
from archive.tools.archive_view import View, open_view
from archive.tools.arguments import bytes_text, duration_ms, moment
from archive.tools.inspecting.gaps import Gap, gaps
from archive.tools.inspecting.label_gaps import LabelGap, gaps_by_label
from archive.tools.inspecting.log_damage import lines, log_damage

GAPS_SHOWN = 20


def run(args: Namespace, progress: Progress) -> int:
    least = duration_ms(args.gap, "--gap")
    with open_view(args.place, args.wal, progress) as view:
        found = list(gaps(view.manifest, least))
        by_label = list(gaps_by_label(view, args.by, progress)) if args.by else []
        facts = _facts(view, found, by_label)
        write = _json if args.json else _text
        sys.stdout.writelines(f"{line}\n" for line in write(facts))
    return 0


def _facts(view: View, found: list[Gap], by_label: list[LabelGap]) -> dict[str, Any]:
    manifest = view.manifest
    return {
        "archive": str(view.storage),
        "format": FORMAT_VERSION,
        "publication": view.published.publication,
        "days": [_day(manifest, name) for name in sorted(manifest.days)],
        "series": manifest.next_series,
        "metrics": _metrics(view),
        "samples": sum(day.sample_count for day in manifest.days.values()),
        "bytes": sum(entry.size for entry in manifest.files()),
        "log": _log(view),
        "gaps": [{"from": gap.start, "to": gap.end} for gap in found],
        "gaps_by_label": [
            {"value": gap.value, "from": gap.start, "to": gap.end} for gap in by_label
        ],
    }


def _day(manifest: Manifest, name: str) -> dict[str, Any]:
    day = manifest.days[name]
    return {
        "day": name,
        "hours": len(day.hours),
        "samples": day.sample_count,
        "series": max((hour.series for hour in day.hours.values()), default=0),
        "bytes": day.size,
        "files": len(list(day.files())),
    }


def _metrics(view: View) -> int:
    table = read_series(view.storage, view.manifest.series, ("metric",))
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
        "samples": view.pending,
        "damaged": [each.facts() for each in log_damage(view.wal.path)],
    }


def _json(facts: dict[str, Any]) -> Iterator[str]:
    yield json.dumps(facts, indent=2)


def _text(facts: dict[str, Any]) -> Iterator[str]:
    yield f"archive {facts['archive']}: format {facts['format']}, publication {facts['publication']}"
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
