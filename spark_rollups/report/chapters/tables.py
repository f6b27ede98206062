"""Tables and chapters: tables.toml and sentences.txt have the texts, the chapters the values."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from spark_rollups.report.facts.assets import Floats, Mask, known
from spark_rollups.report.facts.columns import KINDS
from spark_rollups.report.facts.monthly_facts import Facts
from spark_rollups.report.figures import Figure
from spark_rollups.report.formatting import Kind, Level, Value, sentences
from spark_rollups.report.model import Chapter, Column, Row, Table

Cells = Floats | Sequence[Value]  # one column of a table
_SPARKLINES = 50  # rows with one; the page shows 25 by default


def chapter(
    facts: Facts, key: str, tables: Iterable[Table | None] = (),
    figures: Iterable[Figure | None] = (), source: str = "", **values: Any,
) -> Chapter:  # fmt: skip
    """`values` are those of its sentences; `source` is that of its figures."""
    return Chapter(
        key, definitions()["chapters"][key], sentences(key.replace("-", "_"), facts=facts, **values),
        tuple(filter(None, tables)), tuple(filter(None, figures)),
        source=source or facts.source_line(("daily",)),
    )  # fmt: skip


def table(
    facts: Facts, key: str, rows: Sequence[Row], more: Iterable[Column] = (), **changes: Any
) -> Table:
    """`more` columns follow those of tables.toml; `changes` are other texts than there."""
    defined = definitions()[key]
    labels = KINDS[defined["of"]].labels if "of" in defined else defined.get("identity", ())
    titles = {label: label.capitalize() for label in labels}
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
    facts: Facts, key: str, mask: Mask | None = None, levels: Sequence[Level] | None = None,
    more: Sequence[tuple[Column, Cells]] = (), empty: str = "",
) -> Table:  # fmt: skip
    """One row per asset of the mask (else per asset seen), sorted as tables.toml says; the name is first."""
    defined = definitions()[key]
    pair = facts.pair(defined["of"])
    order = np.flatnonzero(pair.now.seen if mask is None else mask)
    keys = [np.asarray(pair[name])[order] for name in reversed(defined["sort"])]
    order = order[np.lexsort([np.where(np.isnan(each), np.inf, -each) for each in keys])]
    wanted = [pair[name] for name in defined["columns"] if name not in pair.now.labels]
    wanted += [cells for _, cells in more]
    values = zip(*(_cells(each, order) for each in wanted), strict=True)
    by_day = pair[defined["days"]["of"]] if "days" in defined else None
    rows = [
        Row(
            (*pair.now.names[index], *own),
            Level.NORMAL if levels is None else levels[index],
            () if by_day is None or place >= _SPARKLINES else _days(facts, by_day[index]),
        )
        for place, (index, own) in enumerate(zip(order.tolist(), values, strict=True))
    ]
    changes = {"empty": empty} if empty else {}
    return table(facts, key, rows, [column for column, _ in more], **changes)


def _cells(column: Cells, order: Any) -> list[Value]:
    cells = column[order].tolist() if isinstance(column, np.ndarray) else [column[n] for n in order]
    return [None if value != value else value for value in cells]


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
def definitions() -> dict[str, Any]:
    text = files(__package__).joinpath("tables.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)
