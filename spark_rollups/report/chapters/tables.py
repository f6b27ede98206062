"""Tables and chapters: tables.toml and sentences.txt have the texts, the chapters the values."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from exporter.metric import Metric
from spark_rollups.report.facts.assets import Assets, Floats, Mask, known
from spark_rollups.report.facts.monthly_facts import Facts
from spark_rollups.report.figures import Figure
from spark_rollups.report.formatting import Kind, Level, Value, sentences
from spark_rollups.report.model import Chapter, Column, Row, Table

Cells = Floats | Sequence[Value]  # one column of a table
_SPARKLINES = 50  # rows with one; the page shows 25 by default
_TITLES = {
    "owners": "Owners", "what-if": "What if", "months": "Month over month", "year": "The year",
    "limits": "Limits and their dates", "streams": "Streams", "consumers": "Consumers",
    "servers": "Servers and accounts", "clocks": "Clocks", "publishing": "Publishing",
    "abandoned": "Abandoned messages", "configuration": "Configuration",
    "right-sizing": "Right-sizing", "changes": "Changes", "data-quality": "Data quality",
    "method": "Method and backtest",
}  # fmt: skip


def chapter(
    facts: Facts, key: str, tables: Iterable[Table | None] = (),
    figures: Iterable[Figure | None] = (), source: str = "", **values: Any,
) -> Chapter:  # fmt: skip
    """`values` are those of its sentences; `source` is that of its figures."""
    return Chapter(
        key, _TITLES[key], sentences(key.replace("-", "_"), facts=facts, **values),
        tuple(filter(None, tables)), tuple(filter(None, figures)),
        source=source or facts.source_line(("daily",)),
    )  # fmt: skip


def table(
    facts: Facts, key: str, rows: Sequence[Row], more: Iterable[Column] = (), **changes: Any
) -> Table:
    """`more` columns follow those of tables.toml; `changes` are other texts than there."""
    defined = _definitions()[key]
    titles = {label: label.capitalize() for label in defined.get("identity", ())}
    if "identity_title" in defined:
        titles[defined["identity"][-1]] = defined["identity_title"]
    identity = tuple(Column(label, title) for label, title in titles.items())
    columns = [
        _column(facts, name, texts, rows, place)
        for place, (name, texts) in enumerate(defined["columns"].items(), len(identity))
    ]
    texts = {name: defined[name] for name in ("title", "note", "empty") if name in defined}
    source = facts.source_line(defined.get("sources", ("daily",)))
    days = defined.get("days") if rows else None
    return Table(
        key=key, identity=identity, columns=(*columns, *more), rows=rows,
        days_of=None if days is None else Column("days", days["title"], Kind(days["kind"])),
        **{**texts, "source": source, **changes},
    )  # fmt: skip


def asset_table(
    facts: Facts, key: str, assets: Assets, mask: Mask, sort: Sequence[str] = (),
    levels: Sequence[Level] | None = None, days: tuple[Metric, str] | None = None,
    more: Sequence[tuple[Column, Cells]] = (), **columns: Cells,
) -> Table:  # fmt: skip
    """One row per asset of the mask, its name first. Sorted by these columns, largest first."""
    order = np.flatnonzero(mask)
    if sort:
        keys = [np.asarray(columns[name])[order] for name in reversed(sort)]
        order = order[np.lexsort([np.where(np.isnan(each), np.inf, -each) for each in keys])]
    names = list(_definitions()[key]["columns"])
    wanted = [columns[name] for name in names if name not in assets.labels]
    wanted += [cells for _, cells in more]
    values = zip(*(_cells(each, order) for each in wanted), strict=True)
    by_day = None if days is None else assets.daily(*days)
    rows = [
        Row(
            (*assets.names[index], *own),
            Level.NORMAL if levels is None else levels[index],
            () if by_day is None or place >= _SPARKLINES else _days(facts, by_day[index]),
        )
        for place, (index, own) in enumerate(zip(order.tolist(), values, strict=True))
    ]
    return table(facts, key, rows, [column for column, _ in more])


def _cells(column: Cells, order: Any) -> list[Value]:
    if isinstance(column, np.ndarray):
        return [None if value != value else value for value in column[order].tolist()]
    return [column[index] for index in order.tolist()]


def _days(facts: Facts, levels: Floats) -> tuple[float | None, ...]:
    """By day of the month; empty if all are unknown."""
    month = np.full(facts.month.last.day, np.nan)
    month[[day.day - 1 for day in facts.days]] = levels
    return () if np.isnan(month).all() else tuple(map(known, month.tolist()))


def _column(
    facts: Facts, key: str, texts: Mapping[str, Any], rows: Sequence[Row], place: int
) -> Column:
    months = {"month": facts.month.title, "before": facts.month.before.title}
    shown = texts.get("shown", True)
    if shown == "used":
        shown = any(row.values[place] for row in rows)
    line = texts.get("above", texts.get("below"))
    if isinstance(line, str):
        line = facts.thresholds[line].value
    return Column(
        key, texts["title"].format(**months), Kind(texts.get("kind", "text")),
        texts.get("hint", "").format(**months), shown, line, falling="below" in texts,
    )  # fmt: skip


@cache
def _definitions() -> dict[str, Any]:
    text = files(__package__).joinpath("tables.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)
