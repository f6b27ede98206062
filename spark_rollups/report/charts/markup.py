"""Escapes text for HTML and SVG."""

from __future__ import annotations

import re
from html import escape

# Control characters, and characters that change the direction of text.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffe\uffff]"
)
_LONE = re.compile("[\ud800-\udfff]")  # half of a surrogate pair cannot be encoded
_REPLACED = "\ufffd"


def escaped(text: str) -> str:
    return escape(clean(text))


def clean(text: str) -> str:
    return _LONE.sub(_REPLACED, _INVISIBLE.sub(_REPLACED, text))
