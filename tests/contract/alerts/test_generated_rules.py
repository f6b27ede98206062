"""The committed rules are up to date, and every rule follows the common conventions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import promql_parser
import pytest
import yaml

from alerts import thresholds
from alerts.generate import ROOT, generated, write
from alerts.quantity import Threshold, parse_duration
from alerts.rule import Severity
from alerts.rules import ALERTS, BY_NAME, RECORDINGS
from exporter import catalog
from exporter.metric import PREFIX, Kind
from exporter.settings.config import ExporterSettings, SystemSettings

FRESH = generated()
PAGES = {
    "JetStreamStreamNoLeader",
    "JetStreamConsumerNoLeader",
    "JetStreamMetaLeaderMissing",
    "JetStreamStreamFull",
    "JetStreamAccountStorageFull",
    "JetStreamConsumerStalled",
    "JetStreamConsumerAckPendingFull",
    "JetStreamConsumerRedeliveryLoop",
    "JetStreamConsumerMessagesLost",
    "JetStreamStreamDataLost",
    "JetStreamOwnerLimitExceeded",
    "JetStreamSystemUnreachable",
    "JetStreamSystemUnmonitored",
}
MOST_PAGES = 13
# Thresholds of the guards, which docs/alerts.md explains once.
OF_MANY = (thresholds.YOUNG_ASSET, thresholds.SNAPSHOT_AGE, thresholds.YOUNG_EXPORTER)
# About the exporter itself, or without the label system.
UNGUARDED = {
    "JetStreamExporterDown",
    "JetStreamExporterStale",
    "JetStreamSystemUnreachable",
    "JetStreamSystemUnmonitored",
    "JetStreamServerDown",
    "JetStreamArchiveNotReceiving",
    "JetStreamArchiveWalOld",
    "JetStreamRollupOverdue",
    "JetStreamReportOverdue",
    "JetStreamWatchdog",
}
# Series that a rule may name although the exporter does not serve them.
OF_PROMETHEUS = {"up", "ALERTS"}
# About targets, not systems: replicas are apart.
BY_TARGET = {"JetStreamExporterDown", "JetStreamExporterStale"}
RECORDED = {recording.record for recording in RECORDINGS}


def committed(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def expressions() -> Iterator[tuple[str, str]]:
    for path in sorted((ROOT / "alerts" / "generated").glob("*.rules.yml")):
        for group in yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader)["groups"]:
            for rule in group["rules"]:
                yield rule.get("alert") or rule["record"], rule["expr"]


EXPRESSIONS = dict(expressions())


def test_the_committed_files_are_up_to_date() -> None:
    stale = [name for name in FRESH if committed(name) != FRESH[name]]
    assert not stale, f"run make generate and commit {stale}"


def test_there_are_no_other_generated_files() -> None:
    found = {f"alerts/generated/{path.name}" for path in (ROOT / "alerts/generated").iterdir()}
    assert found == {name for name in FRESH if name.startswith("alerts/")}


def test_writing_twice_changes_nothing(tmp_path: Path) -> None:
    assert len(write(tmp_path)) == len(FRESH)
    assert write(tmp_path) == []


def test_only_these_alerts_page() -> None:
    pages = {alert.full_name for alert in ALERTS if alert.severity is Severity.CRITICAL}
    assert pages == PAGES
    assert len(pages) <= MOST_PAGES


GUARD = (
    "min without (instance, pod, endpoint) "
    "(min_over_time(streamgauge_snapshot_age_seconds[2m])) < 45"
)


def test_rules_need_fresh_data() -> None:
    lines = {name: [*map(str.strip, EXPRESSIONS[name].splitlines())] for name in BY_NAME}
    guard = re.compile(rf"and (ignoring \([a-z_, ]+\) )?{re.escape(GUARD)}")
    guarded = {name for name, each in lines.items() if any(map(guard.fullmatch, each))}
    assert set(BY_NAME) - guarded == UNGUARDED


def test_a_page_that_is_open_survives_blindness() -> None:
    held = {
        n
        for n in BY_NAME
        if f'-1 * max without (alertname, alertstate) (ALERTS{{alertname="{n}"' in EXPRESSIONS[n]
    }
    assert held == PAGES - UNGUARDED


def test_no_rule_drops_the_labels_of_the_scrape() -> None:
    """`by` and `on` name the labels that stay: a cluster's would be lost."""
    wrong = [name for name, text in EXPRESSIONS.items() if re.search(r"\b(by|on) ?\(", text)]
    assert not wrong


def test_no_rule_reads_the_verdict() -> None:
    assert not [n for n, text in EXPRESSIONS.items() if catalog.CONSUMER_VERDICT.name in text]


def users_of(threshold: Threshold) -> set[str]:
    """In the expression, or where the exporter judges by it, in the words of the condition."""
    judged = threshold.name in thresholds.OF_EXPORTER
    return {
        alert.name
        for alert in ALERTS
        if threshold in alert.thresholds or (judged and f"<{threshold.name}>" in alert.condition)
    }


def test_a_threshold_lists_the_alerts_that_use_it() -> None:
    wrong = {
        each.name: sorted(users_of(each))
        for each in thresholds.ALL
        if users_of(each) != set(each.alerts)
        or (not each.alerts and each is not thresholds.YOUNG_EXPORTER)
    }
    assert not wrong, f"correct the alerts of these thresholds in alerts/thresholds.py: {wrong}"


