"""The wheel: its contents, its commands without extras, and with them."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import re
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest
import yaml
from support.exporter.process import read_series
from support.nats.servers import NEWEST, NatsServer, connected, default_options

from streamgauge.cli import COMMANDS
from streamgauge.demo.processes.program_cache import ProgramMissingError

ROOT: Final = Path(__file__).parents[2]
PROJECT: Final = tomllib.loads((ROOT / "pyproject.toml").read_text())
PACKAGES: Final = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
Ended = subprocess.CompletedProcess[str]


@dataclass(frozen=True)
class Place:
    """A virtual environment with the wheel, outside the source tree."""

    folder: Path

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def site_packages(self) -> Path:
        (found,) = (self.folder / "lib").glob("python3.*/site-packages")
        return found

    def streamgauge(self, *words: str) -> Ended:
        clean = {key: text for key, text in os.environ.items() if "STREAMGAUGE_" not in key}
        return subprocess.run(
            [self.python, "-I", "-m", "streamgauge.cli", *words],
            cwd=self.folder, env=clean, capture_output=True, text=True, check=False,
        )  # fmt: skip


def run(*command: str | Path) -> None:
    done = subprocess.run([str(w) for w in command], capture_output=True, text=True, check=False)
    if done.returncode:
        raise ProgramMissingError(f"{command[0]}: {(done.stderr or done.stdout).strip()[-300:]}")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built by the installed hatchling, else by one that pip downloads."""
    folder = tmp_path_factory.mktemp("wheel")
    alone = ["--no-build-isolation"] if importlib.util.find_spec("hatchling") else []
    pip = (sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check")
    run(*pip, "--no-deps", *alone, "--wheel-dir", folder, ROOT)
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture
def bare(wheel: Path, tmp_path: Path) -> Place:
    """Only the wheel's own files."""
    run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "bare")
    place = Place(tmp_path / "bare")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(place.site_packages)
    return place


@pytest.fixture
def whole(bare: Place) -> Place:
    """The wheel's files and the libraries of this environment, without the source tree."""
    libraries = sysconfig.get_path("purelib")
    (bare.site_packages / "libraries.pth").write_text(f"{libraries}\n")
    return bare


