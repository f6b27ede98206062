"""A longer sequence of events, and the alerts that fire at its moments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from support.promtool.alert_row import Values


@dataclass(frozen=True)
class Fires:
    labels: Mapping[str, str]
    values: str  # of the description, see `values_template`
    link: str  # the end of the dashboard's address
    owner: str = "not known"
    exporter: str = ""  # whose pages the links lead to; then `link` is one of them


@dataclass(frozen=True)
class Check:
    moment: str
    alert: str  # without the prefix
    fires: tuple[Fires, ...] = ()


@dataclass(frozen=True)
class Scenario:
    name: str
    every: str
    series: Mapping[str, Values]
    checks: tuple[Check, ...]

    @property
    def alerts(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(check.alert for check in self.checks))
