"""Tiles: one present value each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Unpack

from dashboards.panels.model import Guide, Link, Panel, Query, Stat, StatOptions
from streamgauge.promql.expression import Expression


def tile(
    title: str,
    expr: Expression,
    unit: str,
    guide: Guide,
    *,
    legend: str = "",
    **options: Unpack[StatOptions],
) -> Stat:
    return Stat(title=title, guide=guide, queries=(Query(expr, legend),), unit=unit, **options)


def leading(panels: Iterable[Panel], leads: Mapping[str, Link]) -> tuple[Panel, ...]:
    """The same panels, each with the link that has its title."""
    found = tuple(panels)
    if unknown := set(leads) - {panel.title for panel in found}:
        raise ValueError(f"no panel is called {min(unknown)}")
    return tuple(
        replace(each, links=(leads[each.title],)) if each.title in leads else each for each in found
    )
