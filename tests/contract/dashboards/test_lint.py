"""The boards pass the rules of Grafana's dashboard linter; exclusions have a reason."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import Any, Final

import pytest
import yaml
from support.grafana.boards import BOARDS, FILES, FOLDER, Json
from support.grafana.lint import RULES, faults
from support.grafana.recorded import registry

EXCLUSIONS: Final[dict[str, Any]] = yaml.safe_load((FOLDER / ".lint").read_text())["exclusions"]
UNITS: Final = set(registry()["units"])


def test_the_boards_pass_every_rule() -> None:
    found = {
        (uid, rule): problems
        for uid, board in BOARDS.items()
        for rule in RULES
        if (problems := faults(rule, board, UNITS, EXCLUSIONS.get(rule)))
    }
    assert found == {}


def test_an_exclusion_has_a_reason_and_is_needed() -> None:
    unused = [
        rule
        for rule, exclusion in EXCLUSIONS.items()
        if not exclusion["reason"]
        or not any(faults(rule, board, UNITS, None) for board in BOARDS.values())
    ]
    assert not unused, f"remove these from dashboards/generated/.lint, or give a reason: {unused}"


def test_an_exclusion_of_panels_names_panels_that_need_it() -> None:
    for rule, exclusion in EXCLUSIONS.items():
        found = [fault for board in BOARDS.values() for fault in faults(rule, board, UNITS, None)]
        for entry in exclusion.get("entries", ()):
            at = entry.get("panel")
            assert any(at in (None, fault.partition(":")[0]) for fault in found), entry


def _broken(change: str) -> Json:
    """A board with one problem."""
    board: Json = json.loads(json.dumps(BOARDS["sg-clocks"]))
    panel = next(each for each in board["panels"] if each["type"] == "timeseries")
    target = panel["targets"][0]
    by_name = {each["name"]: each for each in board["templating"]["list"]}
    changes: dict[str, Any] = {
        "template-datasource-rule": lambda: by_name["datasource"].update(label="DS"),
        "template-job-rule": lambda: by_name["job"].update(multi=False),
        "template-label-promql-rule": lambda: by_name["job"]["query"].update(query="rate("),
        "template-on-time-change-reload-rule": lambda: by_name["job"].update(refresh=1),
        "panel-datasource-rule": lambda: panel["datasource"].update(uid="abc"),
        "panel-title-description-rule": lambda: panel.update(description=""),
        "panel-units-rule": lambda: panel["fieldConfig"]["defaults"].update(unit="msg/s"),
        "panel-no-targets-rule": lambda: panel.update(targets=[]),
        "target-promql-rule": lambda: target.update(expr="rate(x)"),
        "target-rate-interval-rule": lambda: target.update(expr='rate(a_total{job=~"$job"}[5m])'),
        "target-job-rule": lambda: target.update(expr="up"),
        "target-counter-agg-rule": lambda: target.update(expr='a_total{job=~"$job"}'),
        "uneditable-dashboard": lambda: board.update(editable=True),
    }
    changes[change]()
    return board


@pytest.mark.parametrize("rule", [rule for rule in RULES if "instance" not in rule])
def test_a_rule_finds_its_problem(rule: str) -> None:
    assert faults(rule, BOARDS["sg-clocks"], UNITS, None) == []
    assert faults(rule, _broken(rule), UNITS, None) != []


@pytest.mark.program
@pytest.mark.skipif(not shutil.which("dashboard-linter"), reason="dashboard-linter is not on PATH")
def test_the_real_linter_agrees() -> None:
    command = ["dashboard-linter", "lint", "--strict", "--config", str(FOLDER / ".lint")]
    failed = {}
    for path in FILES:
        done = subprocess.run(
            [*command, str(path)], capture_output=True, text=True, check=False, timeout=60
        )
        if done.returncode != 0:
            failed[path.name] = done.stdout + done.stderr
    assert failed == {}
