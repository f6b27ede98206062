"""Renders a StatusView as one self-contained HTML document.

All data is in the markup, escaped. The script only sorts and filters it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from urllib.parse import quote

from exporter.pages.asset_files import asset, hash_source
from exporter.pages.status.audit_section import audit_section
from exporter.pages.status.conditions import ConditionsView, ConditionView
from exporter.pages.status.html_fragments import CLASS, SYMBOL, fold, free_text, marked
from exporter.pages.status.level import Level
from exporter.pages.status.view import (
    ConsumerView,
    RequestView,
    ServerView,
    StatusView,
    SystemView,
    ago,
    count,
    headline,
    overall,
    span,
    troubles,
)

_ICON_COLOUR = {Level.OK: "#1d7a43", Level.WARNING: "#b26a00", Level.CRITICAL: "#c0261f"}
_SOURCE = {"account": "account API", "system": "system account", "monitor": "HTTP monitoring"}
_MAX_OPEN_SERVERS = 8  # more than fit on a screen: folded while all respond
_UNKNOWN = "–"


@dataclass(frozen=True, slots=True)
class _Column:
    key: str  # part of shared links: never rename
    title: str
    hint: str = ""
    numeric: bool = False


_REQUESTS = (
    _Column("request", "Request"),
    _Column("response", "Response"),
    _Column("took", "Took", numeric=True),
    _Column("last", "Last response", numeric=True),
    _Column("why", "Reason"),
)
_SERVERS = (
    _Column("server", "Server"),
    _Column("response", "Response"),
    _Column("version", "Version"),
    _Column("detail", "Detail"),
)
_CONSUMERS = (
    _Column("account", "Account"),
    _Column("stream", "Stream"),
    _Column("consumer", "Consumer"),
    _Column("state", "State", "The verdict; empty before two polls"),
    _Column("backlog", "Backlog", "num_pending + num_ack_pending: messages not finished", True),
    _Column("pending", "Pending", "num_pending: messages not delivered", True),
    _Column(
        "unacked", "Ack pending", "num_ack_pending of max_ack_pending: delivered, not acked", True
    ),
    _Column("gap", "Floor gap", "Delivered minus ack floor, in stream sequences", True),
    _Column("redelivered", "Redelivered", "num_redelivered: redelivered and not acked", True),
    _Column("waiting", "Waiting", "num_waiting: waiting pull requests", True),
    _Column("leader", "Leader"),
)
_CONDITIONS = (
    _Column("condition", "Condition"),
    _Column("of", "Of"),
    _Column("where", "Where"),
    _Column("since", "Holds for", numeric=True),
)
_TABLES = {
    "requests": _REQUESTS,
    "servers": _SERVERS,
    "conditions": _CONDITIONS,
    "consumers": _CONSUMERS,
}


def _card_labels() -> str:
    """On a small screen a row is a card and each cell shows its column title."""
    rules = (
        f'.{table} tbody>tr>:nth-child({place})::before{{content:"{column.title}"}}'
        for table, columns in _TABLES.items()
        for place, column in enumerate(columns, start=1)
    )
    return "@media screen and (max-width:44rem){" + "".join(rules) + "}\n"


_STYLE = asset("page.css") + _card_labels()
_SCRIPT = asset("page.js")


_POLICY = "; ".join(
    (
        "default-src 'none'",
        f"style-src {hash_source(_STYLE)}",
        f"script-src {hash_source(_SCRIPT)}",
        "img-src data:",  # the icon
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)


def content_security_policy() -> str:
    """The Content-Security-Policy header: it allows this page's style and script only."""
    return _POLICY


