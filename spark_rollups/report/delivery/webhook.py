"""Posts the summary of the report to webhooks: Slack messages or plain JSON."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import urlsplit

from spark_rollups.report.actions import Action
from spark_rollups.report.delivery.mail import subject_of
from spark_rollups.report.delivery.retries import DeliveryError
from spark_rollups.report.export import action_values
from spark_rollups.report.formatting import clean
from spark_rollups.report.model import Report
from spark_rollups.report.settings import WebhookSettings
from streamgauge.serving.settings.loader import read_secret

_TIMEOUT = 30.0
_SHOWN = 10  # actions in a Slack message; Slack refuses more than 50 blocks


def post(report: Report, settings: WebhookSettings, link: str) -> None:
    """Raises DeliveryError; the address may be a secret, so only its host is named."""
    url = settings.url or read_secret(settings.url_file) if settings.url_file else settings.url
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
    title = f"*{_escaped(subject_of(report))}*\n{_escaped(report.front.headline)}"
    blocks = [_section(title), *(_section(_line(each)) for each in report.actions[:_SHOWN])]
    more = len(report.actions) - _SHOWN
    foot = [f"and {more} more"] if more > 0 else []
    if link:
        foot.append(f"<{link}|the whole report>")
    if foot:
        blocks.append(_section(", ".join(foot)))
    return {"text": subject_of(report), "blocks": blocks}


def _section(text: str) -> dict[str, Any]:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text[:3000]}}


def _line(action: Action) -> str:
    owner = f" ({_escaped(action.owner.text)})" if action.owner.name else ""
    return f"*{_escaped(action.due)}* {_escaped(action.what)}{owner}"


def _escaped(text: str) -> str:
    """The three characters that Slack's markup uses."""
    return clean(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
