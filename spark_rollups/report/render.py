"""Renders a report: the page, the mail and the index with templates, tables as CSV, all as JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import chain
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from spark_rollups.report import formatting as fmt
from spark_rollups.report.actions import Action
from spark_rollups.report.figures import FILTERS as SHAPES
from spark_rollups.report.figures import Figure
from spark_rollups.report.findings.finding import Finding, Severity
from spark_rollups.report.formatting import Kind, Value, clean, plain_of
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
        "action_values": action_values,
        "by_code": _by_code,
        "clean": clean,
        "finding_values": _finding,
        "json": _json,
        "record": _record,
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


REPORT_FORMAT = 2
_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # first characters of formulas in spreadsheets
_PART = 1 << 16  # characters
_FINDING_COLUMNS = (
    "code", "severity", "system", "account", "stream", "consumer", "server", "owner", "by",
    "summary", "evidence", "remedy", "commands",
)  # fmt: skip
_ACTION_COLUMNS = (
    "by", "severity", "what", "where", "team", "owner", "why", "otherwise", "checked", "commands",
    "findings",
)  # fmt: skip


def csv_files(report: Report) -> Iterator[tuple[str, Iterator[str]]]:
    """Names and parts. An empty cell is unknown."""
    actions = (
        [_listed(value) for value in action_values(each).values()] for each in report.actions
    )
    yield "actions.csv", _csv(_ACTION_COLUMNS, actions)
    yield "findings.csv", _csv(_FINDING_COLUMNS, map(_finding_cells, report.findings))
    for table in report.tables():
        heads = [column.key for column in table.all_columns]
        yield f"{table.key}.csv", _csv(heads, (row.values for row in table.rows))


def _csv(heads: Iterable[str], rows: Iterable[Iterable[Value]]) -> Iterator[str]:
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator="\r\n")
    for row in chain((heads,), rows):
        writer.writerow([_cell(value) for value in row])
        if sink.tell() > _PART:
            yield sink.getvalue()
            sink.seek(0)
            sink.truncate()
    yield sink.getvalue()


def _cell(value: Value) -> str:
    plain = plain_of(value)
    if plain is None:
        return ""
    if not isinstance(plain, str):
        return repr(plain)
    text = clean(plain)
    return f"'{text}" if text.startswith(_FORMULA) else text


def _finding_cells(each: Finding) -> tuple[Value, ...]:
    evidence = "; ".join(f"{part.name}: {part.text}" for part in each.evidence)
    return (
        each.code, each.severity.value, *each.subject.labels, each.owner, each.by, each.summary,
        evidence, each.definition.remedy, "\n".join(each.commands),
    )  # fmt: skip


def _listed(value: str | list[str]) -> str:
    return value if isinstance(value, str) else "\n".join(value)


def action_values(action: Action) -> dict[str, str | list[str]]:
    """For CSV, JSON and webhooks; `by` is a day or `today`."""
    values = (
        "today" if action.by is None else action.by.isoformat(), action.level.name.lower(),
        action.what, action.where, action.owner.team, action.owner.owner, action.why,
        action.otherwise, action.checked, action.commands, [each.code for each in action.findings],
    )  # fmt: skip
    cleaned = (clean(each) if isinstance(each, str) else [*map(clean, each)] for each in values)
    return dict(zip(_ACTION_COLUMNS, cleaned, strict=True))


def json_parts(report: Report) -> Iterator[str]:
    """A line for each action, finding and row: indentation takes ten times the CPU."""
    parts = _environment().get_template("report.json").stream(report=report, format=REPORT_FORMAT)
    parts.enable_buffering(1000)
    return parts


def _json(value: Any) -> Markup:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return Markup(text)  # noqa: S704 - a value of a JSON file


def _finding(each: Finding) -> dict[str, Any]:
    subject = zip(each.subject.__slots__, map(clean, each.subject.labels), strict=True)
    return {
        "code": each.code,
        "severity": each.severity.value,
        "subject": {name: value for name, value in subject if value},
        "summary": clean(each.summary),
        "evidence": {part.name: _plain(part.value) for part in each.evidence},
        "owner": each.owner or None,
        "by": None if each.by is None else each.by.isoformat(),
        "why": each.definition.why,
        "remedy": each.definition.remedy,
        "commands": [clean(command) for command in each.commands],
        "runbook": each.definition.runbook or None,
    }


def _record(row: Row, table: Table) -> dict[str, Any]:
    return {
        column.key: _plain(value)
        for column, value in zip(table.all_columns, row.values, strict=True)
    }


def _plain(value: Value) -> str | float | int | None:
    plain = plain_of(value)
    return clean(plain) if isinstance(plain, str) else plain
