"""Owners: the chapter on what each has and must do, and the page of one owner."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date

import numpy as np

from exporter import catalog as c
from spark_rollups.report import formatting as fmt
from spark_rollups.report.actions import Action
from spark_rollups.report.chapters.tables import chapter, table
from spark_rollups.report.facts.assets import Subject, subject_of
from spark_rollups.report.facts.monthly_facts import Facts
from spark_rollups.report.facts.owners import Owner
from spark_rollups.report.facts.stores import stream_growth
from spark_rollups.report.formatting import Level
from spark_rollups.report.model import Chapter, Report, Row, Table
from spark_rollups.report.month import ReportError

_NONE = "no owner set"


def owners_chapter(
    facts: Facts, owners: Mapping[Subject, Owner], actions: Sequence[Action]
) -> Chapter:
    names = [owner.name for subject, owner in owners.items() if subject.stream]
    return chapter(
        facts, "owners", [table(facts, "owners", _rows(facts, owners, actions))],
        named=len({*names, ""}) - 1, assets=len(names), without=names.count(""),
    )  # fmt: skip


def _rows(facts: Facts, owners: Mapping[Subject, Owner], actions: Sequence[Action]) -> list[Row]:
    counts: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for subject, owner in owners.items():
        if owner.name or subject.stream:
            counts[owner.name][_kind(subject)] += 1
    now, growth = facts.streams.now, np.nan_to_num(stream_growth(facts)[0])
    size = now.at_end(c.STREAM_BYTES)
    for index in np.flatnonzero(~np.isnan(size)).tolist():
        owner = owners.get(subject_of(now, index), Owner())
        counts[owner.name]["bytes"] += float(size[index])
        counts[owner.name]["growth"] += float(growth[index])
    due: dict[str, list[Action]] = defaultdict(list)
    for action in actions:
        due[action.owner.name].append(action)
    rows = [_row(facts, name, counts[name], due[name]) for name in {*counts, *due}]
    return sorted(rows, key=lambda row: (-row.level, row.values[0] == _NONE, str(row.values[0])))


def _kind(subject: Subject) -> str:
    if subject.consumer:
        return "consumers"
    return "streams" if subject.stream else "servers" if subject.server else "accounts"


def _row(facts: Facts, name: str, counts: Mapping[str, float], due: Sequence[Action]) -> Row:
    today = sum(action.by is None for action in due)
    following: date | str = min((action.by or facts.as_of for action in due), default="")
    held = (counts[key] for key in ("streams", "consumers", "servers", "bytes", "growth"))
    return Row(
        (name or _NONE, today, len(due), "today" if today else following, *held),
        max((action.level for action in due), default=Level.NORMAL),
    )


def for_owner(report: Report, name: str) -> Report:
    """Its actions, findings and assets. Raises ReportError if none belongs to this owner."""
    known = {owner.name for owner in report.owners.values() if owner.name}
    if name not in known:
        names = fmt.listed(sorted(known), 20) or "not set"
        raise ReportError(f"--owner {name}: unknown; owners are {names}")
    own = {subject for subject, owner in report.owners.items() if owner.name == name}
    actions = tuple(each for each in report.actions if each.owner.name == name)
    today = sum(each.by is None for each in actions)
    front = replace(
        report.front,
        headline=f"{fmt.plural(len(actions), 'action')} for {name}, {today} due today."
        if actions
        else f"Nothing needs attention of {name}.",
        level=max((each.level for each in actions), default=Level.NORMAL),
        sentences=(f"{fmt.plural(len(own), 'asset')} of {name}.",),
        full=None,
        comparisons=(),
        worse=(),
        better=(),
    )
    # Tables with rows of the owner; figures are of the whole system.
    chapters = tuple(
        replace(each, tables=tables, figures=(), sentences=())
        for each in report.chapters
        if (tables := tuple(filter(None, (_own_rows(found, own) for found in each.tables))))
    )
    findings = tuple(each for each in report.findings if each.owner == name)
    return replace(
        report, front=front, actions=actions, findings=findings, chapters=chapters, owner=name
    )  # fmt: skip


def _own_rows(found: Table, own: set[Subject]) -> Table | None:
    labels = [column.key for column in found.identity]
    rows = [
        row
        for row in found.rows
        if {*labels} <= {*Subject.__slots__}
        and Subject(**dict(zip(labels, map(str, row.values), strict=False))) in own
    ]
    return replace(found, rows=rows) if rows else None
