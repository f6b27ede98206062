"""HTML fragments that the sections of the status page share."""

from __future__ import annotations

import re
from html import escape

from exporter.pages.status.level import Level

CLASS = {Level.OK: "ok", Level.WARNING: "warning", Level.CRITICAL: "critical"}
SYMBOL = {Level.OK: "✓", Level.WARNING: "▲", Level.CRITICAL: "✕"}
_CREDENTIALS = re.compile(r"//\S*@")


def marked(level: Level, html: str) -> str:
    """A symbol besides the colour; screen readers skip it."""
    return f'<span class="mark" aria-hidden="true">{SYMBOL[level]}</span> <span>{html}</span>'


def free_text(text: str) -> str:
    """Escapes text and removes credentials from URLs in it."""
    return escape(_CREDENTIALS.sub("//", text))


def fold(title: str, body: str, is_open: bool = True) -> str:
    return f"<details{' open' if is_open else ''}><summary>{title}</summary>{body}</details>"
