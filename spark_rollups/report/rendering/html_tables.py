"""Renders tables as HTML, with a limited number of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spark_rollups.report import formatting as fmt
from spark_rollups.report.cell_values import Kind, Level, Value, is_unknown, text_of
from spark_rollups.report.model import Column, Row, Table
from spark_rollups.report.rendering.markup import escaped

SYMBOLS = {Level.NORMAL: "", Level.WARNING: "▲", Level.CRITICAL: "✕"}
_NARROW_ROWS = 8  # rows; report.css hides the others on narrow screens
CLASSES = {Level.NORMAL: "normal", Level.WARNING: "warning", Level.CRITICAL: "critical"}


@dataclass(frozen=True, slots=True)
class Page:
    """Settings of all tables of a page."""

    rows: int  # per table, at most
    one_system: bool  # then rows omit its name
    files: str  # relative path of the CSV files


def mark(level: Level) -> str:
    """A symbol for people who do not see the colour, and a label for screen readers."""
    if level is Level.NORMAL:
        return ""
    word = "critical" if level is Level.CRITICAL else "attention"
    return f'<span class="mark" role="img" aria-label="{word}">{SYMBOLS[level]}</span> '


def table_html(table: Table, page: Page) -> str:
    head = f"<h3>{escaped(table.title)}</h3>"
    if not table.rows:
        return f'<section class="table">{head}<p class="empty">{escaped(table.empty)}</p></section>'
    shown = [column for column in table.columns if column.shown]
    body = "\n".join(_row(table, row, page) for row in table.rows[: page.rows])
    note = f'<p class="note">{escaped(table.note)}</p>' if table.note else ""
    return (
        f'<section class="table" id="table-{table.key}">{head}{note}'
        f'<div class="box" role="region" aria-label="{escaped(table.title)}" tabindex="0"><table>'
        f"<thead><tr>{_heads(table, shown)}</tr></thead><tbody>\n{body}\n</tbody></table></div>"
        f"{_more(table, page)}</section>"
    )


def _heads(table: Table, shown: Sequence[Column]) -> str:
    first = f'<th scope="col">{escaped(table.identity[-1].title)}</th>' if table.identity else ""
    if len(table.identity) > 4:  # events and trends of different subjects
        first = '<th scope="col">Subject</th>'
    return first + "".join(
        f'<th scope="col"{_class(column)}{_hint(column)}>{escaped(column.title)}</th>'
        for column in shown
    )


def _hint(column: Column) -> str:
    return f' title="{escaped(fmt.capital(column.hint))}"' if column.hint else ""


def _class(column: Column, extra: str = "") -> str:
    numeric = "number" if column.kind not in (Kind.TEXT, Kind.DAY) else ""
    names = " ".join(filter(None, (numeric, "day" if column.kind is Kind.DAY else "", extra)))
    return f' class="{names}"' if names else ""


def _more(table: Table, page: Page) -> str:
    hidden = len(table.rows) - page.rows
    where = f"{page.files}/{table.key}.csv"
    if len(table.rows) > _NARROW_ROWS:
        narrow = f"A narrow screen shows {_NARROW_ROWS} rows; a wider one, and the file, show more."
        return f'<p class="more narrow">{narrow}</p>{_file_note(hidden, where)}'
    return _file_note(hidden, where)


def _file_note(hidden: int, where: str) -> str:
    if hidden <= 0:
        return f'<p class="more">All columns are in <code>{escaped(where)}</code>.</p>'
    return f'<p class="more">And {hidden:,} more in <code>{escaped(where)}</code>.</p>'


def _row(table: Table, row: Row, page: Page) -> str:
    names = row.values[: len(table.identity)]
    cells = zip(table.columns, row.values[len(table.identity) :], strict=True)
    shown = [(column, value) for column, value in cells if column.shown]
    if not table.identity:
        (first, name), *shown = shown
        lead = f'<th scope="row">{mark(row.level)}{_value(first, name)}</th>'
    else:
        lead = f'<th scope="row">{mark(row.level)}{_identity(table, names, page)}</th>'
    body = "".join(_cell(column, value) for column, value in shown)
    return f'<tr class="{CLASSES[row.level]}">{lead}{body}</tr>'


def _identity(table: Table, names: Sequence[Value], page: Page) -> str:
    parts = [
        str(name)
        for column, name in zip(table.identity, names, strict=True)
        if name and not (page.one_system and column.key == "system" and len(table.identity) > 1)
    ]
    if not parts:
        return "the whole system"
    path = f" <small>{escaped(' / '.join(parts[:-1]))}</small>" if len(parts) > 1 else ""
    return f"<b>{escaped(parts[-1])}</b>{path}"


def _cell(column: Column, value: Value) -> str:
    beyond = column.is_beyond(value)
    sign = f"{mark(Level.WARNING)}" if beyond else ""
    label = f' data-label="{escaped(column.title)}"'
    return (
        f"<td{_class(column, 'beyond' if beyond else '')}{label}>{sign}{_value(column, value)}</td>"
    )


def _value(column: Column, value: Value) -> str:
    text = escaped(text_of(column.kind, value))
    quiet = is_unknown(value) or text == fmt.NO_LIMIT
    return f"<i>{text}</i>" if quiet else text
