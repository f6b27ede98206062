"""A foreign module with the name of one of our packages is named before it is imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from streamgauge.shadowed import OWN_PACKAGES, foreign_module

ROOT: Final = Path(__file__).parents[3]


def test_our_own_packages_are_not_foreign() -> None:
    assert foreign_module() == ""


def test_the_packages_are_those_of_the_wheel() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    assert f"packages = {sorted(OWN_PACKAGES)}".replace("'", '"') in text


@pytest.mark.parametrize("form", ["exporter.py", "exporter/__init__.py", "exporter/other.py"])
def test_a_foreign_module_ends_the_command_and_is_named(form: str, tmp_path: Path) -> None:
    file = tmp_path / form
    file.parent.mkdir(exist_ok=True)
    file.write_text("raise SystemExit('imported')\n")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from streamgauge.cli import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", code, "exporter", "--once"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if form == "exporter/other.py":  # a folder without __init__.py never precedes a package
        assert "is not Streamgauge's" not in done.stderr
        return
    assert done.returncode == 2
    assert f"'exporter' at {file.parent if file.name == '__init__' else file}" in done.stderr
    assert "environment of its own" in done.stderr
    assert "imported" not in done.stderr
