"""Which log a manifest's `covered` speaks of: segments of another one may have the same numbers."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Final

from archive.tables.storage import open_storage

NAME: Final = "log-id"


def log_id(folder: Path, *, create: bool) -> str:
    """The name that this log was given once; "" when it has none and must not get one."""
    place = folder / NAME
    if place.exists():
        return place.read_text().strip()
    if not create:
        return ""
    made = secrets.token_hex(16)
    open_storage(folder).write(NAME, made.encode())
    return made
