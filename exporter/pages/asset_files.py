"""Style sheets and scripts of the pages, and their hashes for the Content-Security-Policy."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files


def asset(name: str) -> str:
    """Call it at import: a request must not read the disk in the event loop."""
    return files("exporter.pages").joinpath("assets", name).read_text(encoding="utf-8")


def hash_source(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
