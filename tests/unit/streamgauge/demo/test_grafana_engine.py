"""How the demo starts Grafana: a container writes into a folder of the user."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from streamgauge.demo.pipeline.grafana import Engine


@pytest.mark.parametrize(("name", "mapped"), [("podman", True), ("docker", False)])
def test_a_container_runs_as_the_user_who_owns_its_folder(name: str, mapped: bool) -> None:
    """Podman without root maps ids: the same number inside would be another user outside."""
    command = Engine(Path(f"/usr/bin/{name}"), container=True).command({}, Path("/tmp/home"))
    assert command[command.index("--user") + 1] == f"{os.getuid()}:{os.getgid()}"
    assert ("--userns=keep-id" in command) is mapped
