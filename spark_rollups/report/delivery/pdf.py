"""Prints the page as PDF with headless Chromium."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from spark_rollups.report.month import ReportError

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
