"""Messages about a report: a mail with its first page and files, and posts to webhooks."""

from __future__ import annotations

import json
import smtplib
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping
from email.message import EmailMessage
from email.utils import formatdate, make_msgid
from typing import Any
from urllib.parse import urlsplit

from spark_rollups.report import formatting as fmt
from spark_rollups.report.export import action_values
from spark_rollups.report.formatting import clean
from spark_rollups.report.model import Report
from spark_rollups.report.render import render
from spark_rollups.report.settings import MailSettings, WebhookSettings
from streamgauge.serving.settings.loader import read_secret

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
