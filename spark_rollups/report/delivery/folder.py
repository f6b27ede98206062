"""Writes the files of a report into a folder or an object store: index of all months, PDF."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from exporter import catalog
from spark_rollups.filesystem import RollupError, Root
from spark_rollups.publishing.gauges import Gauge
from spark_rollups.publishing.publication import REPORT_FILE
from spark_rollups.publishing.textfile import text_of
from spark_rollups.report.formatting import clean
from spark_rollups.report.model import Report
from spark_rollups.report.month import ReportError
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


_PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "chrome")
_TIMEOUT = 300
_FLAGS = (
    "--headless", "--disable-gpu", "--disable-quic", "--no-first-run", "--no-pdf-header-footer",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip


def find_printer() -> str:
    """Raises ReportError before the work starts."""
    for name in _PROGRAMS:
        if found := shutil.which(name):
            return found
    raise ReportError(f"--pdf: no Chromium on this machine ({', '.join(_PROGRAMS)})")


def pdf_of(page: str, program: str) -> bytes:
    with tempfile.TemporaryDirectory(prefix="streamgauge-report-") as folder:
        source, target = Path(folder, "report.html"), Path(folder, "report.pdf")
        source.write_text(page, encoding="utf-8")
        command = [program, *_sandbox(), *_FLAGS, f"--user-data-dir={folder}/profile",
                   f"--print-to-pdf={target}", source.as_uri()]  # fmt: skip
        try:
            done = subprocess.run(command, capture_output=True, timeout=_TIMEOUT, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ReportError(f"--pdf: {program}: {type(error).__name__}") from error
        if not target.is_file():
            last = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
            raise ReportError(f"--pdf: {program} wrote no file: {' '.join(last)}")
        return target.read_bytes()


def _sandbox() -> tuple[str, ...]:
    """Chromium refuses its sandbox for root. The page has no script and loads nothing."""
    return ("--no-sandbox",) if os.geteuid() == 0 else ()
