"""Every alert on the real promtool: when it fires, when it does not, and what it says."""

from __future__ import annotations

import re
import shutil
import subprocess
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
def verdicts(promtool: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What promtool says of each row and scenario: all of them in one run."""
    folder = tmp_path_factory.mktemp("promtool")
    paths = {row.name: write_row(row, folder) for row in ROWS}
    paths |= {told.name: write_scenario(told, folder) for told in SCENARIOS}
    said = run(promtool, "test", "rules", *map(str, paths.values())).stdout
    parts = _FILE.split(said)
    by_path = dict(zip(parts[1::2], parts[2::2], strict=True))
    return {name: by_path[str(path)].strip() for name, path in paths.items()}


@pytest.mark.parametrize("name", [row.name for row in ROWS])
def test_an_alert_fires_at_its_threshold_and_not_before(
    name: str, verdicts: dict[str, str]
) -> None:
    assert verdicts[name] == "SUCCESS"


@pytest.mark.parametrize("name", [told.name for told in SCENARIOS])
def test_a_story_is_told_right(name: str, verdicts: dict[str, str]) -> None:
    assert verdicts[name] == "SUCCESS"


def test_every_alert_has_a_row_or_a_story() -> None:
    told = {row.alert for row in ROWS}
    told |= {look.alert for scenario in SCENARIOS for look in scenario.looks if look.fires}
    assert {alert.name for alert in ALERTS} == told


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
