"""Tables of instant queries: one row per asset, columns named, ordered and coloured."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from dashboards.panels.colours import plain
from dashboards.panels.model import Board, Column, Table
from dashboards.rendering.fields import Json, mappings, thresholds
from dashboards.rendering.links import column_title, row_link, runbook_link

# Least widths in pixels. Grafana takes 150 for a column without one, and hides the last columns.
_HEADER_LETTER = 7.3
_HEADER_ICONS = 40  # sort and filter
_NARROWEST = 72
_BAR = 120
_MAPPED_LETTER = 7.5
_LABEL_WIDTHS = {"stream": 120, "consumer": 120, "server": 110, "condition": 160, "runbook": 220}
_EVERY_ALERT = "JetStream"  # the names of all our alerts begin so
# The names that decide come first; these are the same in most rows.
_LAST = ("account", "system")


def query_letter(index: int) -> str:
    return chr(ord("A") + index)


def transformations(table: Table) -> list[Json]:
    """Every query returns one frame; rows with the same labels become one."""
    labels = _labels(table)
    values = [_value_field(index) for index in range(len(table.columns))]
    last = _LAST if "stream" in labels else _LAST[1:]  # an account may be what a row is about
    order = [*(each for each in labels if each not in last), *values]
    titles = {label: column_title(label) for label in labels}
    titles |= {_value_field(i): column.title for i, column in enumerate(table.columns)}
    if len(table.columns) == 1:  # with one query Grafana omits the letter
        order.append("Value")
        titles["Value"] = table.columns[0].title
    order += [each for each in last if each in labels]
    organize = {
        "excludeByName": {"Time": True, **dict.fromkeys(_hidden(table), True)},
        "includeByName": {},
        "indexByName": {name: index for index, name in enumerate(order)},
        "renameByName": titles,
    }
    return [{"id": "merge", "options": {}}, {"id": "organize", "options": organize}]


def _labels(table: Table) -> tuple[str, ...]:
    return (*table.identity, *table.shown_labels)


def _hidden(table: Table) -> Iterator[str]:
    """The value of an info is always 1: its labels are the columns."""
    for index, column in enumerate(table.columns):
        if not column.title:
            yield _value_field(index)


def _value_field(index: int) -> str:
    return f"Value #{query_letter(index)}"


def table_defaults() -> Json:
    custom = {
        "align": "auto",
        "cellOptions": {"type": "auto"},
        "filterable": True,
        "inspect": False,
    }
    return {"custom": custom}


def table_options(table: Table) -> Json:
    return {
        "cellHeight": "sm",
        "frameIndex": 0,
        "showHeader": True,
        "sortBy": [{"displayName": table.sort_by, "desc": not table.ascending}],
    }


def table_overrides(table: Table, board: Board, prefix: str, runbooks: str) -> list[Json]:
    columns = [_override(c.title, _column_properties(c)) for c in table.columns if c.title]
    labels = [_override(column_title(name), _label_properties(name)) for name in _labels(table)]
    named = [_override(column_title("runbook"), _runbook_properties(table.runbooks, runbooks))]
    return [*columns, *labels, *_linked(table, board, prefix), *(named if table.runbooks else ())]


def _linked(table: Table, board: Board, prefix: str) -> Iterator[Json]:
    """The name of an asset links to its board."""
    for target in table.links:
        named = target.variables[-1]
        link = row_link(target, table, board, prefix)
        yield _override(column_title(named), iter([_property("links", [link])]))


def _column_properties(column: Column) -> Iterator[Json]:
    yield _property("unit", column.unit)
    yield _property("thresholds", thresholds(column.steps or plain()))
    if column.mapping is not None:
        yield _property("mappings", mappings(column.mapping))
    yield _property("custom.minWidth", _least_width(column))
    if column.bar:
        yield from (_property("min", 0), _property("max", 1))
        cell: dict[str, Any] = {"type": "gauge", "mode": "basic", "valueDisplayMode": "text"}
        yield _property("custom.cellOptions", cell)
    elif column.mapping is not None:
        yield _property("custom.cellOptions", {"type": "color-background", "mode": "basic"})
        yield _property("custom.align", "left")
    elif len(column.steps) > 1:
        yield _property("custom.cellOptions", {"type": "color-text"})


def _label_properties(label: str) -> Iterator[Json]:
    header = _header_width(column_title(label))
    yield _property("custom.minWidth", max(header, _LABEL_WIDTHS.get(label, _NARROWEST)))


def _runbook_properties(names: Mapping[str, str], address: str) -> Iterator[Json]:
    """Shows the name without what all names begin with, and links to the runbook."""
    texts = {value: {"text": name.removeprefix(_EVERY_ALERT)} for value, name in names.items()}
    yield _property("mappings", [{"type": "value", "options": texts}])
    yield _property("links", [runbook_link(address, _EVERY_ALERT + "${__value.text}")])


def _least_width(column: Column) -> int:
    texts = column.mapping.values if column.mapping else ()
    longest = max((len(each.text) for each in texts), default=0)
    widest = max(_header_width(column.title), round(longest * _MAPPED_LETTER + 16))
    return max(widest, _BAR if column.bar else _NARROWEST)


def _header_width(title: str) -> int:
    return math.ceil(len(title) * _HEADER_LETTER + _HEADER_ICONS)


def _override(name: str, properties: Iterator[Json]) -> Json:
    return {"matcher": {"id": "byName", "options": name}, "properties": list(properties)}


def _property(key: str, value: object) -> Json:
    return {"id": key, "value": value}
