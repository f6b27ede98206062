"""The documentation site builds strictly: every link, anchor and navigation entry is right."""

import subprocess
import sys
from pathlib import Path

import pytest
from support.documents import ROOT


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)],
        cwd=ROOT, capture_output=True, text=True, check=False,
        env={"NO_MKDOCS_2_WARNING": "1", "PATH": ""},
    )  # fmt: skip
    assert done.returncode == 0, f"run make docs\n{done.stderr}"
    assert (tmp_path / "index.html").is_file()
