"""Boards, rows, panels, queries and links, independent of Grafana. Pure declarations."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TypedDict

from dashboards.panels.colours import Step, ValueMapping
from streamgauge.promql.expression import Expression, ExpressionError

GRID_COLUMNS = 24
LEGEND_LABEL = re.compile(r"{{\s*(\w+)\s*}}")


@dataclass(frozen=True, slots=True)
class Query:
    expr: Expression
    legend: str = ""

    def __post_init__(self) -> None:
        for label in LEGEND_LABEL.findall(self.legend):
            if label not in self.expr.labels:
                raise ExpressionError(f"legend {self.legend!r}: {self.expr} has no label {label}")


@dataclass(frozen=True, slots=True)
class Guide:
    """The description of a panel: what it means, what is bad, what to do."""

    means: str
    bad: str
    do: str


class Target(Enum):
    """The boards that a link may open; the value is the key of the board."""

    FLEET = "fleet"
    STREAM = "stream"
    CONSUMER = "consumer"
    PUBLISH = "publish"
    CAPACITY = "capacity"
    SERVERS = "servers"
    CLOCKS = "clocks"
    EXPORTER = "exporter"

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables that the link sets; the last one is the subject of the board."""
        return ("system", *_FILLED.get(self.value, ()))


_FILLED = {
    "servers": ("server",),
    "stream": ("account", "stream"),
    "consumer": ("account", "stream", "consumer"),
    "publish": ("account", "stream"),
}


@dataclass(frozen=True, slots=True)
class Within:
    """A link to one panel of the same board."""

    title: str


@dataclass(frozen=True, slots=True)
class StatusPage:
    """A link to the overview of an exporter; the board needs the variable `exporter`."""


Link = Target | Within | StatusPage


@dataclass(frozen=True, slots=True)
class Override:
    """Display options of the series with one name."""

    name: str  # the legend as drawn, or a regular expression between slashes
    colour: str = ""
    dashed: bool = False
    off_legend: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    title: str
    guide: Guide
    queries: tuple[Query, ...] = ()
    width: int
    height: int
    unit: str = "short"
    steps: tuple[Step, ...] = ()
    mapping: ValueMapping | None = None
    links: tuple[Link, ...] = ()
    about_alerts: bool = False  # its series carry alertname, and an alert has a runbook
    no_value: str = "no data"
    decimals: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeSeries(Panel):
    width: int = 12
    height: int = 8
    stacked: bool = False
    bars: bool = False
    minimum: float | None = 0  # None: values below zero mean something here
    maximum: float | None = None
    soft_maximum: float | None = None
    overrides: tuple[Override, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Stat(Panel):
    """The present value, by an instant query: the last value of a range would outlive its series."""

    width: int = 6
    height: int = 3
    background: bool = False  # colour the whole tile: for the most important values
    show_label: str = ""  # show this label's value instead of the number


class StatOptions(TypedDict, total=False):
    """Optional fields of a tile."""

    steps: tuple[Step, ...]
    mapping: ValueMapping
    no_value: str
    decimals: int
    show_label: str
    background: bool
    links: tuple[Link, ...]
    width: int
    height: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BarGauge(Panel):
    width: int = 8
    height: int = 8
    minimum: float | None = 0
    maximum: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StateTimeline(Panel):
    width: int = 12
    height: int = 8
    unit: str = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Heatmap(Panel):
    width: int = 12
    height: int = 8


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table: an instant query and how its number is shown."""

    title: str
    expr: Expression
    unit: str = "short"
    steps: tuple[Step, ...] = ()
    mapping: ValueMapping | None = None
    bar: bool = False  # draw the number as a bar from 0 to 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Table(Panel):
    """One row per identity; further labels of an info are columns too."""

    width: int = 24
    height: int = 10
    identity: tuple[str, ...]
    shown_labels: tuple[str, ...] = ()
    columns: tuple[Column, ...]
    sort_by: str
    ascending: bool = False
    links: tuple[Target, ...] = ()
    runbooks: Mapping[str, str] = field(default_factory=dict)  # by the values of a label `runbook`


@dataclass(frozen=True, slots=True, kw_only=True)
class Text(Panel):
    content: str
    width: int = 24
    height: int = 6
    guide: Guide = Guide("", "", "")


@dataclass(frozen=True, slots=True)
class Row:
    title: str
    panels: tuple[Panel, ...]
    collapsed: bool = False


@dataclass(frozen=True, slots=True)
class Variable:
    name: str
    label: str
    query: str
    all_values: bool = True  # False: begins with the first value, for boards about one thing
    all_value: str = ".+"
    regex: str = ""  # takes the value out of a series
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class Annotation:
    """An event shown in every graph of the board."""

    name: str
    expr: Expression
    title: str
    colour: str
    enabled: bool = True
    value_is_time: bool = False


@dataclass(frozen=True, slots=True)
class Board:
    key: str  # the uid is the prefix and this
    title: str
    description: str
    variables: tuple[Variable, ...]
    rows: tuple[Row, ...]
    annotations: tuple[Annotation, ...] = ()
    hours: int = 1
    refresh: str = "30s"
    least_interval: str = ""  # between two points; without it, that of the data source
    panels: tuple[Panel, ...] = field(init=False, default=())

    def __post_init__(self) -> None:
        found = tuple(panel for row in self.rows for panel in row.panels)
        object.__setattr__(self, "panels", found)
        titles = [panel.title for panel in found]
        if twice := {title for title in titles if titles.count(title) > 1}:
            raise ValueError(f"board {self.key}: two panels are called {min(twice)}")
        inner = {link.title for p in found for link in p.links if isinstance(link, Within)}
        if unknown := inner - set(titles):
            raise ValueError(f"board {self.key}: a link names no panel: {min(unknown)}")
