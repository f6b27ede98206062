"""State timelines without data. Grafana ignores `noValue` there, and shows "Data does not have a time
field": a query of its own then draws the reason as a grey bar."""

from __future__ import annotations

from dataclasses import replace

from dashboards.panels.colours import UNKNOWN, MappedValue, ValueMapping
from dashboards.panels.model import Query, StateTimeline
from dashboards.queries import SHOWN_RANGE
from streamgauge.promql.expression import Expression
from streamgauge.promql.functions import constant
from streamgauge.promql.selectors import OverTime, Selector

EMPTY = -1
_NAME = "–"


def with_reason(panel: StateTimeline) -> StateTimeline:
    states = panel.mapping.values if panel.mapping else ()
    reason = MappedValue(EMPTY, panel.no_value, UNKNOWN)
    return replace(
        panel,
        queries=(*panel.queries, Query(_nothing_shown(panel), _NAME)),
        mapping=ValueMapping((*states, reason)),
    )


def _nothing_shown(panel: StateTimeline) -> Expression:
    """Looks at the shown range once, and only at whether the series exist."""
    found = constant(EMPTY)
    for query in panel.queries:
        series = replace(query.expr.all_of(Selector)[0], offset=None)
        seen = OverTime("last_over_time", series, SHOWN_RANGE, at_end=True, presence=True)
        found = found.unless(seen.max_by())
    return found
