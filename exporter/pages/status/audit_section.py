"""Renders the audit section of the status page."""

from __future__ import annotations

from html import escape

from exporter.pages.status.html_fragments import CLASS, fold, free_text, marked
from exporter.pages.status.level import Level
from exporter.pages.status.view import AuditView, CheckView, FoundView

_DOT = '<span class="mark" aria-hidden="true">•</span>'


def audit_section(view: AuditView | None) -> str:
    if view is None:
        return ""
    checks = "".join(map(_check, view.checks)) or "<p>No findings.</p>"
    body = f'<div class="audit">{checks}{_not_evaluated(view)}</div>'
    # Open only for critical findings: the consumers below matter more in an incident.
    is_open = any(check.level is Level.CRITICAL for check in view.checks)
    return fold(f"<h3>Audit</h3> {escape(view.headline)}", body, is_open) + "\n"


def _check(check: CheckView) -> str:
    # The link is in the body: a summary is a button and must not contain a link.
    title = (
        f"{escape(check.severity)} <code>{escape(check.code)}</code> {escape(check.title)} "
        f"<small>({_number(check)})</small>"
    )
    found = "".join(map(_found, check.found))
    more = f"<li>and {check.more:,} more</li>" if check.more else ""
    commands = "\n".join(check.commands)
    shown = f"<pre><code>{escape(commands)}</code></pre>" if commands else ""
    body = (
        f"<ul>{found}{more}</ul><p>{escape(check.why)}</p><p>{escape(check.remedy)}</p>{shown}"
        f'<p><a href="docs/checks#{escape(check.code)}">About this check</a></p>'
    )
    level = check.level
    # A dot, not a tick: a finding is never ok.
    mark = marked(level, title) if level is not Level.OK else f"{_DOT} <span>{title}</span>"
    return f'<details class="check {CLASS[level]}"><summary>{mark}</summary>{body}</details>'


def _number(check: CheckView) -> str:
    muted = len(check.found) + check.more - check.active
    return f"{check.active:,}" + (f", {muted:,} muted" if muted else "")


def _found(found: FoundView) -> str:
    by = f" <small>muted by {escape(found.muted_by)}</small>" if found.muted_by else ""
    return f"<li><strong>{escape(found.where)}</strong> {free_text(found.evidence)}{by}</li>"


def _not_evaluated(view: AuditView) -> str:
    lines = [
        f"<li>{free_text(reason)}: {escape(', '.join(codes))}</li>"
        for reason, codes in view.not_evaluated
    ]
    lines += [
        f"<li>ignored code that matches no check: {escape(ignore)}</li>"
        for ignore in view.unknown_ignores
    ]
    if not lines:
        return ""
    title = "<span>Not evaluated</span>"
    return f'<details class="check"><summary>{title}</summary><ul>{"".join(lines)}</ul></details>'
