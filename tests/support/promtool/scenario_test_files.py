"""Scenarios -> files for `promtool test rules`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from support.promtool.rule_test_files import notation, rules_of
from support.promtool.scenarios import Fires, Look, Scenario

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
    end = max(parse_duration(look.moment) for look in scenario.looks)
    moments = [step * count for count in range(int(end / step) + 2)]
    told = {spec: notation(values, moments) for spec, values in scenario.series.items()}
    return {
        "interval": scenario.every,
        "input_series": [
            {"series": spec, "values": values} for spec, values in told.items() if values
        ],
        "alert_rule_test": [_look(look) for look in scenario.looks],
    }


def _look(look: Look) -> dict[str, Any]:
    return {
        "eval_time": look.moment,
        "alertname": f"JetStream{look.alert}",
        "exp_alerts": [_expected(look.alert, fires) for fires in look.fires],
    }


def _expected(name: str, fires: Fires) -> dict[str, Any]:
    alert = BY_NAME[f"JetStream{name}"]
    return {
        "exp_labels": {**fires.labels, "severity": alert.severity.value},
        "exp_annotations": {
            "summary": alert.summary,
            "description": fires.says,
            "runbook_url": f"docs/runbooks/{alert.full_name}.md",
            "dashboard_url": f"/d/{fires.link}",
        },
    }
