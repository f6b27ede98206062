"""The small pieces that the parts of the status page share. Pure."""

from __future__ import annotations

import re
from html import escape

from exporter.pages.status.view import Level

CLASS = {Level.FINE: "fine", Level.LOOK: "look", Level.WRONG: "wrong"}
SYMBOL = {Level.FINE: "✓", Level.LOOK: "▲", Level.WRONG: "✕"}
_CREDENTIALS = re.compile(r"//\S*@")


def marked(level: Level, html: str) -> str:
    """A colour alone says nothing to many; the words say it all, so readers skip the symbol."""
    return f'<span class="mark" aria-hidden="true">{SYMBOL[level]}</span> <span>{html}</span>'


def free_text(text: str) -> str:
    """A URL in an address or an error may carry a password; a page must never show it."""
    return escape(_CREDENTIALS.sub("//", text))


def fold(title: str, body: str, is_open: bool = True) -> str:
    return f"<details{' open' if is_open else ''}><summary>{title}</summary>{body}</details>"
