"""Queries of the committed boards in the real promtool."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml
from support.grafana.promql import filled

from streamgauge.demo.processes.program_cache import ProgramMissingError
from streamgauge.demo.processes.programs import prometheus

BOARDS: Final = Path("dashboards/generated")


def found_promtool() -> Path:
    found = prometheus()
    if found is None:
        raise ProgramMissingError("promtool: not available")
    return found.promtool


def query(board: str, title: str, number: int) -> str:
    """As Grafana sends it; `@ end()` is that of a range, which promtool does not have."""
    document = json.loads((BOARDS / f"{board}.json").read_text())
    inside = [each for row in document["panels"] for each in (row, *row.get("panels", ()))]
    (panel,) = (each for each in inside if each["title"] == title and each["type"] != "row")
    return filled(panel["targets"][number]["expr"]).replace(" @ end()", "")


def failures(
    promtool: Path,
    folder: Path,
    cases: list[tuple[str, str, float | None]],
    given: Mapping[str, str],
) -> str:
    expected: list[dict[str, Any]] = [
        {
            "expr": f"round(sum({expr}), 0.001)",
            "eval_time": at,
            "exp_samples": [] if value is None else [{"labels": "{}", "value": round(value, 3)}],
        }
        for expr, at, value in cases
    ]
    series = [{"series": name, "values": values} for name, values in given.items()]
    test = {"interval": "15s", "input_series": series, "promql_expr_test": expected}
    file = folder / "boards.yml"
    file.write_text(yaml.safe_dump({"rule_files": [], "tests": [test]}))
    run = subprocess.run(
        [str(promtool), "test", "rules", str(file)], capture_output=True, text=True, check=False
    )
    return "" if run.returncode == 0 else run.stdout + run.stderr
