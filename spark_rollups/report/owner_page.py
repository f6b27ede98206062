"""The page of one owner: its actions, findings and assets."""

from __future__ import annotations

from dataclasses import replace

from spark_rollups.report import formatting as fmt
from spark_rollups.report.cell_values import Level
from spark_rollups.report.facts.assets import Subject
from spark_rollups.report.model import Chapter, Report, Row, Table
from spark_rollups.report.month import ReportError


def for_owner(report: Report, name: str) -> Report:
    """Raises ReportError if no asset belongs to this team or owner."""
    known = {owner.name for owner in report.owners.values() if owner.name}
    if name not in known:
        raise ReportError(
            f"--owner {name}: unknown; owners are {fmt.listed(sorted(known), 20) or 'not set'}"
        )
    actions = tuple(each for each in report.actions if each.owner.name == name)
    findings = tuple(each for each in report.findings if _owns(report, each.subject, name))
    chapters = tuple(filter(None, (_chapter(report, each, name) for each in report.chapters)))
    assets = sum(owner.name == name for owner in report.owners.values())
    today = sum(each.by is None for each in actions)
    headline = (
        f"{fmt.plural(len(actions), 'action')} for {name}, {today} due today."
        if actions
        else f"Nothing needs attention of {name}."
    )
    front = replace(
        report.front,
        headline=headline,
        level=max((each.level for each in actions), default=Level.NORMAL),
        sentences=(
            f"{fmt.plural(assets, 'stream or consumer', 'streams and consumers')} of {name}.",
        ),
        full=None,
        comparisons=(),
        worse=(),
        better=(),
    )
    return replace(
        report, front=front, actions=actions, findings=findings, chapters=chapters, owner=name
    )


def _owns(report: Report, subject: Subject, name: str) -> bool:
    found = report.owners.get(subject)
    return found is not None and found.name == name


def _chapter(report: Report, chapter: Chapter, name: str) -> Chapter | None:
    """Tables with rows of the owner; figures are of the whole system."""
    tables = tuple(filter(None, (_table(report, each, name) for each in chapter.tables)))
    if not tables:
        return None
    return replace(chapter, tables=tables, figures=(), sentences=())


def _table(report: Report, table: Table, name: str) -> Table | None:
    labels = [column.key for column in table.identity]
    if "stream" not in labels:
        return None
    rows = [row for row in table.rows if _owns(report, _subject(labels, row), name)]
    return replace(table, rows=rows) if rows else None


def _subject(labels: list[str], row: Row) -> Subject:
    named = {
        label: str(value or "") for label, value in zip(labels, row.values, strict=False)
        if label in Subject.__slots__
    }  # fmt: skip
    return Subject(**named)
