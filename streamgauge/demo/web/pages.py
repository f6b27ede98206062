"""The pages of the demo: start page with the faults, and notification preview. Pure."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files

from streamgauge.demo.faults.fault import Fault
from streamgauge.demo.web.notification_preview import Message, NotificationPreview


def _asset(name: str) -> str:
    return files("streamgauge.demo.web").joinpath("assets", name).read_text(encoding="utf-8")


_ADDRESS = re.compile(r"https?://[^\s<\"]+")
_PATH_ALERT = "JetStreamConsumerAckPendingFull"  # of the fault slow-ack, broken from the start
_STYLE, _SCRIPT = _asset("page.css"), _asset("page.js")


@dataclass(frozen=True)
class Link:
    """One page or endpoint of the demo; without an address it does not run, and `what` is the reason."""

    name: str
    address: str | None
    what: str
    progress: str = ""  # the name of a step that still runs


def start_page(links: Iterable[Link], faults: Sequence[Fault], exporter: str = "") -> str:
    cards = "\n".join(_card(place) for place in links)
    rows = "\n".join(_row(fault) for fault in faults)
    return _page(
        "Streamgauge demo",
        f"""<h1>A NATS system with something wrong in it</h1>
<p>Everything here runs on this machine: NATS servers, a workload, the exporter, Prometheus with our
rules (with shorter waits), Alertmanager, the archive.</p>
<p class="warn" data-text="firing" role="status"></p>
<p class=quiet>Broken on purpose: <span data-text="broken"></span></p>
<h2>Five clicks through it</h2>
{_path(exporter)}
<h2>What fires</h2>
<ul class="firing" data-list="firing"></ul>
<h2>Where to look</h2>
<div class="cards">{cards}</div>
<h2>Faults</h2>
<p class="quiet">Also from a terminal: <code>streamgauge demo break poison</code>, <code>streamgauge demo
heal poison</code>. An alert fires within about a minute.</p>
<table><thead><tr><th>fault</th><th>what happens</th><th>alert</th><th>state</th><th></th></tr></thead>
<tbody>{rows}</tbody></table>""",
    )


def _path(exporter: str) -> str:
    """One way through the product, from the page to the plan of the month."""
    stuck = "var-system=demo&amp;var-account=APP&amp;var-stream=PAYMENTS&amp;var-consumer=stuck"
    steps = (
        ("/notification-preview", "The notification", "what wakes the on-call engineer"),
        (f"{escape(exporter)}/", "The status page", "what is unwell, the gravest first"),
        (f"/d/sg-consumer?{stuck}", "The stuck consumer", "since when, and the evidence"),
        (f"{escape(exporter)}/docs/runbooks/{_PATH_ALERT}", "The runbook", "what to type"),
        ("/report/", "The monthly report", "what will be full, and when"),
    )
    items = (f'<li><a href="{url}">{name}</a>: {what}</li>' for url, name, what in steps)
    return f"<ol>{''.join(items)}</ol>"


def preview_page(preview: NotificationPreview) -> str:
    notes = "\n".join(_note(message) for message in reversed(preview.messages))
    older = (
        f"<p class=quiet>{preview.dropped} older ones are dropped.</p>" if preview.dropped else ""
    )
    body = notes or "<p>No notification yet.</p>"
    return _page(
        "Notification preview",
        f"""<p><a href="/">the demo</a></p><h1>Notification preview</h1>
<p class=quiet>The texts are those of our Alertmanager templates, as Slack or a pager would show them.
Red is a page, amber is a ticket, green is resolved. <span data-text="firing"></span></p>
<div class="preview" data-messages="{len(preview.messages) + preview.dropped}">{body}</div>{older}""",
    )


def waiting_page(title: str, step: str) -> str:
    """For a page that is not ready yet."""
    return _page(
        title,
        f"""<p><a href="/">the demo</a></p><h1>{escape(title)}</h1>
<p role="status" data-text="progress-{escape(step)}">running</p><p class=quiet>Reload this page
when it is ready.</p>""",
    )


def _card(place: Link) -> str:
    name = escape(place.name)
    title = f"<b>{name}</b>"
    if place.address:
        shown = escape(place.address)
        # A browser opens no nats:// address: it is for copying.
        is_page = place.address.startswith("http")
        title = f'<a href="{shown}">{name}</a>' if is_page else f"{title}<code>{shown}</code>"
    spot = (
        f'<p class=quiet data-text="progress-{escape(place.progress)}"></p>'
        if place.progress
        else ""
    )
    return f'<div class="card">{title}<p>{escape(place.what)}</p>{spot}</div>'


def _row(fault: Fault) -> str:
    alerts = " or ".join(f"<code>{escape(name)}</code>" for name in fault.alerts)
    verdict = f"<br><small>verdict: {escape(fault.verdict)}</small>" if fault.verdict else ""
    return f"""<tr data-fault="{escape(fault.name)}"><td><b>{escape(fault.name)}</b><br>
<small>{escape(fault.place)}</small></td><td>{escape(fault.what)}<br><small>heal: {escape(fault.remedy)}</small></td>
<td>{alerts}{verdict}</td><td class="state"></td>
<td><button data-do="break">break</button> <button data-do="heal">heal</button></td></tr>"""


def _note(message: Message) -> str:
    kind = "resolved" if message.resolved else message.receiver
    return f"""<article class="note {escape(kind)}"><h2>{escape(message.title)}</h2>
<pre>{_linked(message.text)}</pre><small>{message.at:%H:%M:%S} UTC, to {escape(message.receiver)}</small></article>"""


def _linked(text: str) -> str:
    """Escaped, with links."""
    return _ADDRESS.sub(r'<a href="\g<0>">\g<0></a>', escape(text))


def _page(title: str, body: str) -> str:
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title><link rel="icon" href="data:,"><style>{_STYLE}</style></head>
<body>{body}<script>{_SCRIPT}</script></body></html>
"""
