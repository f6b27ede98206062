"""Sends the report by SMTP: the first page inline as HTML and text, the files attached."""

from __future__ import annotations

import smtplib
import ssl
from collections.abc import Mapping
from email.message import EmailMessage
from email.utils import formatdate, make_msgid

from spark_rollups.report import formatting as fmt
from spark_rollups.report.delivery.retries import DeliveryError
from spark_rollups.report.formatting import clean
from spark_rollups.report.model import Report
from spark_rollups.report.render import render
from spark_rollups.report.settings import MailSettings
from streamgauge.serving.settings.loader import read_secret

_TIMEOUT = 30.0
_TYPES = {
    "html": ("text", "html"), "pdf": ("application", "pdf"), "json": ("application", "json"),
    "zip": ("application", "zip"),
}  # fmt: skip


def subject_of(report: Report) -> str:
    today = sum(action.by is None for action in report.actions)
    later = len(report.actions) - today
    due = "nothing to do" if not report.actions else f"{today} due today, {later} later"
    return clean(f"{report.title}, {fmt.listed(report.systems) or 'no system'}: {due}")


def mail_of(
    report: Report, settings: MailSettings, files: Mapping[str, bytes], link: str
) -> EmailMessage:
    """`files` are attached, by name."""
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


def send_mail(message: EmailMessage, settings: MailSettings) -> None:
    """Raises DeliveryError, also if the server refuses one of the recipients."""
    try:
        with _connected(settings) as server:
            if settings.password_file is not None:
                server.login(settings.username, read_secret(settings.password_file))
            refused = server.send_message(message)
    except (OSError, smtplib.SMTPException) as error:
        raise DeliveryError(f"mail by {settings.host}:{settings.port}: {_reason(error)}") from error
    if refused:
        raise DeliveryError(f"mail by {settings.host}: refused for {fmt.listed(sorted(refused))}")


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


def _reason(error: Exception) -> str:
    """One line, without the message itself."""
    return (str(error) or type(error).__name__).splitlines()[0]
