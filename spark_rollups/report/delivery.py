"""Where a report goes: its settings, files in a folder or an object store, an index, mail and webhooks."""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import shutil
import smtplib
import ssl
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.utils import formatdate, make_msgid
from functools import partial
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from exporter import catalog
from spark_rollups.filesystem import RollupError, Root
from spark_rollups.publishing.gauges import Gauge
from spark_rollups.publishing.publication import REPORT_FILE
from spark_rollups.publishing.textfile import text_of, write_textfile
from spark_rollups.report import formatting as fmt
from spark_rollups.report.facts.owners import OwnerRule
from spark_rollups.report.formatting import clean
from spark_rollups.report.model import Report
from spark_rollups.report.month import Progress, ReportError
from spark_rollups.report.render import action_values, csv_files, html_report, json_parts, render
from streamgauge.serving.settings.loader import (
    REQUIRED,
    InvalidSettingError,
    SettingsError,
    build,
    load_yaml,
    read_secret,
    setting,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MailSettings:
    host: str = setting(REQUIRED, "The SMTP server.")
    port: int = setting(587, "Its port.", minimum=1, maximum=65_535)
    encryption: Literal["starttls", "tls", "none"] = setting(
        "starttls", "`starttls` and `tls` verify the certificate; `none` is for a local relay."
    )
    username: str = setting("", "User name, if the server needs one.")
    password_file: Path | None = setting(None, "File with the password.")
    sender: str = setting(REQUIRED, "The address in From.")
    recipients: tuple[str, ...] = setting(REQUIRED, "The addresses in To.")
    attach: tuple[Literal["html", "pdf", "json", "csv"], ...] = setting(
        ("html",), "The files attached: `html`, `pdf`, `json`, `csv` (a zip)."
    )

    def __post_init__(self) -> None:
        if not self.recipients:
            raise InvalidSettingError("needs at least one address", "recipients")
        if bool(self.username) != (self.password_file is not None):
            raise InvalidSettingError("username and password_file belong together", "username")


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookSettings:
    url: str = setting("", "The address; for a secret one use url_file.", secret=True)
    url_file: Path | None = setting(None, "File with the address.")
    format: Literal["json", "slack"] = setting(
        "json", "`slack`: a message of the Slack API; `json`: summary and actions."
    )

    def __post_init__(self) -> None:
        if bool(self.url) == (self.url_file is not None):
            raise InvalidSettingError("needs either url or url_file", "url")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportSettings:
    owners: tuple[OwnerRule, ...] = setting(
        (), "Owners of assets without `io.streamgauge.owner` and `team`. The first match counts."
    )
    link: str = setting("", "Public address of the output folder, for links in messages.")
    mail: MailSettings | None = setting(None, "Where `--send` mails the report.")
    webhooks: tuple[WebhookSettings, ...] = setting((), "Where `--send` posts the summary.")


def read_settings(path: str | None) -> ReportSettings:
    """Raises SettingsError; without a file the defaults."""
    if path is None:
        return ReportSettings()
    return build(ReportSettings, load_yaml(Path(path)), path)


_TIMEOUT = 30.0
_SHOWN = 10  # actions in a Slack message; Slack refuses more than 50 blocks
_TYPES = {
    "html": ("text", "html"), "pdf": ("application", "pdf"), "json": ("application", "json"),
    "zip": ("application", "zip"),
}  # fmt: skip


class DeliveryError(Exception):
    """The report was not delivered; the text is one line without secrets."""


def subject_of(report: Report) -> str:
    today = sum(action.by is None for action in report.actions)
    due = f"{today} due today, {len(report.actions) - today} later"
    due = due if report.actions else "nothing to do"
    return clean(f"{report.title}, {fmt.listed(report.systems) or 'no system'}: {due}")


def mail_of(
    report: Report, settings: MailSettings, files: Mapping[str, bytes], link: str
) -> EmailMessage:
    """The first page inline as HTML and text; `files` are attached, by name."""
    made = EmailMessage()
    made["Subject"] = subject_of(report).replace("\n", " ")
    made["From"], made["To"] = settings.sender, ", ".join(settings.recipients)
    made["Date"], made["Message-ID"] = formatdate(), make_msgid(domain="streamgauge.invalid")
    made.set_content(render("mail.txt", report=report, link=link))
    made.add_alternative(render("mail.html", report=report, link=link), subtype="html")
    for name, data in files.items():
        main, sub = _TYPES[name.rpartition(".")[2]]
        made.add_attachment(data, maintype=main, subtype=sub, filename=name)
    return made


def send_mail(message: EmailMessage, settings: MailSettings, waiting: list[str]) -> None:
    """Raises DeliveryError if the server refuses a recipient; only those stay in `waiting`."""
    try:
        with _connected(settings) as server:
            if settings.password_file is not None:
                server.login(settings.username, read_secret(settings.password_file))
            try:
                waiting[:] = server.send_message(message, to_addrs=waiting)
            except smtplib.SMTPRecipientsRefused as error:  # all of them
                waiting[:] = error.recipients
    except (OSError, smtplib.SMTPException) as error:
        # One line, without the message itself.
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise DeliveryError(f"mail by {settings.host}:{settings.port}: {reason}") from error
    if waiting:
        raise DeliveryError(f"mail by {settings.host}: refused for {fmt.listed(sorted(waiting))}")


def _connected(settings: MailSettings) -> smtplib.SMTP:
    context = ssl.create_default_context()
    if settings.encryption == "tls":
        return smtplib.SMTP_SSL(settings.host, settings.port, timeout=_TIMEOUT, context=context)
    server = smtplib.SMTP(settings.host, settings.port, timeout=_TIMEOUT)
    if settings.encryption == "starttls":
        try:
            server.starttls(context=context)
        except BaseException:
            server.close()
            raise
    return server


def post(report: Report, settings: WebhookSettings, link: str) -> None:
    """Raises DeliveryError; the address may be a secret, so only its host is named."""
    url = read_secret(settings.url_file) if settings.url_file else settings.url
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise DeliveryError("webhook: the address is not an http or https URL")
    body = slack_message(report, link) if settings.format == "slack" else json_message(report, link)
    request = urllib.request.Request(  # noqa: S310 - the scheme is checked
        url, json.dumps(body).encode(), {"Content-Type": "application/json"}, method="POST"
    )
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT):  # noqa: S310
            return
    except urllib.error.HTTPError as error:
        with error:  # closes the response
            raise DeliveryError(f"webhook of {parts.hostname}: status {error.code}") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or type(error).__name__
        raise DeliveryError(f"webhook of {parts.hostname}: {reason}") from error


