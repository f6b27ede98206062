"""The chapter on owners: what each team has, and what it must do."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import date

import numpy as np

from exporter import catalog as c
from spark_rollups.report import formatting as fmt
from spark_rollups.report.actions import Action
from spark_rollups.report.cell_values import Kind, Level
from spark_rollups.report.facts.assets import Subject, subject_of
from spark_rollups.report.facts.monthly_facts import Facts
from spark_rollups.report.facts.owners import Owner
from spark_rollups.report.facts.stores import stream_growth
from spark_rollups.report.model import Chapter, Column, Row, Table

_NONE = "no owner set"


def owners_chapter(
    facts: Facts, owners: Mapping[Subject, Owner], actions: Sequence[Action]
) -> Chapter:
    named = {owner.name for owner in owners.values() if owner.name}
    without = sum(not owner.name for owner in owners.values())
    sentences = [
        f"{fmt.plural(len(named), 'owner')} of {fmt.plural(len(owners), 'stream or consumer', 'streams and consumers')}."
    ]
    if without:
        sentences.append(
            f"{fmt.plural(without, 'has', 'have')} no owner: set io.streamgauge.team in the metadata, or a rule in the "
            "settings of the report."
        )
    return Chapter("owners", "Owners", tuple(sentences), (_table(facts, owners, actions),))


def _table(facts: Facts, owners: Mapping[Subject, Owner], actions: Sequence[Action]) -> Table:
    counts: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for subject, owner in owners.items():
        counts[owner.name]["consumers" if subject.consumer else "streams"] += 1
    now, growth = facts.streams.now, stream_growth(facts)[0]
    size = now.at_end(c.STREAM_BYTES)
    for index in np.flatnonzero(~np.isnan(size)).tolist():
        owner = owners.get(subject_of(now, index), Owner())
        counts[owner.name]["bytes"] += float(size[index])
        counts[owner.name]["growth"] += float(np.nan_to_num(growth[index]))
    due: dict[str, list[Action]] = defaultdict(list)
    for action in actions:
        due[action.owner.name].append(action)
    rows = [_row(facts, name, counts[name], due[name]) for name in {*counts, *due}]
    rows.sort(key=lambda row: (-row.level, row.values[0] == _NONE, str(row.values[0])))
    return Table(
        "owners",
        "What each owner has, and what is due",
        (),
        (
            Column("owner", "Owner"),
            Column("today", "Due today", Kind.COUNT),
            Column("actions", "Actions", Kind.COUNT),
            Column("next", "Next", Kind.DAY),
            Column("streams", "Streams", Kind.COUNT),
            Column("consumers", "Consumers", Kind.COUNT),
            Column("bytes", "Size", Kind.BYTES, "one replica, at the end"),
            Column("growth", "Growth", Kind.BYTES, f"within {facts.month.title}"),
        ),
        rows,
        note="streamgauge report --owner NAME writes the page of one owner.",
        empty="No stream or consumer was seen in this month.",
    )


def _row(facts: Facts, name: str, counts: Mapping[str, float], due: Sequence[Action]) -> Row:
    today = sum(action.by is None for action in due)
    following: date | str = min((action.by or facts.as_of for action in due), default="")
    return Row(
        (
            name or _NONE, today, len(due), "today" if today else following, counts["streams"],
            counts["consumers"], counts["bytes"], counts["growth"],
        ),
        max((action.level for action in due), default=Level.NORMAL),
    )  # fmt: skip
