"""Writes the files of a report into a folder or an object store, with an index of all months."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from exporter import catalog
from spark_rollups.filesystem import RollupError, Root
from spark_rollups.publishing.gauges import Gauge
from spark_rollups.publishing.publication import REPORT_FILE
from spark_rollups.publishing.textfile import text_of
from spark_rollups.report.charts.markup import clean
from spark_rollups.report.model import Report
from spark_rollups.report.render import render

_INDEX = "index.json"


def write_files(root: Root, files: Mapping[str, bytes]) -> None:
    for name, data in files.items():
        root.write(name, data)


def write_index(root: Root, report: Report, files: Mapping[str, str]) -> None:
    """Adds the report to index.json and renders index.html; `files` are links by their text."""
    months = _known(root)
    key = f"{report.month} {report.owner}".strip()
    months[key] = {
        "month": str(report.month),
        "title": report.month.title,
        "owner": clean(report.owner),
        "made": report.made.isoformat(timespec="seconds"),
        "level": int(report.front.level),
        "headline": clean(report.front.headline),
        "today": sum(action.by is None for action in report.actions),
        "actions": len(report.actions),
        "files": dict(files),
    }
    newest_first = dict(sorted(months.items(), reverse=True))
    root.write(_INDEX, (json.dumps(newest_first, indent=1) + "\n").encode())
    page = render("index.html", months=list(newest_first.values()))
    root.write("index.html", page.encode())


def _known(root: Root) -> dict[str, dict[str, Any]]:
    if not root.exists(_INDEX):
        return {}
    try:
        found: dict[str, dict[str, Any]] = json.loads(root.read(_INDEX))
    except ValueError as error:
        raise RollupError(f"{root}/{_INDEX}: not JSON; remove it to begin a new index") from error
    return found


def write_success(root: Root, at: float) -> bytes:
    """The rollup and the exporter publish this time; the alert ReportOverdue goes by it."""
    gauge = Gauge(catalog.REPORT_LAST_SUCCESS_TIMESTAMP_SECONDS, (), at)
    text = text_of([gauge])
    root.write(REPORT_FILE, text)
    return text
