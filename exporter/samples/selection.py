"""Which metrics are written: a level, plus single metrics included or excluded."""

from __future__ import annotations

from dataclasses import dataclass

from exporter import catalog
from exporter.metric import PREFIX, Level, Metric


@dataclass(frozen=True, slots=True)
class Selection:
    level: Level = Level.CORE
    include: frozenset[str] = frozenset()
    exclude: frozenset[str] = frozenset()

    def metrics(self) -> frozenset[Metric]:
        return frozenset(metric for metric in catalog.ALL if self._wants(metric))

    def _wants(self, metric: Metric) -> bool:
        if metric.name in self.exclude:
            return False
        return metric.level is Level.CORE or self.level is Level.FULL or metric.name in self.include


def full_name(name: str) -> str | None:
    """The full name of a metric given with or without the prefix; None if it does not exist."""
    for candidate in (name, PREFIX + name):
        if candidate in catalog.BY_NAME:
            return candidate
    return None
