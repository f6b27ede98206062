"""Text into markup: the only door through which names from outside reach a page. Pure."""

from __future__ import annotations

import re
from html import escape

# Characters that no page shows, and those that turn the direction of the text after them.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffe\uffff]"
)
_LONE = re.compile("[\ud800-\udfff]")  # half a character, which no file may hold
_REPLACED = "\ufffd"


def escaped(text: str) -> str:
    return escape(clean(text))


def clean(text: str) -> str:
    return _LONE.sub(_REPLACED, _UNSEEN.sub(_REPLACED, text))
