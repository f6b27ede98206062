"""Name filters for accounts, streams and consumers; exclude wins."""

from __future__ import annotations

import re
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class NameFilter:
    include: re.Pattern[str] | None = None
    exclude: re.Pattern[str] | None = None

    def wants(self, name: str) -> bool:
        if self.exclude is not None and self.exclude.fullmatch(name):
            return False
        return self.include is None or self.include.fullmatch(name) is not None

    @property
    def open(self) -> bool:
        return self.include is None and self.exclude is None


@dataclass(frozen=True, slots=True)
class Filters:
    accounts: NameFilter = field(default_factory=NameFilter)
    streams: NameFilter = field(default_factory=NameFilter)
    consumers: NameFilter = field(default_factory=NameFilter)
