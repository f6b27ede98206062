"""Panels that stand on more than one board, differing in no more than what they are about."""

from __future__ import annotations

from dashboards.panels.colours import WARN, MappedValue, ValueMapping
from dashboards.panels.model import Column, Guide, Query, StateTimeline, Table, Target
from dashboards.queries import Scope
from exporter import catalog as c
from exporter.metric import Metric
from streamgauge.promql.expression import Labels

_FOLDED_HEIGHT = 6  # in a row that is opened for a look


def questions_left_out(q: Scope, guide: Guide, *, height: int = 8) -> StateTimeline:
    left_out = q.now(c.QUESTION_SKIPPED).equals(1)
    return StateTimeline(
        title="Questions left out",
        guide=guide,
        queries=(Query(left_out, "{{system}} {{question}}: {{reason}}"),),
        mapping=ValueMapping((MappedValue(1, "left out", WARN),)),
        no_value="none seen",
        width=8,
        height=height,
    )


def configuration(
    q: Scope,
    info: Metric,
    told: Labels,
    limits: tuple[Column, ...],
    *,
    identity: Labels,
    bad: str,
    links: tuple[Target, ...] = (),
) -> Table:
    """What the info series tells in words, and the limits beside it."""
    return Table(
        title="How it is configured",
        guide=Guide(
            "What its configuration says; an empty cell is unlimited or not set.",
            bad,
            "The findings below name what is dangerous.",
        ),
        identity=identity,
        shown_labels=told,
        columns=(Column("", q.info(info, *told)), *limits),
        sort_by=identity[-1].capitalize(),
        ascending=True,
        links=links,
        height=_FOLDED_HEIGHT,
    )


def owner_limits(q: Scope, values: Metric, owned: str) -> Table:
    return Table(
        title="Limits of its owner",
        guide=Guide(
            f"Limits that the owner wrote into the {owned}'s metadata; they win over ours.",
            "A limit that is not listed: its value could not be read.",
            "Correct the metadata key under io.nats.monitor.",
        ),
        identity=values.labels,
        columns=(Column("Value", q.now(values)),),
        sort_by="Limit",
        ascending=True,
        no_value="none told",
        height=_FOLDED_HEIGHT,
    )


def audit_findings(
    means: str,
    found: Column,
    *,
    identity: Labels,
    title: str = "What the audit finds here",
    links: tuple[Target, ...] = (),
    height: int = _FOLDED_HEIGHT,
) -> Table:
    return Table(
        title=title,
        guide=Guide(
            means,
            "Severity warn: it works today and will hurt one day.",
            "Look the code up in the list of checks, and change the configuration.",
        ),
        identity=(*identity, "check", "severity"),
        columns=(found,),
        sort_by="Severity",
        no_value="none told",
        links=links,
        height=height,
    )
