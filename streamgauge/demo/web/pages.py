"""The demo's own pages: the start page with its switchboard, and the phone. Pure: data in, HTML out."""

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
_STYLE, _SCRIPT = _asset("page.css"), _asset("page.js")


@dataclass(frozen=True)
class Place:
    """One thing to look at; without an address it is not there, and `what` says why."""

    name: str
    address: str | None
    what: str
    progress: str = ""  # the name of a step that is still under way


def start_page(places: Iterable[Place], faults: Sequence[Fault]) -> str:
    cards = "\n".join(_card(place) for place in places)
    rows = "\n".join(_row(fault) for fault in faults)
    return _page(
        "Streamgauge demo",
        f"""<h1>A NATS system with something wrong in it</h1>
<p>Everything here runs on this machine: servers, a living workload, the exporter, Prometheus with our
rules (waits are shortened), Alertmanager, the archive. Look at the status page first: which consumer
is stuck, since when, why? Then break something else and see the phone ring.</p>
<p class="look" data-text="firing" role="status"></p>
<h2>Where to look</h2>
<div class="cards">{cards}</div>
<h2>What to break</h2>
<p class="quiet">Also from a terminal: <code>streamgauge demo break poison</code>, <code>streamgauge demo
heal poison</code>. An alert comes within about a minute.</p>
<table><thead><tr><th>failure</th><th>what happens</th><th>alert</th><th>state</th><th></th></tr></thead>
<tbody>{rows}</tbody></table>""",
    )


def phone_page(phone: NotificationPreview) -> str:
    notes = "\n".join(_note(message) for message in reversed(phone.messages))
    older = (
        f"<p class=quiet>{phone.forgotten} older ones are forgotten.</p>" if phone.forgotten else ""
    )
    body = notes or "<p>Nothing yet. It is quiet here until something breaks.</p>"
    return _page(
        "Phone",
        f"""<p><a href="/">the demo</a></p><h1>What the phone shows</h1>
<p class=quiet>The texts are those of our Alertmanager templates, as they would reach Slack or a pager.
Red wakes somebody, amber is a ticket, green is over. <span data-text="firing"></span></p>
<div class="phone" data-messages="{len(phone.messages) + phone.forgotten}">{body}</div>{older}""",
    )


def waiting_page(title: str, step: str) -> str:
    """Where something is still being made."""
    return _page(
        title,
        f"""<p><a href="/">the demo</a></p><h1>{escape(title)}</h1>
<p role="status" data-text="progress-{escape(step)}">under way</p><p class=quiet>Load this page again
when it is ready.</p>""",
    )


def _card(place: Place) -> str:
    name = escape(place.name)
    title = f'<a href="{escape(place.address)}">{name}</a>' if place.address else f"<b>{name}</b>"
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
    kind = "over" if message.over else message.receiver
    return f"""<article class="note {escape(kind)}"><h2>{escape(message.title)}</h2>
<pre>{_linked(message.text)}</pre><small>{message.at:%H:%M:%S} UTC, to {escape(message.receiver)}</small></article>"""


def _linked(text: str) -> str:
    """Escaped, with addresses that can be followed."""
    return _ADDRESS.sub(r'<a href="\g<0>">\g<0></a>', escape(text))


def _page(title: str, body: str) -> str:
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title><link rel="icon" href="data:,"><style>{_STYLE}</style></head>
<body>{body}<script>{_SCRIPT}</script></body></html>
"""
