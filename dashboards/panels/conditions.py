"""What is wrong, by conditions: how grave each is, its runbook, and the state of a consumer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import reduce
from typing import Final

from dashboards import external_metrics
from dashboards.panels.colours import (
    BAD,
    CRITICAL,
    INFO,
    OK,
    UNHEALTHY,
    WARN,
    WARNED,
    MappedValue,
    ValueMapping,
)
from dashboards.panels.event_annotations import ALERT_NAMES
from dashboards.queries import CLUSTER, Scope, summed_over_range, variable_matcher
from exporter import catalog as c
from exporter.metric import Metric
from exporter.pages.status import advice
from exporter.pages.status.advice import Advice
from exporter.pages.status.level import Level
from streamgauge.promql import functions
from streamgauge.promql.expression import Expression
from streamgauge.promql.selectors import Matcher, MatchValue, Not, Regex, Selector, matchers

_KINDS: Final[Mapping[str, tuple[Metric, Mapping[str, Advice]]]] = {
    "consumer": (c.CONSUMER_CONDITION_START_TIMESTAMP_SECONDS, advice.CONSUMER),
    "stream": (c.STREAM_CONDITION_START_TIMESTAMP_SECONDS, advice.STREAM),
    "server": (c.SERVER_CONDITION_START_TIMESTAMP_SECONDS, advice.SERVER),
}
_GRAVEST_FIRST = (Level.CRITICAL, Level.WARNING, Level.OK)
_NOTE = 1  # a condition for which nothing fires
LEVEL_MAPPING = ValueMapping(
    (
        MappedValue(0, "ok", OK),
        MappedValue(_NOTE, "note", INFO),
        MappedValue(Level.WARNING + _NOTE, Level.WARNING.word, WARN),
        MappedValue(Level.CRITICAL + _NOTE, Level.CRITICAL.word, BAD),
    )
)
# Between two levels: far above every time since 1970 in seconds.
_APART = 10**11
_SEVERITIES = {Level.CRITICAL: "critical", Level.WARNING: "warning"}


def gravest(scope: Scope, count: int) -> tuple[Expression, Expression]:
    """The level of the gravest conditions, of those the oldest ones, and when each began.

    One number ranks them and holds both."""
    ranks = _united(
        _APART * (level + _NOTE) - start
        for level in _GRAVEST_FIRST
        for start in _starts(scope, level)
    ).top(count)
    return functions.rounded_up(ranks / _APART), _APART - ranks % _APART


def consumer_level(scope: Scope) -> Expression:
    """How grave the conditions and the firing alerts of a consumer are, if it has any."""
    fires = _united(0 * _unwell(scope, level) + (level + _NOTE) for level in _SEVERITIES)
    return fires.or_(0 * _of_consumers(scope, Level.OK) + _NOTE)


def state(scope: Scope) -> Expression:
    """The verdict; where that finds no fault but a page or a ticket may fire, CRITICAL or WARNED."""
    verdict = scope.now(c.CONSUMER_VERDICT)
    first, end = UNHEALTHY
    critical = 0 * _unwell(scope, Level.CRITICAL) + CRITICAL
    warned = 0 * _unwell(scope, Level.WARNING) + WARNED
    return ((verdict >= first) < end).or_(critical).or_(warned).or_(verdict)


def unhealthy_longest(scope: Scope, count: int) -> Expression:
    """The states of the consumers that were unhealthy longest in the shown time."""
    shown = state(scope)
    first, end = UNHEALTHY
    unhealthy = shown.is_at_least(first) - shown.is_at_least(end) + shown.is_at_least(WARNED)
    return shown.where(summed_over_range(unhealthy).top(count))


def runbooks() -> dict[str, str]:
    """Their names by the label `runbook`."""
    return {
        f"{kind} {condition}": advised.runbook
        for kind, (_, known) in _KINDS.items()
        for condition, advised in known.items()
    }


def _unwell(scope: Scope, level: Level) -> Expression:
    """One series for each consumer with such a condition or alert."""
    return _of_consumers(scope, level).or_(_alerts(scope, _SEVERITIES[level]))


def _of_consumers(scope: Scope, level: Level) -> Expression:
    start, known = _KINDS["consumer"]
    return scope.selector(start, _of_level(known, level)).min_by(*c.CONSUMER)


def _alerts(scope: Scope, severity: str) -> Expression:
    about = [variable_matcher(v) for v in scope.variables if v in (CLUSTER, *c.CONSUMER)]
    chosen: dict[str, MatchValue] = {
        "alertname": ALERT_NAMES,
        "alertstate": "firing",
        "severity": severity,
    }
    of_consumers = (*about, *matchers(chosen), Matcher("consumer", Not("")))
    return Selector(external_metrics.ALERTS, of_consumers).max_by(*c.CONSUMER)


def _starts(scope: Scope, level: Level) -> Iterator[Expression]:
    for kind, (start, known) in _KINDS.items():
        if level is Level.WARNING or _named(known, level):
            began = scope.least(start, **_of_level(known, level))
            yield functions.copy_label(began, "condition", "runbook", value=f"{kind} $1")


def _of_level(known: Mapping[str, Advice], level: Level) -> dict[str, MatchValue]:
    """A condition that is not known here is a warning."""
    if level is not Level.WARNING:
        return {"condition": Regex(_named(known, level))}
    others = "|".join(filter(None, (_named(known, each) for each in Level if each is not level)))
    return {"condition": Not(Regex(others))} if others else {}


def _named(known: Mapping[str, Advice], level: Level) -> str:
    return "|".join(name for name, each in known.items() if each.level is level)


def _united(parts: Iterable[Expression]) -> Expression:
    return reduce(Expression.or_, parts)
