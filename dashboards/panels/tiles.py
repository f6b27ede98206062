"""Tiles: one present value each."""

from __future__ import annotations

from typing import Unpack

from dashboards.panels.model import Guide, Query, Stat, StatOptions
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
