"""Renders the report with templates: the page, the mail and the index of all months."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from spark_rollups.report import formatting as fmt
from spark_rollups.report.figures import FILTERS as SHAPES
from spark_rollups.report.figures import Figure
from spark_rollups.report.findings.finding import Finding, Severity
from spark_rollups.report.formatting import Kind, Value
from spark_rollups.report.model import Column, Report, Row, Table

_COMMANDS = 3  # subjects of a finding with commands
_KIND_CLASSES = {Kind.TEXT: "", Kind.DAY: "day"}


@dataclass(frozen=True, slots=True)
class Page:
    """How much the page shows; the files have everything."""

    rows: int  # per table
    one_system: bool  # then rows omit its name
    files: str  # relative path of the CSV files
    actions: int = 7  # on the first page
    cards: int = 40  # in the chapter on actions
    subjects: int = 10  # per finding
    owners: int = 12  # in the chapter on findings
    narrow: int = 8  # rows on a phone; report.css hides the others


def html_report(report: Report, rows: int, csv_folder: str) -> str:
    """One self-contained document, without scripts or requests."""
    page = Page(rows, len(report.systems) <= 1, csv_folder)
    return render("page.html", report=report, page=page)


def render(template: str, **values: Any) -> str:
    return _environment().get_template(template).render(css=_css(), **values)


@cache
def _css() -> Markup:
    css = files("spark_rollups.report").joinpath("templates/report.css").read_text(encoding="utf-8")
    return Markup(css)  # noqa: S704 - a file of this package


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("spark_rollups.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        finalize=lambda value: fmt.clean(value) if type(value) is str else value,
    )
    made.filters |= {
        **fmt.FILTERS,
        **SHAPES,
        "by_code": _by_code,
        "by_owner": _by_owner,
        "commands": _commands,
        "figure": lambda figure: Markup(figure_html(figure)),  # noqa: S704 - a template made it
        "identity": _identity,
        "kind_class": lambda kind: _KIND_CLASSES.get(kind, "number"),
        "level": lambda level: level.name.lower(),
        "percent": lambda value: f"{value:.0f}%",
        "quiet": lambda value, text: fmt.is_unknown(value) or text == fmt.NO_LIMIT,
        "range_text": _range_text,
        "shown": _shown,
    }
    return made


def figure_html(figure: Figure) -> str:
    drawn: Any = _environment().get_template("figures.html").module
    return str(drawn.figure(figure))


def _shown(table: Table) -> list[tuple[int, Column]]:
    first = len(table.identity)
    return [(first + n, column) for n, column in enumerate(table.columns) if column.shown]


def _identity(row: Row, table: Table, page: Page) -> list[str]:
    names: Sequence[Value] = row.values[: len(table.identity)]
    parts = [
        str(name)
        for column, name in zip(table.identity, names, strict=True)
        if name and not (page.one_system and column.key == "system" and len(table.identity) > 1)
    ]
    return parts or ["the whole system"]


def _by_code(findings: Sequence[Finding]) -> list[list[Finding]]:
    return list(_grouped(findings, "code").values())


def _by_owner(findings: Sequence[Finding]) -> list[tuple[str, list[Finding]]]:
    """Findings come by urgency, so the owner with the most urgent one is first; none is last."""
    return sorted(_grouped(findings, "owner").items(), key=lambda each: not each[0])


def _grouped(findings: Sequence[Finding], name: str) -> dict[str, list[Finding]]:
    groups: dict[str, list[Finding]] = {}
    for finding in findings:
        groups.setdefault(getattr(finding, name), []).append(finding)
    return groups


def _commands(group: Sequence[Finding]) -> list[str]:
    few = [each for each in group if each.severity is not Severity.NOTE] or group
    return list(dict.fromkeys(line for each in few[:_COMMANDS] for line in each.commands))


def _range_text(row: Row, column: Column) -> str:
    """From the lowest to the highest of the days; "" if all are unknown."""
    found = [value for value in row.days if value is not None]
    low, high = (fmt.text_of(column.kind, each(found)) if found else "" for each in (min, max))
    return low if low == high else f"{low} to {high}"