def test_the_condition_text_has_every_threshold() -> None:
    """All but those that many alerts share."""
    missing = {
        alert.name: absent
        for alert in ALERTS
        if (
            absent := [
                each.name
                for each in alert.thresholds
                if each not in OF_MANY and f"<{each.name}>" not in alert.condition
            ]
        )
    }
    assert not missing, (
        f"add these thresholds as <name> to `condition` in alerts/subjects: {missing}"
    )


# `increase` misses the first event of these, so their own value counts too.
BEGINS_WITH_ITS_FIRST_EVENT = {*catalog.EVENT_TIMES, catalog.ADVISORIES}
Node = object


def parts(node: Node) -> Iterator[Node]:
    for name in ("expr", "lhs", "rhs", "vector_selector", "param"):
        inner = getattr(node, name, None)
        if inner is not None:
            yield inner
    for inner in getattr(node, "args", None) or ():
        yield inner


def selectors(node: Node, under: tuple[Node, ...] = ()) -> Iterator[tuple[Node, tuple[Node, ...]]]:
    if isinstance(node, promql_parser.VectorSelector):
        yield node, under
        return
    for inner in parts(node):
        yield from selectors(inner, (*under, node))


def filters(selector: Node, under: tuple[Node, ...]) -> bool:
    """Whether it only decides which series of another stay: then replicas do not count."""
    inner = (*under[1:], selector)
    return any(
        isinstance(outer, promql_parser.BinaryExpr)
        and str(outer.op) in ("and", "unless")
        and outer.rhs is child
        for outer, child in zip(under, inner, strict=True)
    )


def problems(expression: str) -> Iterator[str]:
    """Selectors outside the catalogue, of bare counters, or that count replicas twice."""
    for selector, under in selectors(promql_parser.parse(expression)):
        assert isinstance(selector, promql_parser.VectorSelector)
        series = selector.name or ""
        if series in RECORDED | OF_PROMETHEUS:
            continue
        metric = catalog.BY_NAME.get(series) or catalog.BY_NAME.get(series.removesuffix("_bucket"))
        if metric is None:
            yield f"{series} is not in the catalogue"
            continue
        if unknown := {m.name for m in selector.matchers.matchers} - {*metric.labels, "__name__"}:
            yield f"{series} has no label {sorted(unknown)}"
        calls = [n.func.name for n in under if isinstance(n, promql_parser.Call)]
        aggregated = any(isinstance(n, promql_parser.AggregateExpr) for n in under)
        if not aggregated and "absent" not in calls and not filters(selector, under):
            yield f"{series} is not aggregated over replicas"
        counts = metric.kind is not Kind.COUNTER or {"increase", "rate"} & set(calls)
        if not counts and metric not in BEGINS_WITH_ITS_FIRST_EVENT:
            yield f"{series} is a counter without increase or rate"


def test_every_selector_is_in_the_catalogue_and_counts_replicas_once() -> None:
    wrong = {
        name: found
        for name, text in EXPRESSIONS.items()
        if name not in BY_TARGET and (found := [*problems(text)])
    }
    assert not wrong, f"correct the queries of these rules in alerts/subjects: {wrong}"


def test_the_parser_finds_every_selector() -> None:
    text = 'sum by (a) (rate(b[5m])) / on (x) group_left () (c > 5) unless label_replace(d, "e", "f", "", "")'
    names = [s.name for s, _ in selectors(promql_parser.parse(text)) if hasattr(s, "name")]
    assert names == ["b", "c", "d"]


def test_no_rule_depends_on_complete_polls() -> None:
    assert not [name for name, text in EXPRESSIONS.items() if f"{PREFIX}up" in text]


@pytest.mark.parametrize("name", ["JetStreamServerDown", "JetStreamMetaLeaderMissing"])
def test_an_inhibiting_alert_outlives_the_last_health_response(name: str) -> None:
    """Otherwise the recovery of a leader or a server would raise the alerts that it inhibits."""
    slowest = SystemSettings().health_interval + 2 * ExporterSettings().interval
    assert parse_duration(BY_NAME[name].keep_firing_for) >= slowest


def test_every_alert_and_threshold_is_documented() -> None:
    text = committed("docs/alerts.md")
    for alert in ALERTS:
        assert f"| `{alert.full_name}` | {alert.summary} |" in text
        assert f"(runbooks/{alert.full_name}.md)" in text
    for threshold in thresholds.ALL:
        mark = " *" if threshold.name in thresholds.OF_EXPORTER else ""
        assert f"| `{threshold.name}`{mark} | {threshold.text} |" in text
    for recording in RECORDINGS:
        assert f"| `{recording.record}` |" in text
    assert "<" not in text.replace("<!-- generated by make generate; do not edit -->", "")


def test_texts_are_short_enough_for_a_notification() -> None:
    wrong = [
        alert.name
        for alert in ALERTS
        if len(alert.summary) > 80 or "\n" in alert.description or "  " in alert.description
    ]
    assert not wrong, f"summary up to 80 characters, description on one line: {wrong}"
