"""The committed rules are what the declarations say now, and keep what every rule promises."""

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
from alerts.render_options import DEFAULT
from alerts.rule import Alert, Severity
from alerts.rules import ALERTS, BY_NAME, RECORDINGS
from exporter import catalog
from exporter.config import ExporterSettings, SystemSettings
from exporter.metric import PREFIX, Kind

FRESH = generated()
PAGES = {
    "JetStreamStreamNoLeader",
    "JetStreamConsumerNoLeader",
    "JetStreamMetaLeaderMissing",
    "JetStreamStreamFull",
    "JetStreamAccountStorageFull",
    "JetStreamConsumerStalled",
    "JetStreamConsumerAckPendingFull",
    "JetStreamConsumerMessagesLost",
    "JetStreamStreamDataLost",
    "JetStreamOwnerLimitExceeded",
}
# About the watch itself, or told by nobody who knows a system.
UNGUARDED = {
    "JetStreamExporterDown",
    "JetStreamExporterStale",
    "JetStreamServerDown",
    "JetStreamArchiveNotReceiving",
    "JetStreamArchiveWalOld",
    "JetStreamRollupOverdue",
    "JetStreamWatchdog",
}
# Series that a rule may name although the exporter does not serve them.
OF_PROMETHEUS = {"up"}
RECORDED = {recording.record for recording in RECORDINGS}


def committed(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def expressions() -> Iterator[tuple[str, str]]:
    for path in sorted((ROOT / "alerts" / "generated").glob("*.rules.yml")):
        for group in yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader)["groups"]:
            for rule in group["rules"]:
                yield rule.get("alert") or rule["record"], rule["expr"]


EXPRESSIONS = dict(expressions())


@pytest.mark.parametrize("name", sorted(FRESH))
def test_the_committed_file_is_fresh(name: str) -> None:
    assert committed(name) == FRESH[name], "run make generate and commit"


def test_nothing_else_lies_among_the_generated_files() -> None:
    found = {f"alerts/generated/{path.name}" for path in (ROOT / "alerts/generated").iterdir()}
    assert found == {name for name in FRESH if name.startswith("alerts/")}


def test_writing_twice_changes_nothing(tmp_path: Path) -> None:
    assert len(write(tmp_path)) == len(FRESH)
    assert write(tmp_path) == []


def test_exactly_these_ten_wake_somebody() -> None:
    pages = {alert.full_name for alert in ALERTS if alert.severity is Severity.CRITICAL}
    assert pages == PAGES


def test_all_but_the_watch_itself_demand_fresh_data() -> None:
    guard = "min by (system) (min_over_time(streamgauge_snapshot_age_seconds[2m])) < 45"
    last = {name: EXPRESSIONS[name].splitlines()[-1] for name in BY_NAME}
    guarded = {
        n
        for n, line in last.items()
        if re.fullmatch(rf"and (on \(system\) )?{re.escape(guard)}", line)
    }
    assert set(BY_NAME) - guarded == UNGUARDED


@pytest.mark.parametrize("threshold", thresholds.ALL, ids=lambda each: each.name)
def test_a_threshold_names_the_alerts_that_use_it(threshold: Threshold) -> None:
    users = {alert.name for alert in ALERTS if threshold in alert.thresholds}
    assert users == set(threshold.alerts)
    assert users


@pytest.mark.parametrize("alert", ALERTS, ids=lambda each: each.name)
def test_the_plain_words_name_every_threshold(alert: Alert) -> None:
    """All but the age of an asset, which goes without saying."""
    spoken = {each.name for each in alert.thresholds} - {thresholds.YOUNG_ASSET.name}
    assert {name for name in spoken if f"<{name}>" not in alert.condition} == set()


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


@pytest.mark.parametrize("name", sorted(EXPRESSIONS))
def test_every_selector_is_of_the_catalogue_and_counts_replicas_once(name: str) -> None:
    found = list(selectors(promql_parser.parse(EXPRESSIONS[name])))
    assert found or name == "JetStreamWatchdog"
    for selector, under in found:
        assert isinstance(selector, promql_parser.VectorSelector)
        series = selector.name or ""
        if series in RECORDED | OF_PROMETHEUS:
            continue
        metric = catalog.BY_NAME.get(series) or catalog.BY_NAME[series.removesuffix("_bucket")]
        assert {m.name for m in selector.matchers.matchers} <= {*metric.labels, "__name__"}
        calls = [n.func.name for n in under if isinstance(n, promql_parser.Call)]
        aggregated = any(isinstance(n, promql_parser.AggregateExpr) for n in under)
        assert aggregated or "absent" in calls, f"{series} is not taken once per identity"
        if metric.kind is Kind.COUNTER and not {"increase", "rate"} & set(calls):
            assert metric in (catalog.CONSUMER_EXHAUSTED, catalog.STREAM_RESTORES), "a bare counter"


def test_the_parser_finds_selectors_wherever_they_stand() -> None:
    text = 'sum by (a) (rate(b[5m])) / on (x) group_left () (c > 5) unless label_replace(d, "e", "f", "", "")'
    names = [s.name for s, _ in selectors(promql_parser.parse(text)) if hasattr(s, "name")]
    assert names == ["b", "c", "d"]


def test_no_rule_leans_on_the_completeness_of_a_poll() -> None:
    assert not [name for name, text in EXPRESSIONS.items() if f"{PREFIX}up" in text]


@pytest.mark.parametrize("name", ["JetStreamServerDown", "JetStreamMetaLeaderMissing"])
def test_what_keeps_others_quiet_outlives_the_last_answer_about_health(name: str) -> None:
    """Else the return of a leader or a server would be told as a fault of what it kept quiet."""
    slowest = SystemSettings().health_interval + 2 * ExporterSettings().interval
    assert parse_duration(BY_NAME[name].keep) >= slowest


def test_every_alert_and_threshold_is_documented() -> None:
    text = committed("docs/alerts.md")
    for alert in ALERTS:
        assert f"| `{alert.full_name}` | {alert.summary} |" in text
        assert f"(runbooks/{alert.full_name}.md)" in text
    for threshold in thresholds.ALL:
        assert f"| `{threshold.name}` | {threshold.text} |" in text
    for recording in RECORDINGS:
        assert f"| `{recording.record}` |" in text
    assert "<" not in text.replace("<!-- generated by make generate; do not edit -->", "")


@pytest.mark.parametrize("alert", ALERTS, ids=lambda each: each.name)
def test_a_text_stays_readable_on_a_phone(alert: Alert) -> None:
    assert len(alert.summary) <= 80
    assert "\n" not in alert.description
    assert "  " not in alert.description


def test_default_links_name_files_of_this_repository() -> None:
    assert (ROOT / DEFAULT.runbooks).is_dir()
