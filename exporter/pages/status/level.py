"""How grave something on the status page is."""

from __future__ import annotations

from enum import IntEnum


class Level(IntEnum):
    OK = 0
    WARNING = 1
    CRITICAL = 2
