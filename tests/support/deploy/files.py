"""The files of deploy/ as tests read them: documents, command lines of ours, programs that check them."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

from streamgauge.demo.processes.program_cache import ProgramMissingError
from streamgauge.demo.processes.programs import prometheus

ROOT: Final = Path(__file__).parents[3]
DEPLOY: Final = ROOT / "deploy"
CHART: Final = DEPLOY / "helm" / "streamgauge"
COMPOSE: Final = DEPLOY / "compose"
CONTAINER_FILES: Final = sorted((DEPLOY / "container").glob("*.Dockerfile"))
MANIFESTS: Final = DEPLOY / "kubernetes" / "streamgauge.yaml"
_FLAG: Final = re.compile(r"--[a-z]+(?:[.-][a-z]+)*")
_OURS: Final = re.compile(r"(?:^|[\s/])streamgauge ([a-z]+)(.*)")
_NESTED: Final = re.compile(r"\$\([^()]*\)")

Json = dict[str, Any]


@dataclass(frozen=True)
class Command:
    """A command line of streamgauge in deploy/: its place, command name and flags."""

    place: str
    name: str
    flags: tuple[str, ...]


def load(path: Path) -> Json:
    document: Json = yaml.safe_load(path.read_text(encoding="utf-8"))
    return document


@cache
def manifests() -> tuple[Json, ...]:
    """The resources of the plain manifests."""
    return tuple(each for each in yaml.safe_load_all(MANIFESTS.read_text()) if each)


def of_kind(*kinds: str) -> list[Json]:
    return [each for each in manifests() if each["kind"] in kinds]


def pod_spec(resource: Json) -> Json:
    spec: Json = resource["spec"]
    if resource["kind"] == "CronJob":
        spec = spec["jobTemplate"]["spec"]
    pod: Json = spec["template"]["spec"]
    return pod


def pods() -> list[tuple[str, Json]]:
    """Every pod of the plain manifests, by the name of its resource."""
    found = of_kind("Deployment", "StatefulSet", "CronJob")
    return [(each["metadata"]["name"], pod_spec(each)) for each in found]


def instructions(path: Path) -> list[tuple[str, str]]:
    """Of a container file: word and rest, continued lines joined, comments left out."""
    lines = [line for line in path.read_text().splitlines() if not line.lstrip().startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    split = (line.partition(" ") for line in joined.splitlines() if line.strip())
    return [(word, rest.strip()) for word, _, rest in split]


def entrypoint(image: str) -> list[str]:
    """What the container file of that image starts before the arguments."""
    found = dict(instructions(DEPLOY / "container" / f"{image}.Dockerfile"))
    words: list[str] = json.loads(found["ENTRYPOINT"])
    return words


def read_commands(place: str, text: str) -> Iterator[Command]:
    """All commands of ours in a shell text."""
    joined = text.replace("\\\n", " ").replace("$$(", "$(")
    while _NESTED.search(joined):
        joined = _NESTED.sub("VALUE", joined)
    for line in joined.splitlines():
        for name, rest in _OURS.findall(line):
            yield Command(place, name, tuple(_FLAG.findall(rest)))


def all_commands() -> list[Command]:
    return [*_of_container_files(), *_of_compose(), *_of_units(), *_of_pods()]


def _of_container_files() -> Iterator[Command]:
    for path in CONTAINER_FILES:
        found = dict(instructions(path))
        words = json.loads(found["ENTRYPOINT"]) + json.loads(found.get("CMD", "[]"))
        yield from read_commands(path.name, shlex.join(words))


def _of_compose() -> Iterator[Command]:
    for name, service in load(COMPOSE / "compose.yaml")["services"].items():
        if "build" not in service:
            continue
        image = Path(service["build"]["dockerfile"]).name.removesuffix(".Dockerfile")
        words = [*service.get("entrypoint", entrypoint(image)), *service["command"]]
        yield from read_commands(f"compose {name}", " ".join(words))


def _of_units() -> Iterator[Command]:
    for path in sorted((DEPLOY / "systemd").glob("*.service")):
        for line in re.findall(r"^ExecStart=(.*)$", path.read_text(), re.MULTILINE):
            yield from read_commands(path.name, line.replace("/opt/streamgauge/bin/", ""))


def _of_pods() -> Iterator[Command]:
    for name, pod in pods():
        for container in pod["containers"]:
            start = container.get("command") or entrypoint(container["name"])
            yield from read_commands(name, " ".join([*start, *container.get("args", [])]))


@cache
def flags_of(name: str) -> frozenset[str]:
    """As its own help lists them; an unknown command is a failure."""
    done = subprocess.run(
        [sys.executable, "-m", "streamgauge.cli", name, "--help"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"streamgauge {name} --help: {done.stderr}"
    return frozenset(_FLAG.findall(done.stdout))


def promtool() -> Path:
    programs = prometheus()
    if programs is None:
        raise ProgramMissingError("promtool: not available")
    return programs.promtool


def on_path(program: str) -> str:
    found = shutil.which(program)
    if found is None:
        raise ProgramMissingError(f"{program}: not on PATH")
    return found


def run(*command: str | Path, folder: Path | None = None) -> str:
    """The output of the command; a failure shows its stderr."""
    done = subprocess.run(
        [str(word) for word in command], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}: exit {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout
