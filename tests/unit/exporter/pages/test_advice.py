"""What pages and terminals advise agrees with the alerts: level, runbook, and a command that exists."""

from __future__ import annotations

import pytest
from support.documents import ROOT
from support.nats.cli_commands import nats_cli

from alerts.rule import Alert, Severity
from alerts.rules import ALERTS, BY_NAME
from exporter import catalog
from exporter.metric import Metric
from exporter.pages.status import advice
from exporter.pages.status.advice import Advice
from exporter.pages.status.level import Level
from exporter.signals.conditions.held import HARMLESS
from exporter.signals.conditions.words import Condition
from streamgauge.promql.selectors import Selector

LEVELS = {
    Severity.CRITICAL: Level.CRITICAL,
    Severity.WARNING: Level.WARNING,
    Severity.INFO: Level.OK,
}
STARTS = {
    catalog.CONSUMER_CONDITION_START_TIMESTAMP_SECONDS: advice.CONSUMER,
    catalog.STREAM_CONDITION_START_TIMESTAMP_SECONDS: advice.STREAM,
    catalog.SERVER_CONDITION_START_TIMESTAMP_SECONDS: advice.SERVER,
}
# An open page stays open while there is no worker; it opens by `workers_gone`.
BUSY = {("ConsumerStalled", "no_worker_pulls"), ("ConsumerStalled", "not_bound")}
GIVEN = {
    **{f"consumer {word}": each for word, each in advice.CONSUMER.items()},
    **{f"stream {word}": each for word, each in advice.STREAM.items()},
    **{f"server {word}": each for word, each in advice.SERVER.items()},
    **{f"system {word}": each for word, each in advice.SYSTEM.items()},
    **{metric.name: each for metric, (_, each) in advice.EVENTS.items()},
    "limit": advice.LIMIT,
}


def conditions_of(alert: Alert) -> set[tuple[Metric, str]]:
    return {
        (selector.series, matcher.value)
        for selector in alert.when.all_of(Selector)
        for matcher in selector.matchers
        if matcher.label == "condition"
        and isinstance(selector.series, Metric)
        and isinstance(matcher.value, str)
    }


def test_every_condition_has_advice() -> None:
    assert set(Condition) <= set(advice.CONSUMER)
    assert set(catalog.STREAM_CONDITIONS) <= set(advice.STREAM)
    assert set(catalog.SERVER_CONDITIONS) <= set(advice.SERVER)


@pytest.mark.parametrize("name", sorted(GIVEN))
def test_a_level_is_the_severity_of_the_alert(name: str) -> None:
    given = GIVEN[name]
    if name.rsplit(" ", maxsplit=1)[-1] in HARMLESS or not given.runbook:
        return
    # A critical finding is a warning, although its alert is for information.
    expected = Level.WARNING if name == "system finding" else None
    assert given.level is (expected or LEVELS[BY_NAME[given.runbook].severity])


def test_what_fires_on_a_condition_is_at_least_as_grave_on_the_pages() -> None:
    seen = 0
    for alert in ALERTS:
        for start, word in conditions_of(alert):
            if start in STARTS and (alert.name, word) not in BUSY and word != "quorum_at_risk":
                seen += 1
                assert STARTS[start][word].level >= LEVELS[alert.severity], (alert.name, word)
    assert seen > 15


@pytest.mark.parametrize("name", sorted(GIVEN))
def test_the_command_works_and_the_runbook_is_served(name: str) -> None:
    given: Advice = GIVEN[name]
    command = given.filled(stream="S", consumer="C", server="N")
    if command:
        words = command.split()
        assert words[0] == "nats"
        assert nats_cli().complaint(words[1:]) is None
    if given.runbook:
        assert (ROOT / f"docs/runbooks/{given.runbook}.md").exists()
    assert given.means.endswith(".")
