"""The id of a log, which separates its segment numbers from those of another log."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Final

from archive.tables.storage import open_storage

NAME: Final = "log-id"


def log_id(folder: Path, *, create: bool) -> str:
    """The id of the log; "" without one when `create` is false."""
    place = folder / NAME
    if place.exists():
        return place.read_text().strip()
    if not create:
        return ""
    made = secrets.token_hex(16)
    open_storage(folder).write(NAME, made.encode())
    return made
