"""The thresholds of the alerts as lines and factors on the boards."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from alerts import thresholds
from dashboards.panels.colours import Line
from streamgauge.promql.context import NamedNumber


@dataclass(frozen=True, slots=True)
class Limits:
    chosen: Mapping[str, NamedNumber]

    def of(self, threshold: NamedNumber) -> Line:
        """The line at the threshold, with the chosen value."""
        return Line(self.chosen[threshold.name].value, threshold.name)

    def value(self, threshold: NamedNumber) -> float:
        """The chosen value, as a factor of a query."""
        return self.chosen[threshold.name].value


def limits(assignments: Iterable[str] = ()) -> Limits:
    """`name=value` assignments as for the alerts, and those of the exporter: a board only draws them.

    ValueError in one line when one is wrong."""
    return Limits(thresholds.overridden(assignments, of_exporter=True))