def test_the_wheel_holds_the_packages_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    tops = {name.partition("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == set(PACKAGES)
    assert not [name for name in names if "__pycache__" in name]


def test_the_wheel_holds_the_data_files(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    sources = {
        str(path.relative_to(ROOT))
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and path.suffix in {".py", ".css", ".js", ".tmpl", ".yml", ".json"}
        if "__pycache__" not in path.parts
    }
    assert len(sources) > 300
    assert sources <= names
    runbooks = {
        f"exporter/pages/runbooks/{path.name}" for path in (ROOT / "docs/runbooks").iterdir()
    }
    assert runbooks <= names


def test_the_command_prints_the_version_of_the_wheel(wheel: Path, bare: Place) -> None:
    done = bare.streamgauge("--version")
    assert (done.returncode, done.stdout) == (0, f"streamgauge {wheel.name.split('-')[1]}\n")


def test_base_dependencies_stay_few(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [each for each in archive.namelist() if each.endswith("METADATA")]
        metadata = archive.read(name).decode()
    needed = re.findall(r"^Requires-Dist: (.*)$", metadata, re.MULTILINE)
    assert needed
    assert all("extra ==" in each for each in needed)


def test_every_command_has_an_extra() -> None:
    known = PROJECT["project"]["optional-dependencies"]
    missing = {
        f"{name}: {extra}"
        for name, command in COMMANDS.items()
        for extra in command.extra.split(",")
        if extra not in known
    }
    assert not missing, f"add to optional-dependencies in pyproject.toml: {missing}"


WORDS: Final = {
    "exporter": ("--once",),
    "alerts": ("render",),
    "archive": ("--data", "x"),
    "dashboards": ("render", "--out", "x"),
    "rollup": ("--archive", "x", "--out", "y"),
    "report": ("--rollups", "x", "--month", "2026-10", "--out", "y"),
    "audit": (),
    "top": ("--once",),
    "explain": ("STREAM", "CONSUMER"),
    "demo": ("--seconds", "1"),
}


def test_without_its_extra_a_command_names_it(bare: Place) -> None:
    for name, command in COMMANDS.items():
        ended = bare.streamgauge(name, *WORDS[name])
        assert ended.returncode == 2, f"{name}: {ended.stdout}{ended.stderr}"
        assert f"install streamgauge[{command.extra}]" in ended.stderr
        assert ended.stderr.count("\n") == 1


def test_help_and_version_need_no_extra(bare: Place) -> None:
    for words in ((), ("exporter",), ("archive", "verify")):
        assert bare.streamgauge(*words, "--version").stdout.startswith("streamgauge ")
        assert bare.streamgauge(*words, "--help").stdout.startswith("usage: streamgauge ")


def test_the_rules_come_out_of_the_wheel(whole: Place) -> None:
    ended = whole.streamgauge("alerts", "render", "--out", "rules")
    assert ended.returncode == 0, ended.stderr
    written = sorted((whole.folder / "rules").glob("*.rules.yml"))
    assert (
        sum(len(g["rules"]) for p in written for g in yaml.safe_load(p.read_text())["groups"]) > 60
    )


def test_the_boards_come_out_of_the_wheel(whole: Place) -> None:
    ended = whole.streamgauge("dashboards", "render", "--out", "boards")
    assert ended.returncode == 0, ended.stderr
    titles = [json.loads(p.read_text())["title"] for p in (whole.folder / "boards").glob("*.json")]
    assert len(titles) == len(set(titles)) == 8


async def poll_once(place: Place, tmp_path: Path) -> Ended:
    async with NatsServer(NEWEST, default_options()) as server:
        async with connected(server) as client:
            await client.jetstream().add_stream(name="ORDERS", subjects=["orders.>"])
        secret = tmp_path / "password"
        await asyncio.to_thread(secret.write_text, "app")
        login = ("--user", "app", "--password-file", str(secret))
        return await asyncio.to_thread(
            place.streamgauge, "exporter", "--once", "--nats", server.url, *login
        )


async def test_the_exporter_of_the_wheel_sees_a_stream(whole: Place, tmp_path: Path) -> None:
    ended = await poll_once(whole, tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert read_series(ended.stdout).value("stream_up", stream="ORDERS") == 1


# What a command with only its own extra does: words, exit code, and what it says.
ALONE: Final = {
    "exporter": ("exporter --once --nats nats://127.0.0.1:1", 1, "127.0.0.1:1"),
    "alerts": ("alerts render --out rules", 0, ""),
    "archive": ("archive inspect .", 2, "there is no archive here"),
    "dashboards": ("dashboards render --out boards", 0, ""),
    "spark": ("report --rollups . --out report", 2, "no rollups here"),
    "spark,connect": ("rollup --archive . --out r --remote sc://127.0.0.1:1", 2, "no archive here"),
}


def installed(wheel: Path, extra: str, folder: Path) -> Place:
    """Fetched from the index into an empty environment."""
    run(sys.executable, "-m", "venv", "--without-pip", folder)
    place = Place(folder)
    pip = (sys.executable, "-m", "pip", "--quiet", "--python", place.python, "install")
    run(*pip, "--constraint", ROOT / "constraints.txt", f"{wheel}[{extra}]")
    return place


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("extra", ALONE)
def test_each_extra_is_enough_for_its_command(extra: str, wheel: Path, tmp_path: Path) -> None:
    place = installed(wheel, extra, tmp_path / "place")
    words, code, said = ALONE[extra]
    ended = place.streamgauge(*words.split())
    assert ended.returncode == code, ended.stderr
    assert said in ended.stderr
    if "connect" in extra:
        run(place.python, "-I", "-c", "from pyspark.sql.connect.session import SparkSession")


@pytest.mark.long
@pytest.mark.timeout(900)
def test_the_extra_all_is_enough_for_every_command(wheel: Path, tmp_path: Path) -> None:
    place = installed(wheel, "all", tmp_path / "place")
    for words, code, said in (ALONE[each] for each in ALONE if each != "spark,connect"):
        ended = place.streamgauge(*words.split())
        assert (ended.returncode, said in ended.stderr) == (code, True), ended.stderr


def test_every_extra_of_a_command_is_installed_alone() -> None:
    extras = PROJECT["project"]["optional-dependencies"].keys()
    tested = {each for names in ALONE for each in names.split(",")}
    assert tested == extras - {"all", "dev", "docs", "release"}


@pytest.mark.long
@pytest.mark.timeout(900)
async def test_installed_alone_the_exporter_sees_a_stream(wheel: Path, tmp_path: Path) -> None:
    place = Place(tmp_path / "place")
    pip = (sys.executable, "-m", "pip", "--quiet", "--python", place.python, "install")
    await asyncio.to_thread(run, sys.executable, "-m", "venv", "--without-pip", place.folder)
    await asyncio.to_thread(run, *pip, f"{wheel}[exporter]")
    ended = await poll_once(place, tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert read_series(ended.stdout).value("stream_up", stream="ORDERS") == 1
