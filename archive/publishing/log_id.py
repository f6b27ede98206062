"""The id of a log, which separates its segment numbers from those of another log."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Final

from archive.tables.archive_tables import ArchiveTables, position_name
from archive.wal.fsync import replace_file

NAME: Final = "log-id"


def log_id(folder: Path, *, create: bool) -> str:
    """The id of the log; "" without one when `create` is false."""
    place = folder / NAME
    if place.exists():
        return place.read_text().strip()
    if not create:
        return ""
    made = secrets.token_hex(16)
    replace_file(place, [made.encode()])
    return made


def first_unused_segment(tables: ArchiveTables, folder: Path) -> int:
    """A log that lost its segments must not assign numbers that the tables cover."""
    tables.read()
    return tables.highest_position(position_name(log_id(folder, create=False))) + 1
