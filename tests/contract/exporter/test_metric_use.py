"""Every metric has a use: an alert, a board, a rollup, or a purpose in its definition."""

from __future__ import annotations

import re
from functools import cache
from operator import attrgetter
from typing import Final

from support.collected import over_all
from support.documents import ROOT

from exporter import catalog
from exporter.metric import PREFIX, Kind, Metric

CONSTANTS: Final = {
    value.name: name for name, value in vars(catalog).items() if isinstance(value, Metric)
}
NAME: Final = attrgetter("name")


@cache
def queries() -> str:
    """The rules and boards as they are generated."""
    rules = (ROOT / "alerts/generated").glob("*.rules.yml")
    boards = (ROOT / "dashboards/generated").glob("*.json")
    return "".join(path.read_text() for path in (*rules, *boards))


@cache
def rollup_sources() -> str:
    """Code has metrics as constants, the tables of columns by name."""
    files = (ROOT / "spark_rollups").rglob("*.*")
    return "".join(path.read_text() for path in files if path.suffix in (".py", ".toml"))


def is_used(metric: Metric) -> bool:
    series = metric.name + ("_bucket" if metric.kind is Kind.HISTOGRAM else "")
    in_query = re.search(rf"{series}(?![a-z0-9_])", queries())
    words = f"{CONSTANTS[metric.name]}|{metric.name.removeprefix(PREFIX)}"
    return bool(in_query or re.search(rf"\b({words})\b", rollup_sources()))


@over_all(
    catalog.ALL,
    "use the metric in an alert, on a board or in a rollup, or state its purpose= in "
    "exporter/catalog/: who needs it, and for what",
    NAME,
)
def test_a_metric_is_used_or_states_its_purpose(metric: Metric) -> None:
    assert is_used(metric) or metric.purpose, "has no use"


@over_all(catalog.ALL, "remove purpose= in exporter/catalog/", NAME)
def test_a_metric_that_is_used_needs_no_purpose(metric: Metric) -> None:
    assert not (is_used(metric) and metric.purpose), "is used"
