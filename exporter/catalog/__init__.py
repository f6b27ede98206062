"""The definitions of all metrics. Standard library only.

Rules, dashboards, rollups and the reference use them. To add a metric, add one entry to the
module of its subject. The order of the modules is the order of the exposition.
"""

# ruff: noqa: F403

from __future__ import annotations

from collections.abc import Mapping

# isort: off
from exporter.catalog.labels import *
from exporter.catalog.consumer_position import *
from exporter.catalog.consumer_faults import *
from exporter.catalog.consumer_configuration import *
from exporter.catalog.stream import *
from exporter.catalog.server import *
from exporter.catalog.account import *
from exporter.catalog.exporter import *
from exporter.catalog.archive import *
from exporter.catalog.rollup import *
from exporter.metric import PREFIX, DefinitionError, Metric
# isort: on


def constant_name(metric: Metric) -> str:
    """The name of the metric's constant."""
    return metric.name.removeprefix(PREFIX).removesuffix("_total").upper()


def collected(namespace: Mapping[str, object]) -> tuple[Metric, ...]:
    """The metrics of a module; raises an error for an ambiguous name or family."""
    found = {key: value for key, value in namespace.items() if isinstance(value, Metric)}
    families: dict[str, str] = {}
    for constant, metric in found.items():
        if constant != constant_name(metric):
            raise DefinitionError(f"{metric.name}: is called {constant} in the catalogue")
        if metric.family in families:
            raise DefinitionError(f"{metric.name}: shares a family with {families[metric.family]}")
        families[metric.family] = metric.name
    return tuple(found.values())


ALL: tuple[Metric, ...] = collected(globals())
BY_NAME: dict[str, Metric] = {metric.name: metric for metric in ALL}
# Counters whose series appears with the first event, with the time of their last event.
EVENT_TIMES: dict[Metric, Metric] = {
    metric: BY_NAME[timestamp]
    for metric in ALL
    if (timestamp := metric.family + "_last_event_timestamp_seconds") in BY_NAME
}
# What happened stays visible while the system does not respond.
KEPT_IN_OUTAGES = frozenset((*EVENT_TIMES, *EVENT_TIMES.values()))
