"""How grave something on the status pages is: by the severity of its alert."""

from __future__ import annotations

from enum import IntEnum


class Level(IntEnum):
    OK = 0
    WARNING = 1  # a ticket
    CRITICAL = 2  # a page

    @property
    def word(self) -> str:
        return self.name.lower()

    @property
    def symbol(self) -> str:
        """Shown besides the colour."""
        return "✓▲✕"[self]
