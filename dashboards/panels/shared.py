"""Panels that several boards share."""

from __future__ import annotations

from dashboards.panels.colours import WARN, MappedValue, ValueMapping
from dashboards.panels.model import Column, Guide, Query, StateTimeline, Table, Target
from dashboards.queries import Scope
from exporter import catalog as c
from exporter.metric import Metric
from streamgauge.promql.expression import Labels

_FOLDED_HEIGHT = 6  # in a collapsed row


def skipped_requests(q: Scope, guide: Guide, *, width: int = 8, height: int = 8) -> StateTimeline:
    skipped = q.now(c.REQUEST_SKIPPED).equals(1)
    return StateTimeline(
        title="Skipped requests",
        guide=guide,
        queries=(Query(skipped, "{{system}} {{request}}: {{reason}}"),),
        mapping=ValueMapping((MappedValue(1, "skipped", WARN),)),
        no_value="none seen",
        width=width,
        height=height,
    )


def configuration(
    q: Scope,
    info: Metric,
    labels: Labels,
    limits: tuple[Column, ...],
    *,
    identity: Labels,
    bad: str,
    links: tuple[Target, ...] = (),
) -> Table:
    """The labels of the info series, and the limits."""
    return Table(
        title="Settings",
        guide=Guide(
            "Its configuration; an empty cell is unlimited or not set.",
            bad,
            "The findings below list risky settings.",
        ),
        identity=identity,
        shown_labels=labels,
        columns=(Column("", q.info(info, *labels)), *limits),
        sort_by=identity[-1].capitalize(),
        ascending=True,
        links=links,
        height=_FOLDED_HEIGHT,
    )


def owner_limits(q: Scope, values: Metric, owned: str) -> Table:
    return Table(
        title="Limits of the owner",
        guide=Guide(
            f"Limits that the owner set in the metadata of the {owned}; they replace ours.",
            "A limit that is not listed: its value could not be parsed.",
            "Correct the metadata key under io.nats.monitor.",
        ),
        identity=values.labels,
        columns=(Column("Value", q.now(values)),),
        sort_by="Limit",
        ascending=True,
        no_value="none",
        height=_FOLDED_HEIGHT,
    )


def audit_findings(
    means: str,
    found: Column,
    *,
    identity: Labels,
    title: str = "Audit findings",
    links: tuple[Target, ...] = (),
    height: int = _FOLDED_HEIGHT,
) -> Table:
    return Table(
        title=title,
        guide=Guide(
            means,
            "Severity warn: it works today and can fail later.",
            "Find the check in the list of checks, and change the configuration.",
        ),
        identity=(*identity, "check", "severity"),
        columns=(found,),
        sort_by="Severity",
        no_value="none",
        links=links,
        height=height,
    )
