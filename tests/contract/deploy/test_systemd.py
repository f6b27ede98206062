"""The systemd units are valid, locked in, and agree with each other."""

from __future__ import annotations

import re
import shutil
import sys
from operator import attrgetter
from pathlib import Path
from typing import Final

import pytest
from support.collected import over_all
from support.deploy.files import DEPLOY, run

FOLDER: Final = DEPLOY / "systemd"
SERVICES: Final = sorted(FOLDER.glob("*.service"))
TIMERS: Final = sorted(FOLDER.glob("*.timer"))
# Of 10; below 2 systemd calls it OK.
MOST_EXPOSED: Final = 15
each_service = over_all(SERVICES, "correct the unit in deploy/systemd", attrgetter("stem"))
needs_systemd = pytest.mark.skipif(
    not shutil.which("systemd-analyze"), reason="systemd-analyze is not on PATH"
)


@pytest.fixture
def units(tmp_path: Path) -> Path:
    """With a program that is there: systemd looks for it."""
    for path in (*SERVICES, *TIMERS):
        text = path.read_text().replace("/opt/streamgauge/bin/streamgauge", sys.executable)
        (tmp_path / path.name).write_text(text)
    return tmp_path


@pytest.mark.program
@needs_systemd
def test_systemd_accepts_the_units(units: Path) -> None:
    run("systemd-analyze", "verify", *sorted(units.iterdir()))


@pytest.mark.program
@needs_systemd
@pytest.mark.parametrize("path", SERVICES, ids=lambda path: path.stem)
def test_a_unit_is_locked_in(path: Path, units: Path) -> None:
    analyze = ("systemd-analyze", "security", "--offline=true", f"--threshold={MOST_EXPOSED}")
    run(*analyze, units / path.name)


@each_service
def test_a_unit_runs_as_our_user(path: Path) -> None:
    text = path.read_text()
    assert "\nUser=streamgauge\n" in text
    assert "\nu streamgauge " in (FOLDER / "streamgauge.sysusers").read_text()


@each_service
def test_only_java_may_write_code(path: Path) -> None:
    denied = "\nMemoryDenyWriteExecute=yes\n" in path.read_text()
    assert denied == (path.stem != "streamgauge-rollup")


@over_all(TIMERS, "add the service in deploy/systemd", attrgetter("stem"))
def test_a_timer_has_its_service(path: Path) -> None:
    assert path.with_suffix(".service").exists()


def test_the_rollup_reads_what_the_archive_writes() -> None:
    archive = (FOLDER / "streamgauge-archive.service").read_text()
    rollup = (FOLDER / "streamgauge-rollup.service").read_text()
    (state,) = re.findall(r"^StateDirectory=(\S+)$", archive, re.MULTILINE)
    assert f"--archive /var/lib/{state} " in rollup
    assert f"ReadOnlyPaths=/var/lib/{state}\n" in rollup
    assert f"data: /var/lib/{state}\n" in (FOLDER / "archive.yml").read_text()


def test_a_configuration_error_is_not_restarted() -> None:
    for name in ("exporter", "archive"):
        text = (FOLDER / f"streamgauge-{name}.service").read_text()
        assert "\nRestart=on-failure\n" in text
        assert "\nRestartPreventExitStatus=2\n" in text
