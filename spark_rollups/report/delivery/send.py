"""Where a report goes: files in a folder or an object store, mail and webhooks."""

from __future__ import annotations

import argparse
import io
import re
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from spark_rollups.filesystem import Root
from spark_rollups.publishing.textfile import write_textfile
from spark_rollups.report.delivery.folder import find_printer, pdf_of, write_files, write_index
from spark_rollups.report.delivery.mail import mail_of, send_mail
from spark_rollups.report.delivery.retries import DeliveryError, repeated
from spark_rollups.report.delivery.webhook import post
from spark_rollups.report.export import csv_files, json_text
from spark_rollups.report.model import Report
from spark_rollups.report.month import Progress, ReportError
from spark_rollups.report.render import html_report
from spark_rollups.report.settings import ReportSettings


@dataclass
class Delivery:
    root: Root
    settings: ReportSettings
    progress: Progress
    sending: bool
    printer: str  # the program that prints PDF; "" for none
    textfile: Path | None
    files: dict[str, bytes] = field(default_factory=dict)

    def write(self, report: Report, rows: int) -> list[str]:
        """The names of what was written. The page comes last, so that the files it names exist."""
        stem = stem_of(report)
        tables = {name: text.encode() for name, text in csv_files(report).items()}
        page = html_report(report, rows, f"{stem}-csv")
        self.files = {f"{stem}.json": json_text(report).encode()}
        if self.printer:
            self.progress("printing the PDF")
            self.files[f"{stem}.pdf"] = pdf_of(page, self.printer)
        self.files[f"{stem}.html"] = page.encode()
        write_files(self.root, {f"{stem}-csv/{name}": data for name, data in tables.items()})
        write_files(self.root, self.files)
        links = {name.rpartition(".")[2].upper(): name for name in reversed(self.files)}
        write_index(self.root, report, links)
        self.files[f"{stem}-csv.zip"] = _zipped(tables)
        return [*(name for name in reversed(self.files) if not name.endswith(".zip")),
                f"{stem}-csv", "index.html"]  # fmt: skip

    def send(self, report: Report) -> None:
        """Tries every destination; raises DeliveryError with all failures."""
        if not self.sending:
            return
        link = _link(self.settings.link, stem_of(report))
        failures = []
        for what, deliver in self._destinations(report, link):
            self.progress(f"sending to {what}")
            try:
                repeated(deliver, self.progress)
            except DeliveryError as error:
                failures.append(str(error))
        if failures:
            raise DeliveryError("; ".join(failures))

    def _destinations(self, report: Report, link: str) -> list[tuple[str, Callable[[], None]]]:
        found: list[tuple[str, Callable[[], None]]] = []
        mail = self.settings.mail
        if mail is not None:
            wanted = {"csv": "zip"}
            endings = tuple(f".{wanted.get(each, each)}" for each in mail.attach)
            attached = {name: data for name, data in self.files.items() if name.endswith(endings)}
            message = mail_of(report, mail, attached, link)
            found.append((f"{len(mail.recipients)} recipients", lambda: send_mail(message, mail)))
        for number, hook in enumerate(self.settings.webhooks, 1):
            found.append((f"webhook {number}", partial(post, report, hook, link)))
        return found

    def publish(self, success: bytes) -> None:
        if self.textfile is not None:
            write_textfile(self.textfile, success)


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


def _link(base: str, stem: str) -> str:
    return f"{base.rstrip('/')}/{stem}.html" if base else ""


def _zipped(tables: Mapping[str, bytes]) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in tables.items():
            packed.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return sink.getvalue()