def json_message(report: Report, link: str) -> dict[str, Any]:
    return {
        "subject": subject_of(report),
        "month": str(report.month),
        "systems": [clean(system) for system in report.systems],
        "owner": report.owner or None,
        "headline": clean(report.front.headline),
        "level": report.front.level.name.lower(),
        "link": link or None,
        "actions": [action_values(action) for action in report.actions],
    }


def slack_message(report: Report, link: str) -> dict[str, Any]:
    texts = [f"*{_escaped(subject_of(report))}*\n{_escaped(report.front.headline)}"]
    for each in report.actions[:_SHOWN]:
        owner = f" ({_escaped(each.owner.text)})" if each.owner.name else ""
        texts.append(f"*{_escaped(each.due)}* {_escaped(each.what)}{owner}")
    more = len(report.actions) - _SHOWN
    foot = [f"and {more} more"] if more > 0 else []
    foot += [f"<{link}|the whole report>"] if link else []
    texts += [", ".join(foot)] if foot else []
    blocks = [
        {"type": "section", "text": {"type": "mrkdwn", "text": text[:3000]}} for text in texts
    ]
    return {"text": subject_of(report), "blocks": blocks}


def _escaped(text: str) -> str:
    """The three characters that Slack's markup uses."""
    return clean(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


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
_PRINTING = 300.0  # seconds
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
            done = subprocess.run(command, capture_output=True, timeout=_PRINTING, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ReportError(f"--pdf: {program}: {type(error).__name__}") from error
        if not target.is_file():
            last = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
            raise ReportError(f"--pdf: {program} wrote no file: {' '.join(last)}")
        return target.read_bytes()
