"""Renders the report as CSV files, one per table, and as JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from typing import Any

from spark_rollups.report.actions import Action
from spark_rollups.report.findings.finding import Finding
from spark_rollups.report.formatting import Kind, Value, clean, plain_of
from spark_rollups.report.model import Column, Report, Table

REPORT_FORMAT = 2
_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # first characters of formulas in spreadsheets
_FINDING_COLUMNS = (
    "code", "severity", "system", "account", "stream", "consumer", "server", "owner", "by", "summary",
    "evidence", "remedy", "commands",
)  # fmt: skip
_ACTION_COLUMNS = (
    "by", "severity", "what", "where", "team", "owner", "why", "otherwise", "checked", "commands", "findings",
)  # fmt: skip


def csv_files(report: Report) -> dict[str, str]:
    """Content by file name. An empty cell is unknown."""
    texts = {f"{table.key}.csv": _table_csv(table) for table in report.tables()}
    actions = _csv(_ACTION_COLUMNS, (_action_cells(action) for action in report.actions))
    return {"actions.csv": actions, "findings.csv": _findings_csv(report.findings), **texts}


def _table_csv(table: Table) -> str:
    heads = [column.key for column in table.all_columns]
    return _csv(heads, ([_cell(value) for value in row.values] for row in table.rows))


def _findings_csv(findings: Iterable[Finding]) -> str:
    return _csv(_FINDING_COLUMNS, (_finding_cells(finding) for finding in findings))


def _finding_cells(finding: Finding) -> list[str]:
    evidence = "; ".join(f"{each.name}: {each.text}" for each in finding.evidence)
    subject = finding.subject
    values: tuple[Value, ...] = (
        finding.code, finding.severity.value, subject.system, subject.account, subject.stream,
        subject.consumer, subject.server, finding.owner, finding.by, finding.summary, evidence,
        finding.definition.remedy, "\n".join(finding.commands),
    )  # fmt: skip
    return [_cell(value) for value in values]


def _action_cells(action: Action) -> list[str]:
    return [_cell(_listed(value)) for value in action_values(action).values()]


def _listed(value: str | list[str]) -> str:
    return value if isinstance(value, str) else "\n".join(value)


def action_values(action: Action) -> dict[str, str | list[str]]:
    """For CSV, JSON and webhooks; `by` is a day or `today`."""
    values: tuple[str | list[str], ...] = (
        "today" if action.by is None else action.by.isoformat(), action.level.name.lower(), action.what,
        action.where, action.owner.team, action.owner.owner, action.why, action.otherwise,
        list(action.checked), list(action.commands), [each.code for each in action.findings],
    )  # fmt: skip
    return dict(zip(_ACTION_COLUMNS, map(_cleaned, values), strict=True))


def _cleaned(value: str | list[str]) -> str | list[str]:
    return clean(value) if isinstance(value, str) else [clean(each) for each in value]


def _csv(heads: Iterable[str], rows: Iterable[list[str]]) -> str:
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator="\r\n")
    writer.writerow(heads)
    writer.writerows(rows)
    return sink.getvalue()


def _cell(value: Value) -> str:
    plain = plain_of(value)
    if plain is None:
        return ""
    if not isinstance(plain, str):
        return repr(plain)
    text = clean(plain)
    return f"'{text}" if text.startswith(_FORMULA) else text


def json_text(report: Report) -> str:
    """A line for each action, finding and row: indentation takes ten times the CPU."""
    parts = [f"{_json(key)}: {_lines(value)}" for key, value in _report(report).items()]
    tables = [f"{_json(table.key)}: {_lines(_table(table))}" for table in report.tables()]
    parts.append('"tables": {\n' + ",\n".join(tables) + "}")
    return "{" + ",\n".join(parts) + "}\n"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _lines(value: Any) -> str:
    """Lists have a line for each entry; of a table its rows."""
    if isinstance(value, dict) and "rows" in value:
        return "{" + ", ".join(f"{_json(key)}: {_lines(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(map(_json, value)) + "]"
    return _json(value)


def _report(report: Report) -> dict[str, Any]:
    return {
        "format": REPORT_FORMAT,
        "month": str(report.month),
        "made": report.made.isoformat(timespec="seconds"),
        "systems": [clean(system) for system in report.systems],
        "days_with_data": [day.isoformat() for day in report.covered],
        "summary": {
            "headline": clean(report.front.headline),
            "sentences": [clean(sentence) for sentence in report.front.sentences],
            "worse": [clean(sentence) for sentence in report.front.worse],
            "better": [clean(sentence) for sentence in report.front.better],
            "unknown": [clean(sentence) for sentence in report.front.unknown],
        },
        "actions": [action_values(action) for action in report.actions],
        "findings": [_finding(finding) for finding in report.findings],
    }


def _finding(finding: Finding) -> dict[str, Any]:
    subject = {name: clean(getattr(finding.subject, name)) for name in finding.subject.__slots__}
    return {
        "code": finding.code,
        "severity": finding.severity.value,
        "subject": {name: value for name, value in subject.items() if value},
        "summary": clean(finding.summary),
        "evidence": {each.name: _plain(each.value) for each in finding.evidence},
        "owner": finding.owner or None,
        "by": None if finding.by is None else finding.by.isoformat(),
        "why": finding.definition.why,
        "remedy": finding.definition.remedy,
        "commands": [clean(command) for command in finding.commands],
        "runbook": finding.definition.runbook or None,
    }


def _table(table: Table) -> dict[str, Any]:
    keys = [column.key for column in table.all_columns]
    return {
        "title": table.title,
        "source": table.source,
        "columns": [_column(column) for column in table.all_columns],
        "rows": [dict(zip(keys, map(_plain, row.values), strict=True)) for row in table.rows],
    }


def _column(column: Column) -> dict[str, str]:
    kind = "" if column.kind is Kind.TEXT else column.kind.value
    return {"key": column.key, "title": column.title, "kind": kind or "text", "hint": column.hint}


def _plain(value: Value) -> str | float | int | None:
    plain = plain_of(value)
    return clean(plain) if isinstance(plain, str) else plain
