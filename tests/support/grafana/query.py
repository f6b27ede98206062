"""Queries a real Prometheus like Grafana does for a panel: variables filled, range or instant."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Final

import aiohttp
from support.grafana.boards import Json
from support.grafana.promql import filled

_LEGEND_LABEL: Final = re.compile(r"{{\s*(\w+)\s*}}")


class PrometheusError(Exception):
    """Prometheus refused a query; the text is its own."""


@dataclass(frozen=True)
class Series:
    ref: str  # the letter of its query
    name: str
    labels: dict[str, str]
    points: list[tuple[float, float]]

    @property
    def last(self) -> float:
        return self.points[-1][1]


@dataclass(frozen=True)
class Window:
    """The shown time, and what Grafana computes from it."""

    start: float
    end: float
    step: float
    scrape: float

    def variables(self) -> dict[str, str]:
        rate = max(self.step + self.scrape, 4 * self.scrape)
        return {
            "__rate_interval": f"{math.ceil(rate)}s",
            "__interval": f"{math.ceil(self.step)}s",
            "__range": f"{math.ceil(self.end - self.start)}s",
        }


@dataclass(frozen=True)
class Prometheus:
    url: str
    session: aiohttp.ClientSession
    chosen: dict[str, str] = field(default_factory=dict)  # a board's variables; All when left out

    async def panel(self, panel: Json, window: Window) -> list[Series]:
        """The series of all its queries, named by their legends."""
        return [
            series
            for target in panel.get("targets", ())
            for series in await self.target(target, window)
        ]

    async def target(self, target: Json, window: Window) -> list[Series]:
        query = filled(target["expr"], {**self.chosen, **window.variables()})
        if target["instant"]:
            found = await self._get("query", query=query, time=window.end)
        else:
            found = await self._get(
                "query_range", query=query, start=window.start, end=window.end, step=window.step
            )
        return [_series(each, target) for each in found]

    async def _get(self, what: str, **parameters: str | float) -> list[Json]:
        address = f"{self.url}/api/v1/{what}"
        async with self.session.post(address, data=parameters) as response:
            body: Json = await response.json()
        if body["status"] != "success":
            raise PrometheusError(f"{body.get('error')}: {parameters['query']}")
        found: list[Json] = body["data"]["result"]
        return found


def _series(raw: Json, target: Json) -> Series:
    labels: dict[str, str] = raw["metric"]
    values = raw["values"] if "values" in raw else [raw["value"]]
    points = [(float(when), float(value)) for when, value in values]
    return Series(target["refId"], _name(labels, target.get("legendFormat", "")), labels, points)


def _name(labels: dict[str, str], legend: str) -> str:
    if legend:
        return " ".join(_LEGEND_LABEL.sub(lambda found: labels.get(found[1], ""), legend).split())
    return ", ".join(f"{key}={value}" for key, value in sorted(labels.items()))
