"""Alerts that are open: what keeps them open while no data can tell that their condition ended.

Prometheus has each alert that fires as a series ALERTS. It ends when the alert resolves, so nothing
that ended before is revived by it."""

from __future__ import annotations

from alerts import thresholds
from alerts.queries import fresh, last_reported, newest
from exporter import catalog
from exporter.metric import Kind
from streamgauge.promql import functions
from streamgauge.promql.expression import Expression, Labels
from streamgauge.promql.selectors import ExternalSeries, Selector, matchers

PREFIX = "JetStream"
# How long a removed exporter or system counts as missing.
MEMORY = "1d"
# Labels that the rule itself adds.
ADDED: Labels = ("severity", "team")
# The value of an alert that is kept open: its text then has no number to show.
HELD = -1


def firing(name: str, labels: Labels) -> Expression:
    """The open alerts of this name; the value is 1."""
    series = ExternalSeries(
        "ALERTS", Kind.GAUGE, ("alertname", "alertstate", *ADDED, *labels), scraped=False
    )
    chosen = matchers({"alertname": PREFIX + name, "alertstate": "firing"})
    return Selector(series, chosen).equals(1)


def until_it_ends(name: str, begins: Expression, lasts: Expression) -> Expression:
    """An alert that begins with the first condition and then stays as long as the weaker second one:
    an exporter that was restarted does not know how long it has been true."""
    return begins.or_(lasts.where(firing(name, lasts.possible)))


def held(name: str, labels: Labels) -> Expression:
    """The open alerts of systems without data."""
    kept = firing(name, labels).max_without("alertname", "alertstate")
    return (HELD * kept).where(_no_data())


def _no_data() -> Expression:
    """Systems of the last day of which no exporter has fresh data, or only one that is too new to
    judge every condition."""
    known = last_reported(catalog.SNAPSHOT_AGE_SECONDS, MEMORY)
    blind = known.unless(newest(catalog.SNAPSHOT_AGE_SECONDS) < thresholds.SNAPSHOT_AGE)
    first = Selector(catalog.FIRST_SNAPSHOT_TIMESTAMP_SECONDS).folded("min")
    return blind.or_(functions.since(first) < thresholds.YOUNG_EXPORTER)


def guarded(when: Expression) -> Expression:
    """Only on fresh data of its system."""
    return when.where(fresh())
