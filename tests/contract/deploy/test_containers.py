"""The container files: linted, locked in, and their steps carried out in plain folders."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Callable
from operator import attrgetter
from pathlib import Path
from typing import Final

import pytest
from support.collected import over_all
from support.deploy.container_tree import Built, Stage
from support.deploy.files import CONTAINER_FILES, ROOT, instructions, run
from support.exporter.process import UNREACHABLE

from streamgauge.demo.processes.child import Child
from streamgauge.demo.processes.ports import free_ports
from streamgauge.demo.processes.readiness import wait_until_ready

each_file = over_all(CONTAINER_FILES, "correct the container file in deploy", attrgetter("stem"))
WITH_JAVA: Final = "rollups"
Ended = subprocess.CompletedProcess[str]


def test_there_is_an_image_for_each_part() -> None:
    assert {path.stem for path in CONTAINER_FILES} == {"exporter", "archive", "rollups"}


@pytest.mark.program
@pytest.mark.skipif(not shutil.which("hadolint"), reason="hadolint is not on PATH")
@each_file
def test_hadolint_finds_nothing(path: Path) -> None:
    assert run("hadolint", path) == ""


@each_file
def test_every_base_can_be_pinned_by_digest(path: Path) -> None:
    found = instructions(path)
    assert found[0][0] == "ARG"
    assert re.fullmatch(r"PYTHON_IMAGE=docker\.io/library/python:3\.\d+-slim-\w+", found[0][1])
    bases = [rest.split()[0] for word, rest in found if word == "FROM"]
    assert len(bases) == 3
    assert set(bases) == {"${PYTHON_IMAGE}"}


@each_file
def test_no_container_runs_as_root(path: Path) -> None:
    assert [rest for word, rest in instructions(path) if word == "USER"] == ["65532:65532"]


@each_file
def test_a_server_has_a_health_check_and_a_job_has_none(path: Path) -> None:
    health = dict(instructions(path))["HEALTHCHECK"]
    assert (health == "NONE") == (path.stem == WITH_JAVA)


@each_file
def test_only_the_rollups_have_java(path: Path) -> None:
    assert ("jre" in path.read_text()) == (path.stem == WITH_JAVA)


@each_file
def test_what_is_copied_is_not_ignored(path: Path) -> None:
    lines = path.with_name(f"{path.name}.dockerignore").read_text().splitlines()
    allowed = {line[1:] for line in lines if line.startswith("!")}
    copied = {
        word
        for name, rest in instructions(path)
        if name == "COPY" and not rest.startswith("--from")
        for word in rest.split()[:-1]
    }
    assert copied == allowed
    assert "*" in lines
    assert all((ROOT / name).exists() for name in allowed)


@each_file
def test_every_package_of_the_wheel_is_copied(path: Path) -> None:
    packages = json.loads(
        re.search(r"^packages = (\[.*\])$", (ROOT / "pyproject.toml").read_text(), re.MULTILINE)[1]  # type: ignore[index]
    )
    assert packages
    for package in packages:
        assert ("COPY", f"{package} {package}") in instructions(path)


def locked(file: str) -> dict[str, tuple[str, int]]:
    """Version and number of checksums by package."""
    text = (ROOT / "deploy" / file).read_text()
    found = re.findall(
        r"^([\w.-]+)==(\S+)[^\n]*((?:\n    --hash=sha256:[0-9a-f]{64}.*)*)", text, re.MULTILINE
    )
    return {name: (version, hashes.count("--hash=")) for name, version, hashes in found}


def pinned() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pairs = [line.split("==") for line in lines if not line.startswith("#")]
    return {re.sub(r"[._-]+", "-", name).lower(): version for name, version in pairs}


@pytest.mark.parametrize(
    ("image", "extra"), [("exporter", "exporter"), ("archive", "archive"), ("rollups", "spark")]
)
def test_an_image_installs_the_tested_versions_by_checksum(image: str, extra: str) -> None:
    check_lock(f"container/{image}.requirements.txt", extra)
    steps = " ".join(rest for word, rest in instructions(path_of(image)) if word == "RUN")
    assert "--require-hashes --requirement /wheels/requirements.txt" in steps
    assert "--no-deps /wheels/streamgauge-" in steps


def test_the_checksums_of_the_wheel_name_what_its_extras_need() -> None:
    check_lock("requirements/wheel.txt", "exporter", "archive", "spark", "dashboards", "connect")


def test_a_release_is_built_of_the_tested_versions_by_checksum() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    check_lock("requirements/release.txt", *(project["optional-dependencies"].keys() - {"all"}))
    workflow = (ROOT / ".github/workflows/release.yml").read_text()
    assert "make setup-release" in workflow
    assert "make setup\n" not in workflow
    assert "pip install" not in workflow


def check_lock(file: str, *extras: str) -> None:
    packages = locked(file)
    tested = pinned()
    # The tools of a release are not among what the tests run with.
    assert [
        name for name, (version, _) in packages.items() if tested.get(name, version) != version
    ] == []
    if "release" not in extras:
        assert packages.keys() <= tested.keys()
    assert [name for name, (_, checksums) in packages.items() if not checksums] == []
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [each for extra in extras for each in project["optional-dependencies"][extra]]
    names = {re.match(r"[\w-]+", each)[0] for each in wanted}  # type: ignore[index]
    assert names - packages.keys() == set(), "run make lock"


def path_of(image: str) -> Path:
    return next(path for path in CONTAINER_FILES if path.stem == image)


def environment(stage: Stage, **more: str) -> dict[str, str]:
    clean = {key: value for key, value in os.environ.items() if not key.startswith("STREAMGAUGE_")}
    path = f"{stage.place('/opt/streamgauge/bin')}{os.pathsep}{os.environ['PATH']}"
    return clean | {"PATH": path} | more


def started(stage: Stage, *words: str) -> Ended:
    program = stage.place("/opt/streamgauge/bin/streamgauge")
    return subprocess.run(
        [program, *words], env=environment(stage), capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Built]:
    """Installed once: that takes minutes."""
    done: dict[str, Built] = {}

    def build(name: str) -> Built:
        if name not in done:
            (path,) = [each for each in CONTAINER_FILES if each.stem == name]
            done[name] = Built(path, tmp_path_factory.mktemp(name))
        return done[name]

    return build


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", ["exporter", "archive"])
def test_the_steps_make_a_small_image_that_starts(name: str, built: Callable[[str], Built]) -> None:
    image = built(name).image
    assert started(image, "--version").returncode == 0
    assert started(image, name, "--help").returncode == 0
    installed = {path.name for path in image.root.rglob("site-packages/*")}
    assert not installed & {"pip", "pyspark", "pytest", "tests", "deploy"}
    assert "streamgauge:x:65532" in image.place("/etc/passwd").read_text()
    assert image.place("/var/lib/streamgauge").stat().st_uid in (65532, os.getuid())


@pytest.mark.long
@pytest.mark.timeout(900)
def test_another_command_of_the_exporters_image_names_its_extra(
    built: Callable[[str], Built],
) -> None:
    ended = started(built("exporter").image, "archive", "--data", "/nowhere")
    assert ended.returncode == 2
    assert "install streamgauge[archive]" in ended.stderr


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", ["exporter", "archive"])
def test_the_health_check_sees_a_server_that_runs_and_one_that_does_not(
    name: str, built: Callable[[str], Built], tmp_path: Path
) -> None:
    image, port = built(name).image, free_ports(1)[0]
    command = json.loads(image.settings["HEALTHCHECK"].partition("CMD ")[2])
    command[0] = str(image.place("/opt/streamgauge/bin/python"))
    url = f"http://127.0.0.1:{port}"
    place = environment(image, HEALTH_URL=f"{url}/-/healthy")
    flags = {"exporter": ("--nats", UNREACHABLE), "archive": ("--data", str(tmp_path / "data"))}[
        name
    ]

    async def check() -> list[int]:
        child = Child(name, tmp_path / "log")
        program = str(image.place("/opt/streamgauge/bin/streamgauge"))
        listen = ("--web.listen-address", f"127.0.0.1:{port}")
        await child.start(program, name, *listen, *flags, environment=environment(image))
        await wait_until_ready(child, f"{url}/-/healthy")
        running = await asyncio.to_thread(subprocess.run, command, env=place, check=False)
        await child.stop()
        stopped = await asyncio.to_thread(
            subprocess.run, command, env=place, check=False, stderr=subprocess.DEVNULL
        )
        return [running.returncode, stopped.returncode]

    assert asyncio.run(check()) == [0, 1]


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_the_rollups_image_has_spark_and_what_starts_it(built: Callable[[str], Built]) -> None:
    done = built("rollups")
    assert done.packages == ["openjdk-17-jre-headless"]
    assert started(done.image, "rollup", "--help").returncode == 0
    assert started(done.image, "report", "--help").returncode == 0
    assert done.image.place("/opt/streamgauge/bin/spark-submit").exists()
    if shutil.which("apt-get"):
        run("apt-get", "--simulate", "install", "--no-install-recommends", *done.packages)
