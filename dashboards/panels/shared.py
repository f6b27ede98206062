"""Panels that several boards share."""

from __future__ import annotations

from functools import reduce
from typing import Final

from dashboards.panels.colours import BAD, INFO, WARN, MappedValue, ValueMapping
from dashboards.panels.model import Column, Guide, Query, StateTimeline, Table, Target
from dashboards.queries import Scope
from exporter import catalog as c
from exporter.audit.severity import SEVERITIES, Severity
from exporter.metric import Kind, Metric
from streamgauge.promql.expression import Expression, Labels

_FOLDED_HEIGHT = 6  # in a collapsed row
_MOST_CONDITIONS = 15
_COLOURS: Final = {Severity.CRIT: BAD, Severity.WARN: WARN, Severity.INFO: INFO}
_NUMBERS: Final = {each: len(SEVERITIES) - each.rank for each in SEVERITIES}
_SEVERITY: Final = ValueMapping(
    tuple(MappedValue(number, each, _COLOURS[each]) for each, number in _NUMBERS.items())
)


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


def held_conditions(q: Scope, start: Metric, name: str) -> StateTimeline:
    """`name`: of the asset, in the legend."""
    return StateTimeline(
        title="Conditions",
        guide=Guide(
            "Everything that was wrong with it in the shown time, each by itself.",
            "A bar that reaches the right end: it holds now. Many short ones: it comes and goes.",
            "The runbook of its alert says what to do; the rows below have the numbers.",
        ),
        queries=(Query(q.lasted_longest(start, _MOST_CONDITIONS), f"{{{{condition}}}} {name}"),),
        mapping=ValueMapping((MappedValue(1, "holds", WARN),)),
        no_value="none",
        width=24,
        height=7,
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
    q: Scope,
    found: Metric,
    means: str,
    *,
    title: str = "Audit findings",
    most: int = 0,
    links: tuple[Target, ...] = (),
    height: int = _FOLDED_HEIGHT,
) -> Table:
    """The gravest first; `most` leaves out the others."""
    severity = _severity(q, found)
    shown = severity.top(most) if most else severity
    columns = [Column("Severity", shown, mapping=_SEVERITY)]
    if found.kind is Kind.GAUGE:  # counts the assets; an info does not
        columns.append(Column("Assets", q.now(found).max_by(*_apart(found)).where(shown)))
    return Table(
        title=title,
        guide=Guide(
            means,
            "crit: messages are lost or work stops. warn: it works today and can fail later.",
            "Find the check in the list of checks, and change the configuration.",
        ),
        identity=_apart(found),
        columns=tuple(columns),
        sort_by="Severity",
        no_value="none",
        links=links,
        height=height,
    )


def _severity(q: Scope, found: Metric) -> Expression:
    each = (
        0 * q.selector(found, {"severity": severity}).max_by(*_apart(found)) + number
        for severity, number in _NUMBERS.items()
    )
    return reduce(Expression.or_, each)


def _apart(found: Metric) -> Labels:
    """What makes a row: the asset and the check."""
    return tuple(label for label in found.labels if label != "severity")