def status_page(view: StatusView) -> str:
    verdict = overall(view)
    systems = "".join(
        _system(number, system, view.interval_seconds)
        for number, system in enumerate(view.systems, start=1)
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{SYMBOL[verdict.level]} {escape(verdict.text)} · Streamgauge</title>
<link rel="icon" href="{_icon(verdict.level)}">
<style>{_STYLE}</style>
</head>
<body data-stale-after="{3 * view.interval_seconds:.0f}">
{_header(view)}
<main>
{_summary(view)}
{systems}</main>
{_footer(view)}
<script>{_SCRIPT}</script>
</body>
</html>
"""


def _icon(level: Level) -> str:
    drawing = (
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'>"
        f"<circle cx='8' cy='8' r='8' fill='{_ICON_COLOUR[level]}'/>"
        "<path d='M3.5 10a4.5 4.5 0 0 1 9 0M8 10l2-3' fill='none' stroke='#fff' "
        "stroke-width='1.6' stroke-linecap='round'/></svg>"
    )
    return "data:image/svg+xml," + quote(drawing)


def _header(view: StatusView) -> str:
    # Relative links, so that the page works behind a proxy that adds a path.
    links = [
        (view.telemetry_path.lstrip("/"), "Metrics"),
        ("-/healthy", "Healthy"),
        ("-/ready", "Ready"),
    ]
    links += [(link.href, link.title) for link in view.docs]
    anchors = "".join(f'<a href="{escape(href)}">{escape(title)}</a>' for href, title in links)
    return (
        f'<header><p class="brand">Streamgauge <span>{escape(view.version)}</span></p>'
        f"<nav>{anchors}</nav></header>"
    )


def _footer(view: StatusView) -> str:
    rendered = datetime.fromtimestamp(view.now, UTC)
    return (
        f"<footer><p>Polled every {span(view.interval_seconds)}, configured by "
        f"{free_text(view.config_source)}. Rendered "
        f'<time datetime="{rendered.isoformat(timespec="seconds")}">{rendered:%Y-%m-%d %H:%M:%S} UTC'
        "</time>.</p></footer>"
    )


def _summary(view: StatusView) -> str:
    verdict = overall(view)
    lines = "".join(_line(number, system) for number, system in enumerate(view.systems, start=1))
    rendered = datetime.fromtimestamp(view.now, UTC)
    return f"""<section class="summary {CLASS[verdict.level]}">
<h1>{marked(verdict.level, escape(verdict.text))}</h1>
<ul class="lines">{lines}</ul>
<p class="clock"><span>As of {rendered:%H:%M:%S} UTC<span id="age"></span></span>
<label hidden><input type="checkbox" id="refresh"> refresh every 15 s</label></p>
<p class="old" hidden>{marked(Level.WARNING, "This page is out of date.")} <button type="button">\
Reload</button></p>
</section>"""


def _line(number: int, system: SystemView) -> str:
    parts = "&nbsp;· ".join(headline(system))
    name = f'<a href="#system-{number}">{escape(system.name)}</a>'
    found = "".join(
        f'<li class="{CLASS[trouble.level]}">{marked(trouble.level, free_text(trouble.text))}</li>'
        for trouble in troubles(system)
    )
    wrongs = f'<ul class="troubles">{found}</ul>' if found else ""
    return (
        f'<li class="{CLASS[system.level]}"><p>{marked(system.level, f"{name}: {parts}")}</p>'
        f"{wrongs}</li>"
    )


def _system(number: int, system: SystemView, interval: float) -> str:
    notes = "".join(f"<li>{free_text(note)}</li>" for note in system.notes)
    return f"""<section class="system" id="system-{number}" data-system="{escape(system.name)}">
<h2>{escape(system.name)}</h2>
{_facts(system)}
{f'<ul class="notes">{notes}</ul>' if notes else ""}
<div class="pair">{_requests(system)}{_servers(system)}</div>
{_conditions(system.conditions)}{audit_section(system.audit)}{_consumers(system, interval)}
</section>
"""


def _facts(system: SystemView) -> str:
    targets = " ".join(f"<code>{free_text(target)}</code>" for target in system.targets)
    facts = (
        ("Source", _SOURCE[system.source]),
        ("Targets", targets or _UNKNOWN),
        ("Poll duration", span(system.poll_seconds)),
        ("Accounts", f"{system.accounts:,}"),
        ("Series", f"{system.series:,}"),
    )
    pairs = "".join(f"<div><dt>{title}</dt><dd>{value}</dd></div>" for title, value in facts)
    return f'<dl class="facts">{pairs}</dl>'


def _requests(system: SystemView) -> str:
    title = f"<h3>Requests</h3> {system.succeeded} of {len(system.requests)} succeeded"
    if not system.requests:
        return fold(title, "<p>No request was made yet.</p>")
    return fold(title, _table("requests", map(_request_row, system.requests)))


def _request_row(request: RequestView) -> str:
    return (
        f'<tr><th scope="row">{escape(request.request)}</th>'
        f"<td>{_response(request.ok, 'succeeded', 'failed')}</td>"
        f"<td>{span(request.seconds)}</td><td>{ago(request.age_seconds)}</td>"
        f"<td>{free_text(request.why)}</td></tr>"
    )


def _servers(system: SystemView) -> str:
    if not system.servers:
        return ""
    # Servers that are down come first; the others keep their order.
    servers = sorted(system.servers, key=lambda server: server.up)
    title = f"<h3>Servers</h3> {system.servers_responding} of {system.servers_expected} responded"
    is_open = len(servers) <= _MAX_OPEN_SERVERS or not servers[0].up
    return fold(title, _table("servers", map(_server_row, servers)), is_open)


def _server_row(server: ServerView) -> str:
    return (
        f'<tr><th scope="row">{escape(server.name)}</th>'
        f"<td>{_response(server.up, 'up', 'no response')}</td>"
        f"<td>{escape(server.version) or _UNKNOWN}</td><td>{free_text(server.detail)}</td></tr>"
    )


def _conditions(view: ConditionsView) -> str:
    """Every condition that holds, so that the verdict hides none of them."""
    if not view.rows and not view.unjudged:
        return ""
    shown = f"{len(view.rows):,} of {len(view.rows) + view.hidden:,} shown, gravest first"
    title = f"<h3>Conditions</h3> {shown if view.hidden else 'gravest first'}"
    table = _table("conditions", map(_condition_row, view.rows)) if view.rows else ""
    judged = "".join(
        f"<li>{escape(word.replace('_', ' '))}: {number:,} not judged, {escape(reason)}</li>"
        for word, reason, number in view.unjudged
    )
    return fold(title, table + (f'<ul class="notes">{judged}</ul>' if judged else ""))


def _condition_row(row: ConditionView) -> str:
    text = escape(row.text)
    state = marked(row.level, text) if row.level is not Level.OK else text
    return (
        f'<tr><td class="{CLASS[row.level]}" data-v="{2 - row.level}{text}">{state}</td>'
        f'<td>{row.kind}</td><th scope="row">{escape(row.where)}</th>'
        f'<td data-v="{row.since_seconds:.0f}">{span(row.since_seconds)}</td></tr>'
    )


def _consumers(system: SystemView, interval: float) -> str:
    if not system.consumer_rows:
        return f"<h3>Consumers</h3>{_nothing_to_list(system, interval)}"
    # The script sorts the same way: by backlog, unknown last.
    rows = sorted(system.consumer_rows, key=lambda row: (not row.up, -row.backlog))
    shown, all_of_them = len(rows), len(rows) + system.consumers_hidden
    extent = f"{shown:,} of {all_of_them:,} shown" if shown < all_of_them else f"{shown:,}"
    return f"""<div class="above"><h3>Consumers</h3>
<p>{extent}, worst backlog first<output></output></p>
<label class="search" hidden><span>Search</span> <input type="search" autocomplete="off" \
spellcheck="false" placeholder="account, stream or consumer"></label></div>
{_table("consumers", map(_consumer_row, rows), sorted_by="backlog")}"""


def _nothing_to_list(system: SystemView, interval: float) -> str:
    if system.state != "fresh" or system.succeeded < len(system.requests):
        return '<p class="empty">No data at the moment: see the requests above.</p>'
    soon = f"New ones appear with the next poll, within {span(interval)}."
    if system.streams:
        text = f"{count(system.streams, 'stream')} without consumers. {soon}"
        return f'<p class="empty">{text}</p>'
    scope = (
        " This source sees only the account of its user. If you expect streams, check that account."
        if system.source == "account"
        else ""
    )
    return (
        '<p class="empty">No streams yet. Create one, for example with '
        "<code>nats stream add ORDERS --subjects 'orders.&gt;' --defaults</code>. "
        f"{soon}{scope}</p>"
    )


def _consumer_row(row: ConsumerView) -> str:
    level, condition = row.level, escape(row.condition)
    state = marked(level, condition) if level is not Level.OK else condition
    if row.since_seconds is not None and level is not Level.OK:
        state += f" <small>for {span(row.since_seconds)}</small>"
    if row.evidence:
        state += f'<small class="evidence">{escape(row.evidence)}</small>'
    unacked = f"{row.num_ack_pending:,}"
    if row.max_ack_pending is not None:
        unacked += f" <small>of {row.max_ack_pending:,}</small>"
    full = ' class="warning"' if row.up and row.ack_pending_full else ""
    return (
        f"<tr><td>{escape(row.account)}</td><td>{escape(row.stream)}</td>"
        f'<th scope="row">{escape(row.consumer)}</th>'
        f'<td class="{CLASS[level]}" data-v="{2 - level}{condition}">{state or _UNKNOWN}</td>'
        f"{_number(row, row.backlog)}{_number(row, row.num_pending)}"
        f'<td{full} data-v="{row.num_ack_pending if row.up else ""}">'
        f"{unacked if row.up else _UNKNOWN}</td>"
        f"{_number(row, row.ack_floor_gap)}{_number(row, row.num_redelivered)}"
        f"{_number(row, row.num_waiting)}<td>{escape(row.leader) or _UNKNOWN}</td></tr>"
    )


def _number(row: ConsumerView, value: int | None) -> str:
    return f"<td>{_UNKNOWN if value is None or not row.up else f'{value:,}'}</td>"


def _table(name: str, rows: Iterable[str], sorted_by: str = "") -> str:
    heads = "".join(_head(column, column.key == sorted_by) for column in _TABLES[name])
    body = "\n".join(rows)
    # Only the long table scrolls in its box. tabindex lets the keyboard scroll it.
    region = ' role="region" aria-label="Consumers" tabindex="0"' if sorted_by else ""
    return (
        f'<div class="box"{region}><table class="{name}"><thead><tr>{heads}</tr></thead>'
        f"<tbody>\n{body}\n</tbody></table></div>"
    )


def _head(column: _Column, is_sorted: bool) -> str:
    number = ' class="number"' if column.numeric else ""
    hint = f' title="{escape(column.hint)}"' if column.hint else ""
    order = ' aria-sort="descending"' if is_sorted else ""
    return f'<th scope="col" data-key="{column.key}"{number}{hint}{order}>{column.title}</th>'


def _response(ok: bool, yes: str, no: str) -> str:
    level = Level.OK if ok else Level.WARNING
    return f'<span class="{CLASS[level]}">{marked(level, yes if ok else no)}</span>'
