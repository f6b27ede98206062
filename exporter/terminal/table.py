"""The report as a table for a terminal of 80 columns or more."""

from __future__ import annotations

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from exporter.pages.status.level import Level
from exporter.pages.status.report import UnwellReport
from exporter.pages.status.unwell import UnwellRow
from exporter.pages.status.wording import count

_STYLES = {Level.OK: "green", Level.WARNING: "yellow", Level.CRITICAL: "bold red"}
# Lines that are no rows: summary, header and its rule, what is hidden, a margin.
_OTHER_LINES = 6


def rendered(report: UnwellReport, height: int | None = None) -> RenderableType:
    """`height`: of the terminal; rows that do not fit are counted."""
    most = len(report.rows) if height is None else max(1, height - _OTHER_LINES)
    shown = report.rows[:most]
    parts: list[RenderableType] = [_summary(report)]
    if shown:
        parts.append(_table(shown, several=len(report.systems) > 1))
    elif report.responded:
        parts.append(Text("Nothing is unwell.", style="green"))
    hidden = len(report.rows) - len(shown) + report.hidden
    if hidden:
        parts.append(Text(f"and {hidden:,} more"))
    return Group(*parts)


def print_report(report: UnwellReport, console: Console) -> None:
    console.print(rendered(report))


def _summary(report: UnwellReport) -> Text:
    systems = "; ".join(
        f"{each.name}: {each.freshness}, {count(each.streams, 'stream')}, "
        f"{count(each.consumers, 'consumer')}"
        for each in report.systems
    )
    return Text(systems, overflow="ellipsis", no_wrap=True)


def _table(rows: tuple[UnwellRow, ...], *, several: bool) -> Table:
    table = Table(box=None, pad_edge=False, expand=True)
    table.add_column("level", no_wrap=True)
    table.add_column("what", no_wrap=True)
    table.add_column("where", ratio=1, overflow="ellipsis", no_wrap=True)
    table.add_column("since", no_wrap=True, justify="right")
    for row in rows:
        level = Level(row.level)
        table.add_row(
            Text(level.word, style=_STYLES[level]),
            _what(row),
            _where(row, several=several),
            row.since,
        )
    return table


def _what(row: UnwellRow) -> str:
    """The gravest problem, and how many there are besides."""
    if not row.where and row.kind == "system":
        return "system"
    return row.what + (f" +{len(row.also)}" if row.also else "")


def _where(row: UnwellRow, *, several: bool) -> Text:
    """With the evidence as far as there is space; a sentence about the whole system as it is."""
    system = f"{row.system}: " if several and row.system else ""
    name = f"server {row.where}" if row.kind == "server" else row.where
    text = Text(system + (name or (row.what if row.kind == "system" else row.kind)))
    if row.evidence:
        text.append(f"  {row.evidence}", style="dim")
    return text
