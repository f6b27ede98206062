"""Where a report goes: files in a folder or an object store, an index, mail and webhooks."""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from exporter import catalog
from spark_rollups.filesystem import RollupError, Root
from spark_rollups.publishing.gauges import Gauge
from spark_rollups.publishing.publication import REPORT_FILE
from spark_rollups.publishing.textfile import text_of, write_textfile
from spark_rollups.report.export import csv_files, json_parts
from spark_rollups.report.formatting import clean
from spark_rollups.report.messages import DeliveryError, mail_of, post, send_mail
from spark_rollups.report.model import Report
from spark_rollups.report.month import Progress, ReportError
from spark_rollups.report.render import html_report, render
from spark_rollups.report.settings import ReportSettings
from streamgauge.serving.settings.loader import SettingsError

_INDEX = "index.json"
_PAUSES = (1.0, 5.0)  # seconds before the second and the third attempt


@dataclass
class Delivery:
    root: Root
    settings: ReportSettings
    progress: Progress
    sending: bool
    printer: str  # the program that prints PDF; "" for none
    textfile: Path | None
    files: list[str] = field(default_factory=list)  # that were written

    def write(self, report: Report, rows: int) -> list[str]:
        """The names of what was written. The page comes last, so that the files it names exist."""
        stem = stem_of(report)
        for name, parts in csv_files(report):
            self._create(f"{stem}-csv/{name}", parts)
        self._create(f"{stem}.json", json_parts(report))
        page = html_report(report, rows, f"{stem}-csv")
        names = [f"{stem}.html", f"{stem}.json"]
        if self.printer:
            self.progress("printing the PDF")
            self.root.write(f"{stem}.pdf", pdf_of(page, self.printer))
            names.insert(1, f"{stem}.pdf")
        self._create(f"{stem}.html", [page])
        write_index(self.root, report, {name.rpartition(".")[2].upper(): name for name in names})
        return [*names, f"{stem}-csv", "index.html"]

    def _create(self, name: str, parts: Iterable[str]) -> None:
        with self.root.create(name) as sink:
            for part in parts:
                sink.write(part.encode())
        self.files.append(name)

    def send(self, report: Report) -> None:
        """Tries every destination; raises DeliveryError with all failures."""
        if not self.sending:
            return
        failures = []
        for what, deliver in self._destinations(report):
            self.progress(f"sending to {what}")
            try:
                repeated(deliver, self.progress)
            except (DeliveryError, SettingsError) as error:
                failures.append(str(error))
        if failures:
            raise DeliveryError("; ".join(failures))

    def _destinations(self, report: Report) -> Iterable[tuple[str, Callable[[], None]]]:
        base, stem, mail = self.settings.link, stem_of(report), self.settings.mail
        link = f"{base.rstrip('/')}/{stem}.html" if base else ""
        if mail is not None:
            attached = {
                f"{stem}.{kind}": self.root.read(f"{stem}.{kind}")
                for kind in ("json", "pdf", "html")
                if kind in mail.attach
            }
            if "csv" in mail.attach:
                attached[f"{stem}-csv.zip"] = self._zipped(f"{stem}-csv/")
            message = mail_of(report, mail, attached, link)
            waiting = list(mail.recipients)
            yield f"{len(waiting)} recipients", partial(send_mail, message, mail, waiting)
        for number, hook in enumerate(self.settings.webhooks, 1):
            yield f"webhook {number}", partial(post, report, hook, link)

    def _zipped(self, folder: str) -> bytes:
        sink = io.BytesIO()
        with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as packed:
            for name in self.files:
                if name.startswith(folder):
                    info = zipfile.ZipInfo(name.removeprefix(folder))
                    packed.writestr(info, self.root.read(name), zipfile.ZIP_DEFLATED)
        return sink.getvalue()

    def record_success(self) -> None:
        """The rollup and the exporter publish this time; the alert ReportOverdue goes by it."""
        gauge = Gauge(catalog.REPORT_LAST_SUCCESS_TIMESTAMP_SECONDS, (), time.time())
        text = text_of([gauge])
        self.root.write(REPORT_FILE, text)
        if self.textfile is not None:
            write_textfile(self.textfile, text)


def prepared(
    arguments: argparse.Namespace, settings: ReportSettings, progress: Progress
) -> Delivery:
    """Checks flags and settings before the work starts; raises ReportError."""
    if arguments.send and settings.mail is None and not settings.webhooks:
        raise ReportError("--send: the settings (--config) name neither mail nor webhooks")
    textfile = Path(arguments.textfile) if arguments.textfile else None
    if textfile is not None and textfile.suffix != ".prom":
        raise ReportError(f"--textfile: {textfile} does not end in .prom")
    attached = settings.mail.attach if arguments.send and settings.mail else ()
    printer = find_printer() if arguments.pdf or "pdf" in attached else ""
    return Delivery(Root(arguments.out), settings, progress, arguments.send, printer, textfile)


def stem_of(report: Report) -> str:
    """Of the file names; an owner's name keeps letters, digits and dashes."""
    owner = re.sub(r"[^A-Za-z0-9_.-]+", "-", report.owner).strip("-.")
    return f"report-{report.month}{f'-{owner}' if owner else ''}"


def repeated(
    deliver: Callable[[], None], progress: Progress, pause: Callable[[float], None] = time.sleep
) -> None:
    """Raises the error of the last attempt; the others are progress lines."""
    for seconds in _PAUSES:
        try:
            return deliver()
        except DeliveryError as error:
            progress(f"{error}; retrying in {seconds:.0f} s")
            pause(seconds)
    return deliver()


def write_index(root: Root, report: Report, files: dict[str, str]) -> None:
    """Adds the report to index.json and renders index.html; `files` are links by their text."""
    months: dict[str, dict[str, Any]] = {}
    if root.exists(_INDEX):
        try:
            months = json.loads(root.read(_INDEX))
        except ValueError as error:
            text = f"{root}/{_INDEX}: not JSON; remove it to begin a new index"
            raise RollupError(text) from error
    months[f"{report.month} {report.owner}".strip()] = {
        "month": str(report.month),
        "title": report.month.title,
        "owner": clean(report.owner),
        "made": report.made.isoformat(timespec="seconds"),
        "level": int(report.front.level),
        "headline": clean(report.front.headline),
        "today": sum(action.by is None for action in report.actions),
        "actions": len(report.actions),
        "files": files,
    }
    newest_first = dict(sorted(months.items(), reverse=True))
    root.write(_INDEX, (json.dumps(newest_first, indent=1) + "\n").encode())
    page = render("index.html", months=list(newest_first.values()))
    root.write("index.html", page.encode())


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
    # Chromium refuses its sandbox for root. The page has no script and loads nothing.
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    with tempfile.TemporaryDirectory(prefix="streamgauge-report-") as folder:
        source, target = Path(folder, "report.html"), Path(folder, "report.pdf")
        source.write_text(page, encoding="utf-8")
        command = [program, *sandbox, *_FLAGS, f"--user-data-dir={folder}/profile",
                   f"--print-to-pdf={target}", source.as_uri()]  # fmt: skip
        try:
            done = subprocess.run(command, capture_output=True, timeout=_TIMEOUT, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ReportError(f"--pdf: {program}: {type(error).__name__}") from error
        if not target.is_file():
            last = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
            raise ReportError(f"--pdf: {program} wrote no file: {' '.join(last)}")
        return target.read_bytes()
