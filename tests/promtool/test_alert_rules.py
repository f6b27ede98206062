"""Every alert in the real promtool: when it fires, when it does not, and the values in its text."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest
from support.promtool.alert_table import ROWS
from support.promtool.rule_test_files import GENERATED, write_row
from support.promtool.scenario_test_files import write_scenario
from support.promtool.scenarios import SCENARIOS

from alerts.generate import ROOT
from alerts.rules import ALERTS
from streamgauge.demo.processes.program_cache import ProgramMissingError
from streamgauge.demo.processes.programs import prometheus

_FILE = re.compile(r"^Unit Testing:\s+(\S+)$", re.MULTILINE)


@pytest.fixture(scope="module")
def promtool() -> Path:
    found = prometheus()
    if found is None:
        raise ProgramMissingError("promtool: not available")
    return found.promtool


def run(promtool: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(promtool), *arguments]
    return subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )


@pytest.fixture(scope="module")
def results(promtool: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The output of promtool for each row and scenario, from one run."""
    folder = tmp_path_factory.mktemp("promtool")
    paths = {row.name: write_row(row, folder) for row in ROWS}
    paths |= {scenario.name: write_scenario(scenario, folder) for scenario in SCENARIOS}
    output = run(promtool, "test", "rules", *map(str, paths.values())).stdout
    parts = _FILE.split(output)
    by_path = dict(zip(parts[1::2], parts[2::2], strict=True))
    return {name: by_path[str(path)].strip() for name, path in paths.items()}


def failures(results: dict[str, str], names: Iterable[str]) -> str:
    return "\n".join(f"{name}: {results[name]}" for name in names if results[name] != "SUCCESS")


def test_every_alert_fires_at_its_threshold_and_not_before(results: dict[str, str]) -> None:
    failed = failures(results, (row.name for row in ROWS))
    assert not failed, f"correct the rule or its row in tests/support/promtool/rows/:\n{failed}"


def test_every_scenario_raises_its_alerts(results: dict[str, str]) -> None:
    failed = failures(results, (scenario.name for scenario in SCENARIOS))
    assert not failed, f"correct the rule or tests/support/promtool/scenarios.py:\n{failed}"


def test_every_alert_has_a_row_or_a_scenario() -> None:
    tested = {row.alert for row in ROWS}
    tested |= {check.alert for scenario in SCENARIOS for check in scenario.checks if check.fires}
    missing = {alert.name for alert in ALERTS} - tested
    assert not missing, f"write a row in tests/support/promtool/rows/ for {sorted(missing)}"


def test_rows_have_names_of_their_own() -> None:
    names = [row.name for row in ROWS]
    assert len(set(names)) == len(names)


def test_the_generated_rules_pass_every_lint(promtool: Path) -> None:
    files = [str(path) for path in sorted(GENERATED.glob("*.rules.yml"))]
    checked = run(promtool, "check", "rules", "--lint=all", "--lint-fatal", *files)
    assert (checked.returncode, checked.stdout.count("SUCCESS")) == (0, len(files)), checked.stdout


def test_pint_finds_nothing() -> None:
    pint = shutil.which("pint")
    if pint is None:
        pytest.skip("pint is not on PATH")
    files = [str(path) for path in sorted(GENERATED.glob("*.rules.yml"))]
    checked = run(Path(pint), "--config", str(ROOT / ".pint.hcl"), "--offline", "lint", *files)
    assert checked.returncode == 0, checked.stdout
