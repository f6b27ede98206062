"""Scenarios -> files for `promtool test rules`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from support.promtool.rule_test_files import (
    added_labels,
    expected_values,
    notation,
    owner_of,
    rules_of,
)
from support.promtool.scenario import Check, Fires, Scenario

from alerts.quantity import parse_duration
from alerts.rules import BY_NAME


def write_scenario(scenario: Scenario, folder: Path) -> Path:
    name = scenario.name.replace(" ", "-").replace(",", "")
    rules = rules_of(*(f"JetStream{alert}" for alert in scenario.alerts))
    (folder / f"{name}.rules.yml").write_text(yaml.safe_dump(rules))
    path = folder / f"{name}.test.yml"
    tested = {
        "rule_files": [f"{name}.rules.yml"],
        "evaluation_interval": scenario.every,
        "tests": [_test(scenario)],
    }
    path.write_text(yaml.safe_dump(tested, width=10_000))
    return path


def _test(scenario: Scenario) -> dict[str, Any]:
    step = parse_duration(scenario.every)
    end = max(parse_duration(check.moment) for check in scenario.checks)
    moments = [step * count for count in range(int(end / step) + 2)]
    reported = {spec: notation(values, moments) for spec, values in scenario.series.items()}
    return {
        "interval": scenario.every,
        "input_series": [
            {"series": spec, "values": values} for spec, values in reported.items() if values
        ],
        "alert_rule_test": [_check(check) for check in scenario.checks],
    }


def _check(check: Check) -> dict[str, Any]:
    return {
        "eval_time": check.moment,
        "alertname": f"JetStream{check.alert}",
        "exp_alerts": [_expected(check.alert, fires) for fires in check.fires],
    }


def _expected(name: str, fires: Fires) -> dict[str, Any]:
    alert = BY_NAME[f"JetStream{name}"]
    return {
        "exp_labels": {
            "severity": alert.severity.value,
            **added_labels(alert),
            **fires.labels,
        },
        "exp_annotations": {
            **owner_of(alert, fires.owner),
            "summary": alert.summary,
            "description": expected_values(fires.values),
            **_links(alert.full_name, fires),
        },
    }


def _links(name: str, fires: Fires) -> dict[str, str]:
    if fires.exporter:
        runbook = f"{fires.exporter}/docs/runbooks/{name}"
        return {"runbook_url": runbook, "dashboard_url": f"{fires.exporter}/{fires.link}"}
    return {"runbook_url": f"docs/runbooks/{name}.md", "dashboard_url": f"/d/{fires.link}"}
