"""The numbers of the alerts as lines on the boards: one number, one place, one name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from alerts import thresholds
from dashboards.panels.colours import Line


class NamedNumber(Protocol):
    """A threshold as the boards need it."""

    @property
    def name(self) -> str: ...

    @property
    def value(self) -> float: ...


@dataclass(frozen=True, slots=True)
class Limits:
    chosen: Mapping[str, NamedNumber]

    def of(self, threshold: NamedNumber) -> Line:
        """Where the line stands; somebody may have chosen another value."""
        return Line(self.chosen[threshold.name].value, threshold.name)

    def value(self, threshold: NamedNumber) -> float:
        """The same for a factor inside a query."""
        return self.chosen[threshold.name].value


def limits(assignments: Iterable[str] = ()) -> Limits:
    """`name=value` assignments as for the alerts; ValueError in one line when one is wrong."""
    return Limits(thresholds.overridden(assignments))
